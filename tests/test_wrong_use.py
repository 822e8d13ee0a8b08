"""Wrong use by the caller: refused where it happens, in a sentence that says what was given and what is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import io
import pickle
import queue
import re
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import chunkfold
from chunkfold import Decoder, Folder, Limits, Policy, StreamAccumulator, TextPart, events, lines, resilience
from chunkfold.basis._wording import described, observer
from chunkfold.partial_json import PartialJSON
from chunkfold.resilience import (
    Clock,
    Fallback,
    RateLimiter,
    RateLimitRetry,
    Retry,
    SharedRateLimiter,
    TokenBucket,
)
from chunkfold.timing import Timer
from chunkfold.views import behest, loopctl, nous, open_agent, req_llm
from tests.streams import sse

BODY = sse({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "hi"}}]})
PAYLOAD = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "hi"}}]}


def refused(kind, said):
    return pytest.raises(kind, match=re.escape(said))


def generator():
    yield BODY


async def coroutine():
    return BODY


async def async_generator():
    yield BODY


# What is fed


@pytest.mark.parametrize("layer", [Folder, Decoder])
def test_text_is_not_fed_and_the_remedy_is_said(layer):
    with refused(TypeError, ".encode()"):
        layer().feed("data: x\n\n")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, "None"),
        (5, "an int"),
        (True, "a bool"),
        ([BODY], "a list"),
        ((PAYLOAD,), "a tuple"),
        (generator(), "a generator"),
        (iter([BODY]), "a list_iterator"),
        (io.BytesIO(BODY), "a BytesIO"),
        (object(), "an object"),
        (generator, "a function"),
        (Folder, "the class Folder"),
    ],
)
def test_feed_takes_bytes_or_one_payload(given, named):
    for layer in (Folder, Decoder):
        with refused(TypeError, f"feed() takes bytes or one payload, not {named}"):
            layer().feed(given)


@pytest.mark.parametrize(
    "given", [events.TextDelta(0, 0, "hi"), events.Ping(), TextPart("hi"), chunkfold.Response(), chunkfold.Usage()]
)
def test_what_we_made_of_a_stream_is_not_folded_again(given):
    with refused(TypeError, type(given).__name__):
        Folder().feed(given)
    with refused(TypeError, type(given).__name__):
        chunkfold.fold([given])


def test_events_are_for_the_accumulator_and_fold_says_so():
    with refused(TypeError, "StreamAccumulator().observe()"):
        chunkfold.fold(chunkfold.stream(BODY))


@pytest.mark.parametrize("source", [generator, async_generator, coroutine, lambda: BODY])
def test_a_function_is_to_be_called_first(source):
    for door in (chunkfold.fold, chunkfold.stream, chunkfold.astream):
        with refused(TypeError, "call it"):
            door(source)


@contextlib.contextmanager
def opening():
    yield BODY


@contextlib.asynccontextmanager
async def async_opening():
    yield BODY


def test_what_is_to_be_entered_is_to_be_entered_first():
    """`client.stream(...)` of httpx, which can be called too, but not to that end."""
    for door in (chunkfold.fold, chunkfold.stream, chunkfold.astream):
        with refused(TypeError, "enter it with 'with'"):
            door(opening())
        with refused(TypeError, "enter it with 'async with'"):
            door(async_opening())


def test_what_has_a_file_to_read_from_says_so():
    ours, theirs = socket.socketpair()
    with ours, theirs, refused(TypeError, ".makefile('rb')"):
        chunkfold.fold(ours)
    started = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    with started, refused(TypeError, ".stdout"):
        chunkfold.fold(started)
    with refused(TypeError, "give its .response"):
        chunkfold.fold(SimpleNamespace(response=None, iter_sse=lambda: iter(())))
    with refused(TypeError, "give its .data"):
        chunkfold.fold(SimpleNamespace(headers={}, data=iter([BODY])))


@pytest.mark.parametrize("name", ["stream", "body"])
def test_what_has_the_stream_inside_of_it_says_so(name):
    """boto3 gives it so."""

    class EventStream:
        def __iter__(self):
            return iter([PAYLOAD])

        def close(self):
            pass

    for door in (chunkfold.fold, chunkfold.stream, chunkfold.astream):
        with refused(TypeError, f"response['{name}']"):
            door({"ResponseMetadata": {"HTTPStatusCode": 200}, name: EventStream()})
    assert chunkfold.fold({**PAYLOAD, name: True}).text == "hi"


def test_a_queue_has_to_be_iterated_over():
    for made in (queue.Queue(), asyncio.Queue()):
        with refused(TypeError, "a generator that yields what its .get() gives"):
            chunkfold.astream(made)


def test_nothing_may_be_fed_to_any_stream():
    folder = Folder()
    assert folder.feed(b"") == []
    assert folder.feed(PAYLOAD) == Folder().feed(PAYLOAD)
    assert folder.feed(b"") == []
    folder.feed(b"", events=False)
    assert folder.close() == chunkfold.fold(PAYLOAD)
    assert chunkfold.fold([b"", PAYLOAD, b""]) == chunkfold.fold(PAYLOAD)


@pytest.mark.parametrize("given", ["timed out", 5, OSError, True])
def test_a_folder_is_closed_with_what_was_raised(given):
    """Anything else would pass for an ordinary end."""
    folder = Folder()
    with refused(TypeError, f"close() takes the exception that ended the input, not {described(given)}"):
        folder.close(given)
    assert folder.close(OSError("reset")).ended == "error"


@pytest.mark.parametrize("given", [None, "bytes", 5, {}, [], io.BytesIO()])
def test_a_folder_is_restored_from_bytes(given):
    with refused(TypeError, f"restore() takes the bytes that save() gave, not {described(given)}"):
        Folder.restore(given)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_folder_is_restored_from_bytes_of_every_kind(kind):
    folder = Folder()
    folder.feed(BODY)
    assert Folder.restore(kind(folder.save())).close() == folder.close()


@pytest.mark.parametrize("given", [None, b"x", {"type": "ping"}, 5, TextPart("hi"), events.Ping])
def test_what_is_no_event_is_not_observed(given):
    accumulator = StreamAccumulator()
    with refused(TypeError, f"observe() takes an event, not {described(given)}"):
        accumulator.observe(given)
    with refused(TypeError, f"observe_all() takes events, not {described(given)}"):
        accumulator.observe_all([given])
    assert accumulator.finalize() == StreamAccumulator().finalize()


@pytest.mark.parametrize("given", [None, b"{}", "{}", [], 5])
def test_a_native_body_is_given_decoded(given):
    with refused(TypeError, f"from_native() takes the decoded body, a mapping, not {described(given)}"):
        chunkfold.Response.from_native(given)


@pytest.mark.parametrize("given", [b"data: x\n", "data: x\n", bytearray(b"x"), memoryview(b"x")])
def test_content_is_not_lines(given):
    with refused(TypeError, f"lines() takes an iterable of lines, not {described(given)}"):
        lines(given)


@pytest.mark.parametrize("given", [None, 5])
def test_lines_are_iterated_over(given):
    with refused(TypeError, f"lines() takes an iterable of lines, not {described(given)}"):
        lines(given)


@pytest.mark.parametrize("line", [5, None, [b"x"]])
def test_a_line_is_bytes_or_text(line):
    said = f"lines() takes lines of bytes or text, not {described(line)}"
    with refused(TypeError, said):
        list(lines([line]))
    with refused(TypeError, said):
        chunkfold.fold(lines([line]))


# Options

DOORS = [
    lambda **options: chunkfold.fold(BODY, **options),
    lambda **options: chunkfold.stream(BODY, **options),
    lambda **options: chunkfold.astream(BODY, **options),
    Folder,
]
doors = pytest.mark.parametrize("door", DOORS, ids=["fold", "stream", "astream", "Folder"])


@doors
@pytest.mark.parametrize("given", ["strict", {}, 5, Policy, Limits()])
def test_a_policy_is_a_policy(door, given):
    with refused(TypeError, f"policy must be a chunkfold.Policy or None, not {described(given)}"):
        door(policy=given)


@pytest.mark.parametrize("door", [chunkfold.stream, chunkfold.astream])
def test_a_clock_is_a_function(door):
    with refused(TypeError, "clock must be a function or None, not a float"):
        door(BODY, clock=0.5)


@doors
@pytest.mark.parametrize("name", ["split_think_tags", "cumulative_deltas"])
@pytest.mark.parametrize("given", ["false", "", 0, 1.0, []])
def test_a_switch_is_true_or_false(door, name, given):
    """The "false" of a file of settings would have counted as true, and changed the answer in silence."""
    with refused(TypeError, f"{name} must be True, False or None, not {described(given)}"):
        door(**{name: given})


@pytest.mark.parametrize("door", DOORS[1:], ids=["stream", "astream", "Folder"])
@pytest.mark.parametrize("name", ["live_arguments", "live_text"])
def test_what_is_told_live_is_switched_on_or_off(door, name):
    with refused(TypeError, f"{name} must be True, False or None, not a str"):
        door(**{name: "false"})


@doors
@pytest.mark.parametrize("given", [{}, 5, Limits, Policy()])
def test_limits_are_limits(door, given):
    with refused(TypeError, f"limits must be chunkfold.Limits or None, not {described(given)}"):
        door(limits=given)


@pytest.mark.parametrize("name", [name for name in Policy.__struct_fields__ if name not in ("infer_finish", "id_seed")])
@pytest.mark.parametrize("value", ["arrival", "", None, True, ["tag"]])
def test_a_policy_knows_its_words(name, value):
    with refused(ValueError, f"Policy.{name}: {value!r} is not one of "):
        Policy(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("infer_finish", "no"), ("infer_finish", 0), ("id_seed", 5), ("id_seed", None)])  # fmt: skip
def test_the_other_fields_of_a_policy_have_their_types(name, value):
    with refused(TypeError, f"Policy.{name}"):
        Policy(**{name: value})


def test_every_word_of_a_policy_is_taken():
    from typing import get_args, get_type_hints

    for name, hint in get_type_hints(Policy).items():
        for word in get_args(hint) if name in Policy.__struct_fields__ else ():
            assert getattr(Policy(**{name: word}), name) == word


def test_the_repr_of_a_policy_says_what_it_decides():
    assert repr(Policy(order="closed", id_seed="x")) == "Policy(id_seed='x', order='closed')"


@pytest.mark.parametrize("name", Limits.__struct_fields__)
def test_limits_are_whole_numbers_not_below_zero_or_none(name):
    with refused(ValueError, f"Limits.{name}: -1 is below 0; None switches it off"):
        Limits(**{name: -1})
    for value in ("x", 1.5, True, float("inf")):
        with refused(TypeError, f"Limits.{name}: expected a whole number or None, got {value!r}"):
            Limits(**{name: value})
    for value in (0, 1, None):
        assert getattr(Limits(**{name: value}), name) == value


class Awaited:
    async def tell(self, news):
        pass

    __call__ = tell


OBSERVERS = ["on_text", "on_reasoning", "on_tool_call", "on_usage", "on_done"]


@pytest.mark.parametrize("name", OBSERVERS)
@pytest.mark.parametrize("door", [chunkfold.stream, chunkfold.astream])
def test_an_observer_is_a_plain_function(name, door):
    for given in (5, "print", 0, False):
        with refused(TypeError, f"{name} must be a function or None, not {described(given)}"):
            door(BODY, **{name: given})
    for given in (coroutine, functools.partial(coroutine), Awaited().tell, Awaited()):
        with refused(TypeError, f"{name} must be a plain function: nobody would await it"):
            door(BODY, **{name: given})


def test_whatever_can_be_called_without_awaiting_it_is_an_observer():
    for given in (None, print, functools.partial(print, "heard"), [].append, type("Heard", (), {"__call__": print})()):
        observer("on_text", given)


def test_an_output_type_is_a_type():
    for given in ([int], {}, 5):
        with refused(TypeError, "output_type must be a msgspec struct, a dataclass or a pydantic model"):
            chunkfold.stream(BODY, output_type=given)


@pytest.mark.parametrize("open_stream", [resilience.stream, resilience.astream])
def test_the_resilient_doors_take_what_opens_a_source(open_stream):
    for given in (BODY, None, [BODY]):
        with refused(TypeError, f"connect must be a function that opens a fresh source, not {described(given)}"):
            open_stream(given)
    for name, wanted in (
        ("retry", "resilience.Retry"),
        ("timeouts", "resilience.Timeouts"),
        ("rate_limits", "resilience.RateLimitRetry"),
    ):
        with refused(TypeError, f"{name} must be a {wanted} or None, not an int"):
            open_stream(lambda: BODY, **{name: 5})
    with refused(TypeError, "resume must be a function that opens a fresh source, not an int"):
        open_stream(lambda: BODY, resume=5)


CONNECTING = {
    "limiter": [3, "key", RateLimiter, TokenBucket(5)],
    "limiter_key": [None, 5],
    "limiter_tokens": [None, "5", True],
    "clock": [5, time.monotonic, Clock],
    "fallback": [5, "backup", b"{}", [5]],
    "policy": ["strict"],
    "limits": [{}],
    "split_think_tags": ["no"],
    "live_arguments": ["no"],
    "live_text": [1],
    "on_attempt": [5],
}


@pytest.mark.parametrize("open_stream", [resilience.stream, resilience.astream])
@pytest.mark.parametrize("name", CONNECTING)
def test_the_resilient_doors_refuse_by_its_name_what_is_of_another_kind(open_stream, name):
    """Before anything was asked for."""
    for given in CONNECTING[name]:
        with refused(TypeError, name):
            open_stream(lambda: pytest.fail("it was asked for"), **{name: given})


class Shared:
    def try_acquire(self, name, weight, *, timeout):
        return True


BUCKET, LIMITER, SHARED = TokenBucket(5), RateLimiter(5, 5), SharedRateLimiter(Shared())


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: Retry(after_output="false"), "after_output must be True"),
        (lambda: Retry(invalid_calls=1), "invalid_calls must be True"),
        (lambda: RateLimitRetry(obey="no"), "obey must be True"),
        (lambda: Fallback(connect=generator, name=5), "name must be text or None, not an int"),
        (lambda: Fallback(connect=generator, dialect=None), "dialect must be text, not None"),
        (lambda: Fallback(connect=generator, limiter_key=5), "limiter_key must be text or None"),
        (lambda: TokenBucket(5, clock=5), "clock must be a resilience.Clock or None, not an int"),
        (lambda: RateLimiter(5, clock=5), "clock must be a resilience.Clock or None, not an int"),
        (lambda: RateLimiter(5, or_go_ahead="no"), "or_go_ahead must be True"),
        (lambda: SharedRateLimiter(5), "requests must be a pyrate_limiter.Limiter or None, not an int"),
        (lambda: SharedRateLimiter(tokens=Shared), "tokens must be a pyrate_limiter.Limiter or None, not the class"),
        (lambda: SharedRateLimiter(max_wait=None), "max_wait must be a number, not None"),
        (lambda: BUCKET.acquire(1, max_wait="5"), "max_wait must be a number or None"),
        (lambda: BUCKET.give_back("1"), "amount must be a number"),
        (lambda: BUCKET.pause("1"), "seconds must be a number"),
        (lambda: LIMITER.acquire(500), "key must be text, not an int"),
        (lambda: LIMITER.acquire([]), "key must be text, not a list"),
        (lambda: LIMITER.acquire(tokens="5"), "tokens must be a number"),
        (lambda: LIMITER.acquire(max_wait="5"), "max_wait must be a number or None"),
        (lambda: LIMITER.pause("", "5"), "seconds must be a number"),
        (lambda: LIMITER.acquire("k", 1).settle("5"), "tokens must be a number"),
        (lambda: SHARED.acquire(500), "key must be text, not an int"),
        (lambda: SHARED.acquire(tokens="5"), "tokens must be a number"),
        (lambda: SHARED.acquire(max_wait="5"), "max_wait must be a number or None"),
        (lambda: resilience.rate_limit_of(429), "error must be a chunkfold.StreamError, an exception or None"),
        (lambda: resilience.rate_limit_of(None, now="5"), "now must be a number or None"),
    ],
)  # fmt: skip
def test_what_is_around_a_resilient_stream_refuses_by_its_name_what_is_of_another_kind(use, said):
    with refused(TypeError, said):
        use()


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), float("-inf")])
def test_no_amount_that_is_no_amount_goes_back_into_a_bucket(amount):
    with refused(ValueError, "amount must be finite"):
        BUCKET.give_back(amount)


# Views

VIEWS = {
    "behest": behest.BehestAccumulator,
    "loopctl": loopctl.LoopctlAccumulator,
    "nous": nous.ToolCallAccumulator,
    "open_agent": open_agent.OpenAgentStream,
    "req_llm": req_llm.ChunkAccumulator,
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_policy_of_a_view_is_a_policy(name):
    for given in ("strict", {}, 5, Policy):
        with refused(TypeError, f"policy must be a chunkfold.Policy or None, not {described(given)}"):
            VIEWS[name](policy=given)
    VIEWS[name](policy=None)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: nous.ToolCallAccumulator(limits=5), "limits must be chunkfold.Limits or None, not an int"),
        (lambda: req_llm.ChunkAccumulator(clock=5), "clock must be a function or None, not an int"),
        (lambda: open_agent.OpenAgentStream(capture_reasoning="no"), "capture_reasoning must be True"),
        (lambda: open_agent.OpenAgentStream(per_fragment="no"), "per_fragment must be True"),
        (lambda: loopctl.write({"type": "ping"}), "write() takes an event, not a dict"),
    ],
)
def test_the_views_refuse_by_its_name_what_is_of_another_kind(use, said):
    with refused(TypeError, said):
        use()


# Values and readers


@pytest.mark.parametrize("given", [b"{", 5, None, bytearray(b"{")])
def test_a_reader_of_json_takes_text_in_any_state(given):
    for before in ("", '{"a": "b'):
        reader = PartialJSON()
        reader.feed(before)
        with refused(TypeError, f"feed() takes text, not {described(given)}"):
            reader.feed(given)
        assert not reader.feed("")


@pytest.mark.parametrize("read", [chunkfold.Response.from_json, events.event_from_json, TextPart.from_json])
def test_json_of_a_value_is_text(read):
    for given in (5, None, {}, io.BytesIO(b"{}")):
        with refused(TypeError, f"JSON is text or bytes, not {described(given)}"):
            read(given)


def test_a_timer_goes_by_a_clock():
    with refused(TypeError, "clock must be a function, not a float"):
        Timer(0.5)


# What an error says


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (chunkfold.StreamError(message="busy"), "the stream ended in an error: busy"),
        (chunkfold.StreamError("overloaded_error", "busy"), "the stream ended in an error: overloaded_error: busy"),
        (chunkfold.StreamError(status=404), "the stream ended in an error: HTTP status 404"),
        (chunkfold.StreamError("x", status=404), "the stream ended in an error: x: HTTP status 404"),
        (chunkfold.StreamError(code="e7"), "the stream ended in an error: e7"),
        (chunkfold.StreamError(), "the stream ended in an error of which nothing is said"),
    ],
)
def test_an_incomplete_response_says_what_is_known_of_its_error(error, said):
    with pytest.raises(chunkfold.IncompleteResponse) as caught:
        chunkfold.Response(error=error).raise_if_incomplete()
    assert str(caught.value) == said


def test_a_call_without_a_name_is_called_so():
    call = chunkfold.ToolCall(raw_arguments="{", status="invalid")
    with refused(chunkfold.InvalidToolCall, "the arguments of a call without a name are invalid (1 character"):
        assert call.arguments
    response = chunkfold.Response(choices=(chunkfold.Choice(parts=(call,)),))
    with refused(chunkfold.IncompleteResponse, "unusable tool calls: a call without a name (invalid)"):
        response.raise_if_incomplete()
    with refused(chunkfold.PolicyError, "unusable tool calls: a call without a name"):
        raise chunkfold.PolicyError(response, [call])


@pytest.mark.parametrize(
    ("raw", "status", "said"),
    [
        ('{"a":', "truncated", "truncated (5 characters in raw_arguments; Expecting value at character 5)"),
        ('{"a":"secret', "truncated", "(12 characters in raw_arguments; Unterminated string starting at character 5)"),
        ("[1]", "invalid", "invalid (3 characters in raw_arguments; a list where an object was expected)"),
        ('{"a":' * 600, "invalid", "(3000 characters in raw_arguments; it nests 513 deep)"),
        ('{"a":1', "open", "open (6 characters in raw_arguments)"),
    ],
)
def test_unusable_arguments_say_where_they_break(raw, status, said):
    with refused(chunkfold.InvalidToolCall, said) as caught:
        chunkfold.ToolCall(name="f", raw_arguments=raw, status=status).arguments  # noqa: B018
    assert "secret" not in str(caught.value)


def test_a_frame_that_is_no_json_says_where_it_breaks():
    (note,) = chunkfold.fold(BODY + b'data: {"a": "x\n\n').diagnostics
    assert note.detail == "a frame of 8 bytes was skipped: Unterminated string starting at character 6"


def test_one_of_a_thing_is_not_several():
    (note,) = chunkfold.fold(BODY + b"data: {\n\n").diagnostics
    assert note.detail.startswith("a frame of 1 byte was skipped: ")
    assert str(chunkfold.errors.RateLimitEscalation(1, None)) == "refused 1 time for rate limits"
    assert str(chunkfold.errors.RateLimitEscalation(2, None)) == "refused 2 times for rate limits"


def test_what_stands_for_an_object_is_named():
    (note,) = chunkfold.fold(BODY + b"data: 5\n\n").diagnostics
    assert note.detail == "an int where an object was expected"


def test_text_mode_names_the_buffer_too():
    with refused(TypeError, "or give its .buffer"):
        chunkfold.fold(io.TextIOWrapper(io.BytesIO(BODY)))


# Copies


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(
    "made", [chunkfold.stream, chunkfold.astream, lambda pieces: resilience.stream(lambda: pieces), lambda pieces: chunkfold.wrap(pieces)[0]], ids=["stream", "astream", "resilient", "proxy"]
)  # fmt: skip
def test_a_stream_is_not_copied(made, how):
    """A copy that was collected closed what the first one still read from."""
    stream = made(iter([BODY]))
    with refused(TypeError, "cannot be copied or pickled"):
        how(stream)
    if hasattr(stream, "__next__"):
        next(stream)
    with contextlib.suppress(AttributeError):
        stream.close()
    if isinstance(stream, chunkfold.AsyncStream):
        asyncio.run(stream.aclose())
