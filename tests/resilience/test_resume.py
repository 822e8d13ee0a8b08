"""A response that broke off and is taken up again by its sequence numbers."""

from __future__ import annotations

import json
import re
import time

import pytest

from chunkfold import fold, resilience
from chunkfold.events import MessageReset, TextDelta
from chunkfold.resilience import ResumePoint, Retry, SequenceGap, SequenceWatch, Timeouts
from tests.resilience.fakes import FakeClock, Refusal, Server


def event(kind, number, **more):
    payload = {"type": f"response.{kind}", "sequence_number": number, **more}
    return f"event: response.{kind}\ndata: {json.dumps(payload)}\n\n".encode()


def delta(number, text):
    return event("output_text.delta", number, item_id="m", output_index=0, content_index=0, delta=text)


CREATED = event("created", 0, response={"id": "resp_1", "object": "response", "model": "m", "output": []})
ITEM = event(
    "output_item.added", 1, output_index=0, item={"id": "m", "type": "message", "role": "assistant", "content": []}
)
DELTAS = [delta(number, word) for number, word in enumerate(["The", " tide", " turns", " at", " six"], 2)]
USAGE = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
DONE = event("completed", 7, response={"id": "resp_1", "object": "response", "status": "completed", "usage": USAGE})
FRAMES = [CREATED, ITEM, *DELTAS, DONE]
EXACT = Retry(base=1, jitter=0)


class Background:
    """A server that keeps a response and gives it from any number on."""

    def __init__(self, clock, *plans):
        self.clock = clock
        self.server = Server(clock, *plans)
        self.points = []

    def resume(self, point):
        self.points.append(point)
        return self.server()


def run(clock, first, *resumed, retry=EXACT, **options):
    background = Background(clock, *resumed)
    connect = Server(clock, *first) if isinstance(first, tuple) else Server(clock, first)
    stream = resilience.stream(connect, clock=clock, retry=retry, resume=background.resume, **options)
    events, raised = [], None
    try:
        events.extend(stream)
    except Exception as error:  # noqa: BLE001 - it is what is looked at
        raised = error
    return events, stream, raised, background.points, connect.opened


@pytest.mark.parametrize("place", range(2, len(FRAMES)))
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("end", [[], [OSError("reset")], [99]])
def test_what_broke_off_goes_on_behind_the_last_whole_event(place, inside, end):
    clock = FakeClock()
    body = b"".join(FRAMES[:place]) + (FRAMES[place][:-9] if inside else b"")
    events, stream, raised, points, opened = run(
        clock, [body, *end], FRAMES[place:], timeouts=Timeouts(first=50, idle=50)
    )
    assert raised is None
    assert points == [ResumePoint("resp_1", place - 1)]
    assert len(opened) == 1
    assert [event for event in events if isinstance(event, MessageReset)] == []
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "The tide turns at six"
    whole = fold(b"".join(FRAMES))
    assert (stream.response().choices, stream.response().usage) == (whole.choices, whole.usage)
    assert stream.usage() == whole.usage.sum([whole.usage])
    assert [attempt.kind for attempt in stream.attempts] == ["stream", "resume"]


def test_an_answer_that_was_complete_is_not_taken_up_again():
    clock = FakeClock()
    _, stream, raised, points, _ = run(clock, [b"".join(FRAMES)[:-1], OSError("reset")], FRAMES)
    assert (points, raised, stream.response().text) == ([], None, "The tide turns at six")


def test_events_that_come_again_are_left_out_though_they_differ():
    clock = FakeClock()
    again = [DELTAS[0].replace(b"The", b"Das"), *FRAMES[3:]]
    _, stream, _, _, _ = run(clock, [b"".join(FRAMES[:5])], again)
    assert stream.response().text == "The tide turns at six"


def test_events_that_are_missing_are_asked_for():
    clock = FakeClock()
    _, stream, raised, points, _ = run(clock, [b"".join([*FRAMES[:4], *FRAMES[5:]])], FRAMES[4:])
    assert (points, raised) == ([ResumePoint("resp_1", 3)], None)
    assert stream.response().text == "The tide turns at six"
    assert stream.attempts[0].error.type == "sequence_gap"


def test_events_that_the_server_does_not_have_are_noted_and_the_rest_is_read():
    clock = FakeClock()
    holed = [*FRAMES[:4], *FRAMES[5:]]
    _, stream, raised, points, _ = run(clock, [b"".join(holed)], holed[4:])
    assert raised is None
    assert stream.response().text == "The tide at six"
    assert len(points) == 1
    notes = [item for item in stream.response().diagnostics if item.kind == "sequence_gap"]
    assert [note.detail for note in notes] == ["events 4 to 4 never came"]


def test_what_came_behind_missing_events_counts_if_they_are_not_to_be_had():
    clock = FakeClock()
    holed = b"".join([*FRAMES[:4], *FRAMES[5:]])
    _, stream, raised, points, _ = run(clock, [holed], Refusal(404, {"error": {"message": "gone"}}))
    assert (raised, len(points), stream.response().text) == (None, 1, "The tide at six")
    assert stream.response().error.status == 404


def test_a_refusal_to_take_it_up_that_passes_is_waited_for():
    clock = FakeClock()
    _, stream, raised, points, _ = run(clock, [b"".join(FRAMES[:4])], Refusal(500), FRAMES[4:])
    assert (raised, stream.response().text) == (None, "The tide turns at six")
    assert points == [ResumePoint("resp_1", 3)] * 2


def test_one_that_stays_ends_it_with_what_had_come():
    clock = FakeClock()
    _, stream, raised, points, opened = run(clock, [b"".join(FRAMES[:4])], Refusal(404, {"error": {"message": "gone"}}))
    assert (raised, len(points), len(opened)) == (None, 1, 1)
    assert stream.response().text == "The tide"
    assert stream.response().error.status == 404


def test_before_the_first_output_another_one_will_do():
    clock = FakeClock()
    _, stream, raised, points, opened = run(clock, ([b"".join(FRAMES[:2])], FRAMES), Refusal(404))
    assert (raised, len(points), len(opened)) == (None, 1, 2)
    assert stream.response().text == "The tide turns at six"


def test_an_error_that_the_response_told_is_not_resumed():
    clock = FakeClock()
    failed = event(
        "failed", 4, response={"id": "resp_1", "status": "failed", "error": {"code": "server_error", "message": "Oops"}}
    )
    _, stream, raised, points, _ = run(clock, [b"".join([*FRAMES[:4], failed])], FRAMES)
    assert (raised, points) == (None, [])
    assert stream.response().error.code == "server_error"


def test_when_repetitions_are_spent_what_had_come_stands_and_the_fault_is_raised():
    clock = FakeClock()
    _, stream, raised, points, _ = run(
        clock, [b"".join(FRAMES[:4]), OSError("first")], [OSError("second")], retry=Retry(times=2, base=1, jitter=0)
    )
    assert str(raised) == "second"
    assert len(points) == 2
    assert (stream.response().text, stream.response().ended) == ("The tide", "error")


@pytest.mark.parametrize("after_output", [False, True])
def test_a_fallback_does_not_take_back_what_was_shown_unless_that_is_allowed(after_output):
    clock = FakeClock()
    events, stream, raised, _, _ = run(
        clock, [b"".join(FRAMES[:4]), OSError("first")], [OSError("second")],
        retry=Retry(times=1, base=1, jitter=0, after_output=after_output), fallback=lambda: iter(FRAMES),
    )  # fmt: skip
    assert [event for event in events if isinstance(event, MessageReset)] == [MessageReset(0, "attempt")] * after_output
    assert stream.response().text == ("The tide turns at six" if after_output else "The tide")
    assert (raised is None) == after_output


def test_leaving_it_in_between_gives_what_had_come():
    clock = FakeClock()
    background = Background(clock, FRAMES[4:])
    stream = resilience.stream(Server(clock, [b"".join(FRAMES[:4])]), clock=clock, resume=background.resume)
    with stream:
        for happened in stream:
            if isinstance(happened, TextDelta):
                break
    assert (stream.response().text, stream.response().ended) == ("The tide", "cancelled")


def test_a_stream_without_numbers_passes_as_it_is():
    body = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]'
    clock = FakeClock()
    _, stream, raised, points, _ = run(clock, [body[:30], body[30:]])
    assert (stream.response().text, raised, points) == ("Hi", None, [])


@pytest.mark.parametrize("ends", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_the_watch_lets_whole_frames_through_however_they_are_cut(size, ends):
    watch = SequenceWatch()
    body = b": ping\n\n" + b"".join(FRAMES).replace(b"\n", ends)
    passed = [block for at in range(0, len(body), size) for block in watch.passing(body[at : at + size])]
    assert b"".join(passed) == body
    assert (watch.point, watch.gaps, watch.rest()) == (ResumePoint("resp_1", 7), [], b"")


def test_the_watch_reads_payloads_and_objects_too():
    class Thing:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    watch = SequenceWatch()
    first = Thing(type="response.created", sequence_number=0, response=Thing(id="resp_2"))
    assert list(watch.passing(first)) == [first]
    assert list(watch.passing({"sequence_number": 1})) == [{"sequence_number": 1}]
    watch.reconnected()
    assert list(watch.passing({"sequence_number": 0})) == []
    with pytest.raises(SequenceGap, match="2 to 4"):
        list(watch.passing({"sequence_number": 5}))
    assert watch.point == ResumePoint("resp_2", 1)


def test_what_stands_inside_a_text_is_no_number():
    watch = SequenceWatch()
    list(watch.passing(delta(3, '"sequence_number": 99')))
    list(watch.passing(b"data: {nonsense\n\n"))
    assert watch.last == 3


def test_line_ends_that_are_mixed_part_frames_too():
    watch = SequenceWatch()
    mixed = b"".join(FRAMES).replace(b"\n\n", b"\n\r\n")
    assert len([watch.last for block in watch.passing(mixed)]) == len(FRAMES)
    assert watch.point == ResumePoint("resp_1", 7)


@pytest.mark.parametrize("number", [0, -1])
def test_numbers_that_do_not_rise_cost_no_text(number):
    clock = FakeClock()
    numbered = [re.sub(rb'"sequence_number": [0-9]+', b'"sequence_number": %d' % number, frame) for frame in FRAMES]
    _, stream, raised, points, _ = run(clock, [b"".join(numbered)])
    assert (raised, points, stream.response().text) == (None, [], "The tide turns at six")
    _, stream, raised, points, _ = run(clock, [*numbered[:4], OSError("reset")], numbered)
    assert (str(raised), points, stream.response().text) == ("reset", [], "The tide")


@pytest.mark.parametrize("kind", ["error", "ping"])
def test_errors_and_signs_of_life_are_not_left_out_for_their_number(kind):
    told = {"type": kind, "sequence_number": 0, "code": "invalid_prompt", "message": "No"}
    frame = b"data: %s\n\n" % json.dumps(told).encode()
    watch = SequenceWatch()
    assert list(watch.passing(b"".join([*FRAMES[:4], frame]))) == [*FRAMES[:4], frame]
    watch.reconnected()
    assert [*watch.passing(told), *watch.passing(frame)] == [told, frame]
    assert watch.point == ResumePoint("resp_1", 3)


def test_an_error_behind_the_place_where_it_went_on_ends_it():
    clock = FakeClock()
    frame = b'data: {"type":"error","sequence_number":0,"code":"invalid_prompt","message":"No"}\n\n'
    _, stream, raised, points, _ = run(clock, [*FRAMES[:4], OSError("reset")], [FRAMES[4], frame])
    assert (raised, len(points)) == (None, 1)
    assert (stream.response().text, stream.response().error.message) == ("The tide turns", "No")


def seconds_of(pieces):
    watch = SequenceWatch()
    begun = time.process_time()
    for piece in pieces:
        for _ in watch.passing(piece):
            pass
    return time.process_time() - begun


def test_the_watch_costs_no_more_for_a_frame_where_it_is_longer_or_more_come_at_once():
    frames = [delta(number, "x" * 40) for number in range(4_000)]
    long = delta(0, "x" * 1_000_000)
    floor = seconds_of(frames)
    assert seconds_of([b"".join(frames)]) < 4 * floor
    assert seconds_of(long[at : at + 1024] for at in range(0, len(long), 1024)) < 10 * floor
