"""What is told of values inside JSON text while it comes, and `ToolCall.partial`."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import weakref

import msgspec
import pytest

from chunkfold import UNSET, Folder, Limits, Policy, TextPart, ToolCall, astream, dialects, stream
from chunkfold.accumulator import Gatherer
from chunkfold.assembly._live import Live
from chunkfold.doors._source_folder import SourceFolder
from chunkfold.events import (
    ArgumentsFieldDone,
    ArgumentsPathDelta,
    MessageReset,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    TextDelta,
    TextFieldDone,
    TextPathDelta,
    ToolArgumentsDelta,
    event_from_json,
)
from chunkfold.partial_json import PartialJSON
from tests.helpers import body_of, case_files, cut, load_case

CASES = [path for path in case_files() if path.parent.name in dialects.names()]
DERIVED = (ArgumentsPathDelta, ArgumentsFieldDone, TextPathDelta, TextFieldDone)
CALLS = ("tool_call", "server_tool_call")


def chat(delta, **more):
    return b"data: %s\n\n" % json.dumps({"model": "m", "choices": [{"index": 0, "delta": delta, **more}]}).encode()


def call(text, index=0, **start):
    function = {"arguments": text, **({"name": "f"} if start else {})}
    return chat({"tool_calls": [{"index": index, **start, "function": function}]})


def arguments_stream(*pieces):
    return [call("", id="x"), *map(call, pieces), chat({}, finish_reason="tool_calls"), b"data: [DONE]\n\n"]


def told(pieces, **options):
    """The events of a whole stream, and the response."""
    folder = Folder("openai-chat", **options)
    events = [event for piece in pieces for event in folder.feed(piece)]
    return [*events, *folder.finish()], folder.close()


def learned(events, piece_type, done_type):
    """For each part, the value that a consumer of derived events ends with, if the text was JSON."""
    strings, values = {}, {}
    for event in events:
        match event:
            case PartStart():
                values.pop((event.choice, event.index), None)
            case PartReplace():
                # What is told again is told from the beginning.
                strings = {key: text for key, text in strings.items() if key[:2] != (event.choice, event.index)}
            case MessageReset():
                values = {key: value for key, value in values.items() if key[1] < event.from_part}
                strings = {key: text for key, text in strings.items() if key[1] < event.from_part}
            case _ if isinstance(event, piece_type):
                assert event.text
                key = (event.choice, event.index, event.path)
                strings[key] = strings.get(key, "") + event.text
            case _ if isinstance(event, done_type):
                text = strings.pop((event.choice, event.index, event.path), "")
                if isinstance(event.value, str):
                    assert text == event.value
                if event.path == ():
                    values[event.choice, event.index] = event.value
    return values


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_derived_events_tell_the_arguments_and_change_nothing_else(path):
    case = load_case(path)
    options = case.get("options") or {}
    pieces = cut(body_of(case), case.get("chunks") or {"every": 61})
    plain_folder, live_folder = Folder(**options), Folder(**options, live_arguments=True, live_text=True)
    plain, live = [], []
    for piece in pieces:
        plain += plain_folder.feed(piece)
        live += live_folder.feed(piece)
    plain += plain_folder.finish()
    live += live_folder.finish()
    assert [event for event in live if not isinstance(event, DERIVED)] == plain
    assert live_folder.close() == plain_folder.close()
    assert isinstance(live[-1], MessageStop)
    values = learned(live, ArgumentsPathDelta, ArgumentsFieldDone)
    for choice in live_folder.close().choices:
        for index, part in enumerate(choice.parts):
            if part.kind in CALLS and part.type != "custom" and part.status == "complete":
                assert values[choice.index, index] == part.arguments
    for event in live[:2000]:
        assert event_from_json(event.to_json()) == event


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_partial_is_what_is_sure_of_the_text_so_far(path, live):
    case = load_case(path)
    body = body_of(case)
    folder = Folder(**(case.get("options") or {}), live_arguments=live)
    kept = []
    for number, piece in enumerate(cut(body, {"every": max(1, len(body) // 60)})):
        folder.feed(piece, events=number % 2 == 0)
        calls = [part for part in folder.snapshot().parts if part.kind in CALLS]
        if number % 3:
            for part in calls:
                assert part.partial == sure(part)
        kept += calls
    for part in [*kept, *[part for part in folder.close().parts if part.kind in CALLS]]:
        assert part.partial == sure(part)


def sure(part):
    """What is sure of the arguments, read by themselves."""
    if part.is_usable:
        return part.arguments
    if part.type == "custom":
        return part.raw_arguments or UNSET
    reader = PartialJSON()
    reader.feed(part.raw_arguments)
    return reader.value


def test_what_is_derived_comes_right_behind_its_delta():
    events, _ = told(
        arguments_stream('{"path": "a', '.py", "edits": [{"n": 1', '2}], "ok": true}'), live_arguments=True
    )
    inside = [event for event in events if isinstance(event, (ToolArgumentsDelta, *DERIVED))]
    assert [(type(event), *[getattr(event, name) for name in event.__struct_fields__]) for event in inside] == [
        (ToolArgumentsDelta, 0, 0, '{"path": "a'),
        (ArgumentsPathDelta, 0, 0, ("path",), "a"),
        (ToolArgumentsDelta, 0, 0, '.py", "edits": [{"n": 1'),
        (ArgumentsPathDelta, 0, 0, ("path",), ".py"),
        (ArgumentsFieldDone, 0, 0, ("path",), "a.py"),
        (ToolArgumentsDelta, 0, 0, '2}], "ok": true}'),
        (ArgumentsFieldDone, 0, 0, ("edits", 0, "n"), 12),
        (ArgumentsFieldDone, 0, 0, ("edits", 0), {"n": 12}),
        (ArgumentsFieldDone, 0, 0, ("edits",), [{"n": 12}]),
        (ArgumentsFieldDone, 0, 0, ("ok",), True),
        (ArgumentsFieldDone, 0, 0, (), {"path": "a.py", "edits": [{"n": 12}], "ok": True}),
    ]


def test_nothing_is_derived_unless_asked_for():
    pieces = [chat({"content": '{"a": 1}'}), *arguments_stream('{"b": "2"}')]
    kinds = {
        (arguments, text): {
            type(event)
            for event in told(pieces, live_arguments=arguments, live_text=text)[0]
            if isinstance(event, DERIVED)
        }
        for arguments in (False, True)
        for text in (False, True)
    }
    assert kinds[False, False] == set()
    assert kinds[True, False] == {ArgumentsPathDelta, ArgumentsFieldDone}
    assert kinds[False, True] == {TextFieldDone}
    assert kinds[True, True] == {ArgumentsPathDelta, ArgumentsFieldDone, TextFieldDone}


def test_answer_text_that_is_no_json_tells_nothing():
    events, response = told([chat({"content": "Sure: "}), chat({"content": '{"a": 1}'})], live_text=True)
    assert response.text == 'Sure: {"a": 1}'
    assert not [event for event in events if isinstance(event, DERIVED)]


def test_a_document_that_a_call_interrupts_goes_on_in_the_next_text_part():
    pieces = [chat({"content": '{"a": "x'}), call("{}", id="c"), chat({"content": 'y"}'})]
    events, response = told(pieces, live_text=True)
    assert response.text == '{"a": "xy"}'
    assert [event for event in events if isinstance(event, DERIVED)] == [
        TextPathDelta(0, 0, ("a",), "x"),
        TextPathDelta(0, 2, ("a",), "y"),
        TextFieldDone(0, 2, ("a",), "xy"),
        TextFieldDone(0, 2, (), {"a": "xy"}),
    ]


def test_a_document_after_other_text_is_one_of_its_own():
    pieces = [chat({"content": "Let me see."}), call("{}", id="c"), chat({"content": '{"a": 1}'})]
    events, _ = told(pieces, live_text=True)
    assert [event.value for event in events if isinstance(event, TextFieldDone)] == [1, {"a": 1}]


def test_a_number_that_is_the_whole_text_is_told_before_the_stream_ends():
    events, _ = told([chat({"content": "4"}), chat({"content": "2"})], live_text=True)
    assert TextFieldDone(0, 0, (), 42) in events
    assert isinstance(events[-1], MessageStop)


def anthropic(*payloads):
    return [
        b"event: %s\ndata: %s\n\n" % (payload["type"].encode(), json.dumps(payload).encode()) for payload in payloads
    ]


def test_what_was_told_of_a_message_that_starts_again_is_void():
    start = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
    block = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    }

    def delta(text):
        return {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": text},
        }

    pieces = anthropic(start, block, delta('{"a": "lost'), start, block, delta('{"a": "kept"}'))
    folder = Folder(live_arguments=True)
    events = [event for piece in pieces for event in folder.feed(piece)]
    assert learned(events, ArgumentsPathDelta, ArgumentsFieldDone) == {(0, 0): {"a": "kept"}}
    assert folder.snapshot().tool_calls[0].partial == {"a": "kept"}


def cumulative(*texts):
    return [chat({"content": text}) for text in texts]


def test_a_text_that_is_stated_anew_is_told_anew():
    events, response = told(cumulative('{"a": "x', '{"a": "xy', '{"b": "z"}'), live_text=True, cumulative_deltas=True)
    assert response.text == '{"b": "z"}'
    assert learned(events, TextPathDelta, TextFieldDone)[0, 0] == {"b": "z"}
    assert [event.text for event in events if isinstance(event, TextPathDelta)] == ["x", "y", "z"]


# Documents in several parts


def text(index, *pieces):
    return [PartStart(0, index, "text"), *(TextDelta(0, index, piece) for piece in pieces), PartStop(0, index)]


def between(index):
    return [PartStart(0, index, "tool_call", "c", "f"), ToolArgumentsDelta(0, index, "{}"), PartStop(0, index)]


HALF = [*text(0, '{"a": "x'), *between(1)]
WHOLE = [*text(0, '{"a": "x"}'), *between(1)]


@pytest.mark.parametrize(
    ("events", "value", "indices"),
    [
        pytest.param([*HALF, *text(2, 'y"}')], "xy", [0, 2], id="goes-on"),
        pytest.param([*WHOLE, *text(2, "\n")], "x", [0], id="white-space-behind"),
        pytest.param([*WHOLE, *text(2, ""), *between(3), *text(4, " ")], "x", [0], id="more-of-it"),
        pytest.param([*WHOLE, *text(2, "\n"), *between(3), *text(4, '{"a": "z"}')], "z", [4], id="another"),
        pytest.param([*WHOLE, *text(2, "Done"), MessageReset(2, "step")], "x", [0], id="remark-taken-back"),
        pytest.param(
            [*HALF, *text(2, "?"), MessageReset(2, "step"), *text(2, 'y"}')], "xy", [0, 2], id="rest-taken-back"
        ),
        pytest.param([*HALF, MessageReset(0, "attempt"), *text(0, '{"a": "z"}')], "z", [0], id="all-taken-back"),
        pytest.param([*HALF, *text(2, 'y"}'), PartReplace(0, 2, TextPart('z"}'))], "xz", [0, 2], id="rest-restated"),
        pytest.param(
            [*HALF, *text(2, 'y"}'), PartReplace(0, 0, TextPart('{"a": "xx'))], "xxy", [0, 2], id="beginning-restated"
        ),
        pytest.param(
            [
                *WHOLE,
                PartStart(0, 2, "text"),
                TextDelta(0, 2, '{"a": "z'),
                PartReplace(0, 0, TextPart('{"b": 1}')),
                TextDelta(0, 2, '"}'),
            ],
            "z",
            [2],
            id="other-restated",
        ),
    ],
)
def test_a_document_is_what_stands_in_its_parts(events, value, indices):
    live, accumulator = Live(arguments=False, text=True, documents=True, depth=512), Gatherer()
    told = [event for each in [*events, MessageStop("clean")] for event in live.fold([each], accumulator)]
    document = live.document(0)
    assert (document.reader.value, document.reader.error, document.indices) == ({"a": value}, None, indices)
    assert [event.value for event in told if isinstance(event, TextFieldDone) and event.path == ("a",)][-1] == value


@pytest.mark.parametrize(("late_deltas", "told"), [("keep", [("a", 1), ("b", 2)]), ("drop", [("a", 1)])])
def test_arguments_that_come_after_their_end_are_read_on(late_deltas, told):
    def block(kind, **more):
        return {"type": f"content_block_{kind}", "index": 0, **more}

    def piece(text):
        return block("delta", delta={"type": "input_json_delta", "partial_json": text})

    folder = Folder("anthropic-messages", live_arguments=True, policy=Policy(late_deltas=late_deltas))
    events = folder.feed(block("start", content_block={"type": "tool_use", "id": "c", "name": "f", "input": {}}))
    for payload in (piece('{"a":1'), piece(","), block("stop"), piece('"b":'), piece("2}")):
        events += folder.feed(payload)
    done = [event for event in events if isinstance(event, ArgumentsFieldDone) and event.path]
    assert [(event.path[0], event.value) for event in done] == told


@pytest.mark.parametrize(
    ("how", "values"),
    [("merge", [(1, ("x",), 1), (1, (), {"x": 1})]), ("new", []), ("replace", [])],
)
def test_a_call_that_goes_on_with_an_earlier_one_is_read_on(how, values):
    pieces = [call('{"x"', id="a"), call(":", index=1, id="a"), call("1}", index=1)]
    events, response = told(pieces, live_arguments=True, policy=Policy(duplicate_start=how))
    done = [event for event in events if isinstance(event, ArgumentsFieldDone)]
    assert [(event.index, event.path, event.value) for event in done] == values
    assert (response.tool_calls[0].status == "complete") == (how == "merge")


@pytest.mark.parametrize(("late_deltas", "value"), [("keep", {"a": "xy"}), ("drop", {"a": "x"})])
def test_text_that_comes_after_its_end_is_read_unless_it_is_dropped(late_deltas, value):
    def block(kind, **more):
        return {"type": f"content_block_{kind}", "index": 0, **more}

    def piece(text):
        return block("delta", delta={"type": "text_delta", "text": text})

    folder = SourceFolder("anthropic-messages", live_text=True, policy=Policy(late_deltas=late_deltas))
    events = folder.feed(block("start", content_block={"type": "text", "text": ""}))
    for payload in (piece('{"a": "x'), block("stop"), piece("y"), piece('"}')):
        events += folder.feed(payload)
    document = folder.document(0).reader
    assert document.value == value
    assert document.is_complete == (late_deltas == "keep")
    assert document.offset == len(folder.snapshot().text)


def test_every_choice_is_read_by_itself():
    pieces = [chat({"content": '{"a":'}), *[b"data: %s\n\n" % json.dumps(x).encode() for x in second_choice()]]
    events, _ = told([*pieces, chat({"content": '"zero"}'})], live_text=True)
    assert learned(events, TextPathDelta, TextFieldDone) == {(0, 0): {"a": "zero"}, (1, 0): {"a": "one"}}


def second_choice():
    return [{"choices": [{"index": 1, "delta": {"content": text}}]} for text in ('{"a":', '"one"}')]


def test_a_custom_tool_has_text_and_no_json():
    assert ToolCall(type="custom", raw_arguments='{"a": 1').partial == '{"a": 1'
    assert ToolCall(type="custom").partial is UNSET


def test_partial_of_a_call_by_itself():
    assert ToolCall().partial is UNSET
    assert ToolCall(raw_arguments='{"a": [1, 2').partial == {"a": [1]}
    assert ToolCall(raw_arguments='{"a": "b').partial == {"a": "b"}
    assert ToolCall(raw_arguments="", status="empty").partial == {}
    assert ToolCall(raw_arguments='{"a": 1, oops', status="invalid").partial == {"a": 1}


def test_partial_is_no_part_of_the_value():
    folder = Folder(live_arguments=True)
    for piece in arguments_stream('{"a": "b')[:2]:
        folder.feed(piece)
    shown = folder.snapshot().tool_calls[0]
    assert shown.partial == {"a": "b"}
    plain = ToolCall(**{name: getattr(shown, name) for name in shown.__struct_fields__})
    assert shown == plain
    assert hash(shown.raw_arguments) == hash(plain.raw_arguments)
    assert shown.to_json() == plain.to_json()
    assert repr(shown) == repr(plain)
    assert pickle.loads(pickle.dumps(shown)) == plain
    assert pickle.dumps(shown) == pickle.dumps(plain)
    assert copy.copy(shown) == copy.deepcopy(shown) == plain


def test_a_snapshot_that_is_kept_keeps_its_partial():
    folder = Folder(live_arguments=True)
    kept = []
    for piece in arguments_stream('{"a": [1', ", 2", "], ", '"b": "x', 'y"}'):
        folder.feed(piece)
        kept += folder.snapshot().tool_calls
    assert [call.partial for call in kept] == [
        UNSET,
        {"a": []},
        {"a": [1]},
        {"a": [1, 2]},
        {"a": [1, 2], "b": "x"},
        {"a": [1, 2], "b": "xy"},
        {"a": [1, 2], "b": "xy"},
        {"a": [1, 2], "b": "xy"},
    ]


def test_live_arguments_nest_as_deep_as_the_limits_say():
    deep = '{"a":' + "[" * 20 + "]" * 20 + "}"
    events, response = told(arguments_stream(deep), live_arguments=True, limits=Limits(json_depth=10))
    assert response.tool_calls[0].status == "invalid"
    assert not [event for event in events if isinstance(event, ArgumentsFieldDone) and event.path == ()]
    events, response = told(arguments_stream(deep), live_arguments=True, limits=Limits(json_depth=None))
    assert response.tool_calls[0].status == "complete"
    assert [event for event in events if isinstance(event, ArgumentsFieldDone) and event.path == ()]


def test_a_breach_hands_out_what_was_derived_before_it():
    import chunkfold

    folder = Folder(live_arguments=True, limits=Limits(tool_calls=1))
    with pytest.raises(chunkfold.LimitExceeded) as caught:
        folder.feed(b"".join([*arguments_stream('{"a": "b"}')[:2], call("{}", 1, id="y")]))
    assert ArgumentsFieldDone(0, 0, ("a",), "b") in caught.value.events
    assert caught.value.response.tool_calls[0].arguments == {"a": "b"}


def test_stream_and_its_twin_tell_the_same():
    import asyncio

    body = b"".join([chat({"content": '{"t": "x"}'}), *arguments_stream('{"a": "b"}')])
    with stream(body, live_arguments=True, live_text=True) as events:
        seen = list(events)
        assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == events.response().text

    async def run():
        async with astream(body, live_arguments=True, live_text=True) as events:
            return [event async for event in events]

    assert asyncio.run(run()) == seen
    assert {type(event) for event in seen} >= set(DERIVED)


def let_go(pieces, **options):
    """Whether the source is held when nobody holds the stream any more, and how much is left to the garbage collector."""
    source = Source(pieces)
    gc.collect()
    held = weakref.ref(source)
    events = stream(source, **options)
    for _ in events:
        events.response()
        if "output_type" in options:
            events.partial()
    response = events.response()
    del events, source
    is_held = held() is not None
    return is_held, gc.collect(), response


class Source:
    def __init__(self, pieces):
        self._pieces = iter(pieces)

    def __iter__(self):
        return self._pieces


class Answer(msgspec.Struct):
    a: int = 0


@pytest.mark.parametrize("text", ["It is no JSON.", '{"a": 1}', '{"a": 1} {', '{"a": tru', '{"a": "\\x"}'])
@pytest.mark.parametrize(
    "options",
    [{}, {"live_text": True}, {"output_type": Answer}, {"live_arguments": True}],
    ids=["plain", "text", "output", "arguments"],
)
def test_a_stream_that_is_over_leaves_nothing_to_the_garbage_collector(text, options):
    """The fault of a text held the exception that had told it, and so the frames of all who were reading."""
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": text}}
    pieces = [*[chat({"content": letter}) for letter in text], chat({"tool_calls": [call]}), b"data: [DONE]\n\n"]
    gc.disable()
    try:
        let_go(pieces, **options)
        is_held, left, response = let_go(pieces, **options)
    finally:
        gc.enable()
    assert response.text == text
    assert not is_held
    assert left == 0
