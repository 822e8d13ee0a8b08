"""Public values: equal by value, frozen, written and read back, shown without their content."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, get_args

import pytest

import chunkfold
from chunkfold import (
    AudioPart,
    Choice,
    Diagnostic,
    FilePart,
    ImagePart,
    Limits,
    Message,
    Policy,
    ReasoningPart,
    RefusalPart,
    Response,
    StreamError,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
    events,
    parts,
)
from chunkfold.events import event_from_dict, event_from_json
from tests.laws import assert_same_value

SECRET = "the secret answer\nof two lines"

CALL = ToolCall("call_1", "f", '{"secret": "the secret answer"}', "complete", "function", index=3, extra={"x": SECRET})
PARTS = [
    TextPart(SECRET, "id", "final_answer", ({"quote": SECRET},), "sig", {"x": SECRET}),
    ReasoningPart(SECRET, "sig", SECRET, redacted=True, summary=True, extra={"x": [SECRET]}),
    RefusalPart(SECRET),
    CALL,
    ToolCall("c", "web_search", SECRET, "invalid", "web_search_call", server_side=True),
    ToolResult("c", "web_search", [{"secret": SECRET}], is_error=True),
    ImagePart("image/png", SECRET.encode(), None, "i", final=False),
    AudioPart("audio/wav", b"\x00\xff", transcript=SECRET),
    FilePart(url="https://example.org/" + "secret" * 30),
    UnknownPart("new", {"secret": SECRET, "n": None, "big": 10**30}),
]
ERROR = StreamError("overloaded_error", SECRET, 529, 529, retryable=True, retry_after=1.5, raw={"x": SECRET})
USAGE = Usage(5, 6, 11, 2, 0, 3, {"prompt_tokens": 5, "x": SECRET})
RESPONSE = Response(
    choices=(
        Choice(0, tuple(PARTS), "tool_calls", "stop", ({"token": SECRET},), ({"url": SECRET},)),
        Choice(1, (TextPart("b"),)),
    ),
    usage=USAGE,
    ended="error",
    truncated=True,
    error=ERROR,
    id="r",
    model="m",
    created=7,
    dialect="openai-chat",
    vendor="v",
    diagnostics=(Diagnostic("frame_not_json", 3, 0, 1, "a frame of 7 bytes was skipped"),),
    extra={"x": SECRET},
)
EVENTS: list[Any] = [
    events.MessageStart("i", "m", 1.5, "assistant", "openai-chat", "v"),
    events.PartStart(0, 0, "tool_call", "c", "f", "function", extra={"x": SECRET}),
    events.TextDelta(0, 0, SECRET),
    events.ReasoningDelta(0, 1, SECRET),
    events.RefusalDelta(0, 2, SECRET),
    events.ToolArgumentsDelta(0, 3, SECRET),
    events.DataDelta(0, 4, b"\x00secret"),
    events.PartUpdate(0, 3, "c", "f", "s", {"x": SECRET}),
    *[events.PartReplace(0, 0, part) for part in PARTS],
    events.PartStop(0, 3),
    events.PartStop(0),
    events.Annotations(0, None, ({"x": SECRET},)),
    events.Logprobs(0, ({"token": SECRET}, 1)),
    events.UsageUpdate(USAGE),
    events.Finish(0, "stop", "end_turn"),
    events.MessageReset(0, "replay"),
    events.ErrorEvent(ERROR),
    events.Ping(),
    events.UnknownEvent("new", {"x": SECRET}),
    events.Extra(("choices", 0, "message", "x", "-"), SECRET),
    events.DiagnosticEvent(Diagnostic("stray_text", detail="7 bytes")),
    events.MessageStop("clean"),
]
VALUES = [*PARTS, ERROR, USAGE, RESPONSE, RESPONSE.message, *RESPONSE.choices, *RESPONSE.diagnostics, *EVENTS]
VALUES += [Limits(1, 2, 3, 4, 5), Policy()]
every_value = pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)


def test_every_public_value_is_tried_here():
    tried = {type(value) for value in VALUES}
    public = {getattr(module, name) for module in (chunkfold, events, parts) for name in module.__all__}
    values = {item for item in public if isinstance(item, type) and issubclass(item, chunkfold.TextPart.__mro__[1])}
    paths = {item for item in values if item.__name__.endswith(("PathDelta", "FieldDone"))}  # tests/live has these
    assert values - paths == tried - paths


@every_value
def test_a_value_is_itself_after_json_pickling_and_copying(value):
    assert_same_value(value)
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value


@every_value
def test_a_value_is_equal_by_value_and_only_to_its_own_kind(value):
    other = type(value).from_dict(value.to_dict())
    assert other is not value
    assert other == value
    assert not other != value  # noqa: SIM202
    assert value != value.to_dict()
    assert value != object()


def test_messages_are_equal_that_say_the_same_in_whosever_words():
    message = chunkfold.Message(parts=(chunkfold.TextPart("a"),), dialect="gemini")
    assert message == chunkfold.Message("assistant", message.parts)
    assert not message != chunkfold.Message("assistant", message.parts)  # noqa: SIM202
    assert message != chunkfold.Message("assistant")
    assert chunkfold.Message.from_json(message.to_json()).dialect == "gemini"


@every_value
def test_a_value_is_frozen(value):
    for name in value.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(value, name, None)


@every_value
def test_the_repr_is_one_line_without_content(value):
    shown = repr(value)
    assert "\n" not in shown
    assert "secret" not in shown
    assert shown.startswith(type(value).__name__ + "(")
    assert len(shown) < 1000


def test_the_repr_names_facts_and_gives_sizes():
    assert repr(CALL).startswith("ToolCall(id='call_1', name='f', raw_arguments=<31 characters>, status='complete'")
    assert repr(ImagePart("image/png", b"123")) == "ImagePart(media_type='image/png', data=<3 bytes>)"
    assert repr(events.TextDelta(0, 1, "hello")) == "TextDelta(choice=0, index=1, text=<5 characters>)"
    assert "finish_reason='tool_calls'" in repr(RESPONSE.choices[0])
    few, many = Choice(parts=(TextPart("hello"),), finish_reason="stop"), Choice(parts=(TextPart("hello"),) * 4)
    shown = "Response(choices=[Choice(parts=[TextPart(text=<5 characters>)], finish_reason='stop')], ended='clean')"
    assert repr(Response((few,), ended="clean")) == shown
    assert repr(many) == "Choice(parts=<4>)"


@every_value
def test_the_written_form_is_plain_json_and_leaves_defaults_out(value):
    plain = {type(None), bool, int, float, str, bytes, list, dict}

    def check(item):
        assert type(item) in plain
        for inner in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
            check(inner)

    check(value.to_dict())
    assert type(value).from_json(value.to_json().encode()) == value


@every_value
def test_what_is_written_can_be_changed_without_changing_the_value(value):
    """A usage without the costs, for a log, took them out of the response."""

    def change(item):
        for inner in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
            change(inner)
        if isinstance(item, dict | list):
            item.clear()

    before = value.to_json()
    change(value.to_dict())
    assert value.to_json() == before


def test_the_record_can_be_changed_without_changing_the_response():
    before = RESPONSE.to_json()
    record = RESPONSE.record()
    record["usage"]["raw"].clear()
    for part in record["parts"]:
        part.get("extra", {}).clear()
        part.get("annotations", []).clear()
    assert RESPONSE.to_json() == before


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.kind)
def test_the_written_form_of_a_part_names_its_kind(part):
    assert part.to_dict()["kind"] == part.kind
    assert parts.part_from_dict(part.to_dict()) == part


def test_every_kind_has_a_class():
    kinds = {part.kind for part in PARTS}
    assert kinds == set(get_args(parts.Kind))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_the_written_form_of_an_event_names_its_type(event):
    assert event.to_dict()["type"] == event.type
    assert event_from_dict(event.to_dict()) == event
    assert event_from_json(event.to_json()) == event
    name = type(event).__name__.removesuffix("Event")
    assert event.type == "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


# Reading what is wrong


@pytest.mark.parametrize(
    ("cls", "text", "said"),
    [
        (TextPart, '{"kind":"text","text":1}', "TextPart.text"),
        (TextPart, '{"kind":"image","text":"x"}', "kind"),
        (TextPart, '{"txt":"x"}', "txt"),
        (ToolCall, '{"kind":"tool_call","status":"done"}', "ToolCall.status"),
        (ToolCall, '{"index":true}', "ToolCall.index"),
        (ImagePart, '{"kind":"image","data":"%%%"}', "ImagePart.data"),
        (Usage, '{"input_tokens":"many"}', "Usage.input_tokens"),
        (Limits, '{"parts":1.5}', "Limits.parts"),
        (Response, '{"ended":"maybe"}', "Response.ended"),
        (Response, '{"choices":[{"index":0,"parts":[{"kind":"text","text":[]}]}]}', "TextPart.text"),
        (Response, '{"choices":[{"parts":[{"kind":"novel"}]}]}', "novel"),
        (Response, '{"choices":5}', "Response.choices"),
        (Response, '{"choices":[5]}', "Choice"),
        (Response, '{"usage":"none"}', "Usage"),
        (Response, '{"error":[]}', "StreamError"),
        (Message, '{"parts":{}}', "Message.parts"),
        (Message, '{"parts":[[]]}', "object"),
        (StreamError, '{"origin":"moon"}', "StreamError.origin"),
        (Response, "[]", "Response"),
        (Response, "{", "character 1"),
        (Response, "", "character 0"),
        (events.TextDelta, '{"type":"text_delta","choice":0,"index":0}', "text"),
        (events.TextDelta, '{"type":"text_delta","choice":"0","index":0,"text":""}', "TextDelta.choice"),
        (events.TextDelta, '{"type":"reasoning_delta","choice":0,"index":0,"text":""}', "type"),
        (events.PartReplace, '{"choice":0,"index":0,"part":5}', "object"),
        (events.UsageUpdate, '{"usage":5}', "Usage"),
    ],
)  # fmt: skip
def test_reading_what_is_wrong_is_a_value_error_that_names_the_field(cls, text, said):
    with pytest.raises(ValueError, match=r".") as caught:
        cls.from_json(text)
    assert said.lower() in str(caught.value).lower()


@pytest.mark.parametrize("text", ["5", "[]", "null", '{"type":"none"}', "{}", '{"type":["text_delta"]}', "{", ""])
def test_an_event_that_is_none_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        event_from_json(text)


# Usage


def test_usages_of_whole_responses_add_up_and_none_stays_none():
    total = Usage.sum([Usage(1, 2, 3, reasoning_tokens=0), None, Usage(10, None, 30), Usage()])
    assert total == Usage(11, 2, 33, reasoning_tokens=0)
    assert total.cached_input_tokens is None
    assert Usage.sum([]) == Usage()
    assert Usage.sum(iter([None])) == Usage()


def test_the_usage_of_responses_is_not_added_up_from_the_responses_themselves():
    with pytest.raises(TypeError, match=r"sum\(\) takes usages, such as response.usage, not a Response"):
        Usage.sum([Response(usage=Usage(1))])


def test_a_count_that_is_zero_is_not_one_that_is_unknown():
    assert Usage(0) != Usage()
    assert Usage.from_json(Usage(0).to_json()).input_tokens == 0


# Tool calls


@pytest.mark.parametrize("status", ["open", "invalid", "truncated"])
def test_arguments_of_an_unusable_call_raise_whatever_the_text(status):
    call = ToolCall("i", "f", "{}", status)
    assert not call.is_usable
    with pytest.raises(chunkfold.InvalidToolCall) as caught:
        call.arguments  # noqa: B018
    assert caught.value.call is call
    assert status in str(caught.value)
    assert "'f'" in str(caught.value)
    assert call.arguments_or(None) is None
    assert call.arguments_or({"a": 1}) == {"a": 1}


def test_arguments_are_parsed_afresh_at_each_use():
    call = ToolCall("i", "f", '{"a": [1]}', "complete")
    call.arguments["a"].append(2)
    assert call.arguments == {"a": [1]}
    assert call.arguments_or(None) == {"a": [1]}
    assert ToolCall(status="empty").arguments == {}
    assert ToolCall(raw_arguments=" ", status="empty").arguments == {}


def test_the_free_text_of_a_custom_tool_is_its_arguments():
    call = ToolCall("i", "f", "*** patch {", "complete", "custom")
    assert call.arguments == "*** patch {"


@pytest.mark.parametrize("deal", [repr, str, copy.deepcopy, pickle.dumps, ToolCall.to_json, lambda call: call == copy.copy(call)])  # fmt: skip
def test_looking_at_an_open_call_never_touches_its_arguments(deal):
    assert deal(ToolCall("i", "f", '{"half', "open"))


def test_the_kind_of_a_call_says_who_runs_it():
    assert ToolCall().kind == "tool_call"
    assert ToolCall(server_side=True).kind == "server_tool_call"


# Response


def respond(*made, **facts):
    return Response(choices=(Choice(0, tuple(made), facts.pop("finish_reason", "stop")),), ended="clean", **facts)


def test_text_reasoning_and_refusal_are_the_parts_of_that_kind_joined():
    response = respond(
        TextPart("a"),
        ReasoningPart("r1", summary=True),
        CALL,
        ReasoningPart("r2", summary=True),
        RefusalPart("n"),
        TextPart("b"),
        ReasoningPart("r3"),
        RefusalPart("o"),
        UnknownPart("x", "text"),
    )
    assert response.text == "ab"
    assert response.reasoning == "r1\n\nr2r3"
    assert response.refusal == "no"
    assert response.tool_calls == (CALL,)
    assert Response().text == Response().reasoning == Response().refusal == ""


def test_calls_that_the_server_ran_are_not_for_the_client():
    server = ToolCall("s", server_side=True, status="complete")
    assert respond(server, CALL).tool_calls == (CALL,)


def test_the_fields_of_the_response_are_those_of_choice_0():
    other = Choice(1, (TextPart("other"),), "length", "length")
    assert Response(choices=(other,)).text == ""
    assert Response(choices=(other,)).finish_reason is None
    both = Response(choices=(Choice(0, (TextPart("first"),), "stop", "end"), other))
    assert (both.text, both.finish_reason, both.native_finish_reason) == ("first", "stop", "end")
    assert both.message == Message("assistant", (TextPart("first"),))
    assert both.choices[1].message.parts == (TextPart("other"),)


@pytest.mark.parametrize("reason", [None, "stop", "length", "tool_calls", "content_filter", "refusal", "pause"])
def test_a_response_that_is_whole_does_not_raise_whatever_its_reason(reason):
    assert respond(TextPart("a"), CALL, ToolCall(status="empty"), finish_reason=reason).raise_if_incomplete() is None


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (respond(TextPart("a"), truncated=True), "cut"),
        (respond(error=StreamError("overloaded_error", "busy")), "overloaded_error"),
        (respond(error=StreamError("ReadTimeout", "t", origin="transport"), truncated=True), "ReadTimeout"),
        (Response(choices=(Choice(0, (TextPart("a"),), "error", "ERROR"),)), "'ERROR' as the finish reason"),
        (Response(choices=(Choice(), Choice(1, (), "error"))), "'error' as the finish reason"),
        (respond(ToolCall("i", "send", "{", "invalid")), "send"),
        (respond(ToolCall("i", None, "{", "truncated")), "i"),
        (respond(ToolCall("i", "f", "", "open")), "f"),
        (Response(choices=(Choice(), Choice(1, (ToolCall("i", "second", "{", "invalid"),)))), "second"),
    ],
)
def test_raise_if_incomplete_raises_on_truncation_errors_and_unusable_calls(response, said):
    with pytest.raises(chunkfold.IncompleteResponse) as caught:
        response.raise_if_incomplete()
    assert caught.value.response is response
    assert said in str(caught.value)


def test_an_unusable_call_of_the_server_is_no_reason_to_raise():
    assert respond(ToolCall("i", "f", "{", "invalid", server_side=True)).raise_if_incomplete() is None


# Errors


@pytest.mark.parametrize("behind", ["x", "{}", '{"id":"b"}', " [DONE]", "\n[DONE]", ',{"id":"b"}'])
def test_json_with_something_behind_it_is_refused(behind):
    """Two lines of a file in one, or one that was cut out of the wrong place."""
    for read, text in [(chunkfold.Response.from_json, '{"id":"a"}'), (events.event_from_json, '{"type":"ping"}')]:
        read(text + " \n")
        for given in (text + behind, (text + behind).encode()):
            with pytest.raises(ValueError, match="something stands behind the JSON of the value"):
                read(given)


@pytest.mark.parametrize("text", [b'{"id":"\xff"}', '{"id":"\ud800"}'])
def test_json_with_damaged_characters_is_refused(text):
    with pytest.raises(ValueError, match="not in UTF-8"):
        chunkfold.Response.from_json(text)


def test_every_error_is_a_chunkfold_error_and_pickles():
    made = [
        chunkfold.LimitExceeded("parts", 3, 2, RESPONSE, (events.Ping(),)),
        chunkfold.IncompleteResponse(RESPONSE),
        chunkfold.PolicyError(RESPONSE, (CALL,)),
        chunkfold.InvalidToolCall(CALL),
        chunkfold.RestoreError("no"),
        chunkfold.UnknownDialect("x", ("a",)),
        chunkfold.MissingExtra("httpx", "httpx"),
    ]
    for error in made:
        assert isinstance(error, chunkfold.ChunkfoldError)
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert again.args == error.args
        assert str(again) == str(error) != ""
    assert isinstance(made[-2], ValueError)
    assert isinstance(made[-1], ImportError)
    assert "chunkfold[httpx]" in str(made[-1])
    assert "anthropic-messages" in str(chunkfold.UnknownDialect("x", chunkfold.dialects.names()))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("openai", "(did you mean openai-chat or openai-completions or openai-responses?)"),
        ("Bedrock_Converse", "(did you mean bedrock-converse?)"),
        ("gemini-interactions-v2", "(did you mean gemini or gemini-interactions?)"),
        ("claude", "'claude'; known are: auto, ag-ui, "),
        ("", "''; known are: auto, ag-ui, "),
    ],
)
def test_an_unknown_dialect_is_told_with_those_of_a_name_like_it(name, hint):
    assert hint in str(chunkfold.UnknownDialect(name, chunkfold.dialects.names()))


def test_a_request_needs_the_name_of_a_dialect():
    with pytest.raises(chunkfold.UnknownDialect, match="name the dialect here"):
        chunkfold.Message().to_request("auto")


class Unmakeable(Exception):
    """As those of many clients: what it is made of is not what it keeps in `args`."""

    def __init__(self, message, *, response):
        super().__init__(message)
        self.response = response


def test_the_exception_of_a_source_is_kept_but_is_no_part_of_the_value():
    error = StreamError("OSError", "gone", origin="transport", exception=OSError("gone"))
    assert error == StreamError("OSError", "gone", origin="transport")
    assert "exception" not in error.to_json()
    assert isinstance(pickle.loads(pickle.dumps(error)).exception, OSError)

    class Unpicklable(Exception):
        def __reduce__(self):
            raise TypeError("no")

    for exception in (Unpicklable(), Unmakeable("gone", response=5)):
        kept = StreamError(type(exception).__name__, origin="transport", exception=exception)
        assert pickle.loads(pickle.dumps(kept)) == kept
        assert copy.deepcopy(kept) == kept


# What is output


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_output_is_what_a_person_or_a_program_gets_something_from(event):
    gives = event.type in ("text_delta", "reasoning_delta", "refusal_delta", "tool_arguments_delta", "data_delta")
    assert events.is_output(event) == gives


def test_an_empty_delta_is_no_output():
    assert not events.is_output(events.TextDelta(0, 0, ""))
    assert not events.is_output(events.DataDelta(0, 0, b""))


# The record


def test_a_record_is_plain_json_with_parsed_arguments():
    calls = (
        ToolCall(name="f", raw_arguments='{"n": 1.10}', status="complete"),
        ToolCall(name="g", status="empty"),
        ToolCall(name="h", raw_arguments='{"n', status="truncated"),
        ToolCall(name="s", raw_arguments="select 1", status="complete", type="custom"),
    )
    response = Response(choices=(Choice(parts=calls), Choice(index=1, parts=calls[:1])))
    record = json.loads(json.dumps(response.record("saved.sse")))
    assert [call["arguments"] for call in record["tool_calls"]] == [{"n": 1.1}, {}, None, "select 1"]
    assert record["choices"][1]["tool_calls"][0]["arguments"] == {"n": 1.1}
    assert (record["source"], record["tool_calls"][0]["raw_arguments"]) == ("saved.sse", '{"n": 1.10}')


def test_neighbouring_thoughts_are_one_in_the_content_unless_one_is_signed():
    thoughts = [ReasoningPart("a"), ReasoningPart("b"), ReasoningPart("c", signature="c2ln"), ReasoningPart("d")]
    message = Message(parts=(*thoughts, TextPart("e")))
    assert [part.text for part in message.content()] == ["ab", "c", "d", "e"]


def test_equal_messages_have_one_hash_whatever_their_dialect():
    one, other = (Message(parts=(RefusalPart("No."),), dialect=dialect) for dialect in ("openai-chat", None))
    assert (one == other, hash(one) == hash(other)) == (True, True)
