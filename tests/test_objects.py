"""The objects of SDKs, known by their shape. The real ones are in tests_sdks."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import enum
import http.client
import types
import warnings
from collections import UserDict
from decimal import Decimal

import msgspec
import pydantic
import pytest

import chunkfold
from chunkfold import resilience
from chunkfold.folding._objects import error_body_of, payload_of


class Model:
    """What pydantic's models have in common, in both of its versions."""

    model_fields: dict = {}

    def __init__(self, extra=None, unset=(), **fields):
        self.__dict__.update(fields)
        self.__pydantic_fields_set__ = set(fields) - set(unset)
        self.__pydantic_extra__ = extra


class Reason(enum.Enum):
    STOP = "STOP"


class OfNumPy:
    """An array, or a number that is no `int`."""

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


class NotGiven:
    pass


def test_what_was_not_set_is_absent_and_what_is_extra_comes_along():
    item = Model(id="c", model=None, choices=[], unset=("model",), extra={"provider": "p"})
    assert payload_of(item) == {"id": "c", "choices": [], "provider": "p"}


def test_a_null_that_was_set_is_null():
    assert payload_of(Model(usage=None)) == {"usage": None}


def test_stand_ins_for_absent_are_absent():
    assert payload_of(Model(id="c", model=NotGiven())) == {"id": "c"}


def test_names_are_those_on_the_wire():
    class Renamed(Model):
        model_fields = {"finish_reason": types.SimpleNamespace(serialization_alias="finishReason", alias=None)}

    assert payload_of(Renamed(finish_reason=Reason.STOP)) == {"finishReason": "STOP"}


def test_what_an_sdk_does_not_know_is_what_came():
    """mistralai and google-genai put it into an object with a mark, wherever it stood."""
    known = {"type": "message.output.delta", "content": "a"}
    strange = Model(type="UNKNOWN", raw={"type": "function.call.delta", "arguments": {}}, is_unknown=True)
    assert payload_of(strange) == {"type": "function.call.delta", "arguments": {}}
    assert payload_of(Model(**known, chunk_of=strange)) == {**known, "chunk_of": strange.raw}


def test_the_older_pydantic_is_understood():
    class Old:
        __fields__: dict = {}

        def __init__(self):
            self.id = "c"
            self.model = None
            self.__dict__["__fields_set__"] = {"id"}

    assert payload_of(Old()) == {"id": "c"}


def test_a_model_without_fields_of_its_own_is_read_without_a_warning():
    """LiteLLM has some, and pydantic warns whoever asks for the names of its older version."""

    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert payload_of(Open(content="a")) == {"content": "a"}


def test_a_type_that_was_only_filled_in_is_kept():
    """Cohere's events have their type as a default."""
    assert payload_of(Model(type="message-start", id="c", unset=("type",))) == {"type": "message-start", "id": "c"}


def test_binary_data_and_times_are_said_as_on_the_wire():
    moment = dt.datetime(2031, 1, 2, tzinfo=dt.UTC)
    assert payload_of(Model(data=b"\x00\xff", at=moment)) == {"data": "AP8=", "at": "2031-01-02T00:00:00Z"}


def test_numbers_that_an_sdk_made_floats_are_whole_again():
    assert payload_of(Model(index=0.0, numberValue=2.5)) == {"index": 0, "numberValue": 2.5}


@pytest.mark.parametrize(
    "item",
    [
        types.SimpleNamespace(id="c", _private=1),
        types.SimpleNamespace(to_dict=lambda: {"id": "c"}),
        msgspec.defstruct("Struct", [("id", str)])("c"),
        {"id": "c"},
    ],
    ids=["attributes", "to_dict", "struct", "mapping"],
)
def test_other_shapes(item):
    assert payload_of(item) == {"id": "c"}


def test_wrappers_are_taken_off():
    chunk = Model(id="c")
    assert payload_of(types.SimpleNamespace(type="chunk", chunk=chunk)) == {"id": "c"}  # openai's helper
    chunk.model_dump = dict
    assert payload_of(types.SimpleNamespace(data=chunk))["id"] == "c"  # mistralai
    assert payload_of(Model(event="ping", data={"type": "ping"})) == {"type": "ping"}  # groq


@pytest.mark.parametrize(
    "item",
    [
        types.SimpleNamespace(type="text", text="a", snapshot="a"),
        types.SimpleNamespace(type="content.delta", delta="a"),
        types.SimpleNamespace(type="tool_calls.function.arguments.done"),
        None,
    ],
)
def test_helper_events_say_nothing_new(item):
    assert payload_of(item) is None


def test_what_helpers_put_beside_a_payload_is_left_out():
    """openai's `responses.stream()` says with each delta the whole so far, and of the end what it has read in it."""
    assert payload_of(Model(type="response.output_text.delta", delta="b", snapshot="ab")) == {
        "type": "response.output_text.delta",
        "delta": "b",
    }
    assert payload_of(Model(arguments="{}", parsed_arguments=Model())) == {"arguments": "{}"}
    assert payload_of(Model(type="STATE_SNAPSHOT", snapshot={"a": 1})) == {
        "type": "STATE_SNAPSHOT",
        "snapshot": {"a": 1},
    }


@pytest.mark.parametrize("item", [5, object(), print])
def test_what_has_no_shape_is_refused(item):
    with pytest.raises(TypeError, match="expected bytes, text, payloads or an SDK's objects"):
        payload_of(item)


def chunk(delta, **more):
    return Model(object="chat.completion.chunk", choices=[Model(index=0, delta=Model(**delta), **more)])


def test_objects_fold_through_every_door():
    chunks = [chunk({"content": "a"}), None, chunk({"content": "b"}, finish_reason="stop")]
    folder = chunkfold.Folder()
    for item in chunks:
        if item is not None:
            folder.feed(item)
    events = chunkfold.stream(chunks)
    assert "".join(events.text()) == "ab"
    assert chunkfold.fold(chunks) == events.response() == folder.close()


@dataclasses.dataclass(slots=True)
class Slotted:
    id: str


def test_a_dataclass_without_a_dict_is_read_by_its_fields():
    assert payload_of(Slotted("c")) == {"id": "c"}


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param(lambda delta: [Model(index=0, delta=delta)], id="what dict() makes of a pydantic model"),
        pytest.param(lambda delta: [types.SimpleNamespace(index=0, delta=vars(delta))], id="vars()"),
        pytest.param(lambda delta: ({"index": 0, "delta": delta},), id="a tuple"),
        pytest.param(lambda delta: [UserDict(index=0, delta=delta)], id="another mapping"),
        pytest.param(lambda delta: OfNumPy([{"index": 0, "delta": delta}]), id="an array of NumPy's"),
    ],
)
def test_payloads_that_are_dicts_may_hold_what_is_none(inside):
    """`dict(chunk)` and `chunk.__dict__` of SDKs' models leave models inside; other code makes tuples of lists."""
    payloads = [
        {"object": "chat.completion.chunk", "choices": inside(Model(content="a"))},
        {"object": "chat.completion.chunk", "choices": inside(Model(content="b"))},
    ]
    decoder, folder = chunkfold.Decoder(), chunkfold.Folder()
    deltas = [event.text for payload in payloads for event in decoder.feed(payload) if event.type == "text_delta"]
    for payload in payloads:
        folder.feed(payload, events=False)
    assert deltas == ["a", "b"]
    assert folder.close().text == chunkfold.fold(payloads).text == "ab"


def test_what_google_genai_dumps_is_as_on_the_wire():
    """`model_dump()` of a chunk has snake case, bytes and enums, where `mode="json"` was not asked for."""
    parts = [
        {"function_call": {"name": "look", "args": {}}, "thought_signature": b"\xff\x00"},
        {"inline_data": {"mime_type": "image/png", "data": b"\x89PNG"}},
    ]
    response = chunkfold.fold([{"candidates": [{"content": {"parts": parts}, "finish_reason": Reason.STOP}]}])
    call, picture = response.parts
    assert (call.extra["signature"], picture.data) == ("/wA=", b"\x89PNG")
    assert type(response.native_finish_reason) is str
    assert chunkfold.Response.from_json(response.to_json()) == response


class Word(str):
    __slots__ = ()


class Count(int):
    pass


class Float(float):
    pass


def with_numbers(value, whole, real):
    if isinstance(value, dict):
        return {key: with_numbers(item, whole, real) for key, item in value.items()}
    if isinstance(value, list):
        return [with_numbers(item, whole, real) for item in value]
    return whole(value) if type(value) is int else real(value) if type(value) is float else value


@pytest.mark.parametrize(
    ("whole", "real"),
    [
        pytest.param(lambda number: Decimal(str(number)), lambda number: Decimal(str(number)), id="Decimals"),
        pytest.param(Count, Float, id="numbers of a kind of their own"),
        pytest.param(OfNumPy, OfNumPy, id="NumPy's"),
    ],
)
def test_numbers_of_other_code_are_numbers(whole, real):
    """Items of DynamoDB hold Decimals: choices got mixed, and the usage lost, since these are no `int`."""
    fragment = {"index": 1, "id": "a", "function": {"name": "f", "arguments": {"n": 3, "x": 1.5}}}
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}, "cost": 0.25}
    scored = {"content": [{"token": "b", "logprob": -0.5}]}
    payloads = [
        {
            "object": "chat.completion.chunk",
            "created": 5,
            "choices": [{"index": 0, "delta": {"tool_calls": [fragment]}}],
        },
        {"object": "chat.completion.chunk", "choices": [{"index": 1, "delta": {"content": "b"}, "logprobs": scored}]},
        {"object": "chat.completion.chunk", "choices": [], "usage": usage},
    ]
    response = chunkfold.fold(with_numbers(payloads, whole, real))
    assert response == chunkfold.fold(payloads)
    assert (len(response.choices), response.usage.input_tokens, response.tool_calls[0].index) == (2, 3, 1)
    assert response.to_json() == chunkfold.fold(payloads).to_json()
    assert (
        chunkfold.fold([types.SimpleNamespace(**payload) for payload in with_numbers(payloads, whole, real)])
        == response
    )


def test_a_decimal_stays_what_it_is_where_a_float_would_not_be_the_same():
    """A sum of money in the arguments of a call is not rounded on the way."""
    fields = {"a": Decimal("1e400"), "b": Decimal("NaN"), "c": Decimal("3E+2"), "d": Decimal("0.25")}
    money = {"x": Decimal("12345678901234567.89"), "y": Decimal("1.10")}
    fragment = {"index": 0, "id": "a", "function": {"name": "f", "arguments": money}}
    payload = {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"tool_calls": [fragment]}}],
        **fields,
    }
    response = chunkfold.fold([payload])
    assert {name: response.extra[name] for name in fields} == {"a": Decimal("1e400"), "b": "NaN", "c": 300, "d": 0.25}
    assert response.tool_calls[0].raw_arguments == '{"x":12345678901234567.89,"y":1.10}'


def test_a_folder_that_was_fed_texts_of_a_kind_of_their_own_can_be_saved():
    folder = chunkfold.Folder()
    folder.feed(
        {"id": Word("c"), "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}}]}
    )
    assert chunkfold.Folder.restore(folder.save()).close() == folder.close()


def test_what_nobody_knows_inside_of_a_payload_stops_nothing():
    """LiteLLM and frameworks put objects of their own beside what the server sent."""
    payload = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}}]}
    for own in (object(), [object()], types.SimpleNamespace(connection=object())):
        assert chunkfold.fold([{**payload, "own": own}]).text == "a"
        assert chunkfold.fold([types.SimpleNamespace(**payload, own=own)]).text == "a"


def test_a_payload_that_holds_itself_is_deeper_than_any_limit():
    payload = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}}]}
    payload["own"] = [payload, payload]
    with pytest.raises(chunkfold.errors.LimitExceeded) as raised:
        chunkfold.fold([payload])
    assert raised.value.limit == "json_depth"
    assert chunkfold.fold([payload], limits=chunkfold.Limits(json_depth=None)).text == "a"


class Whole(pydantic.BaseModel):
    """What an SDK gives for a request without streaming; one iterates over the fields of such a model."""

    object: str = "chat.completion"
    choices: list = []
    usage: object = None


ASKED_WHOLE = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
}


def test_a_whole_answer_is_a_stream_of_one():
    whole = Whole(**ASKED_WHOLE)
    expected = chunkfold.fold(ASKED_WHOLE)
    assert (expected.text, expected.finish_reason) == ("Hello", "stop")
    assert chunkfold.fold(whole) == expected
    assert asyncio.run(chunkfold.afold(whole)) == expected
    with chunkfold.stream(whole) as stream:
        list(stream)
    assert stream.response() == expected
    with pytest.raises(TypeError, match="use fold"):
        chunkfold.wrap(whole)


def test_a_whole_answer_of_the_older_pydantic_is_one_too():
    class Old:
        __fields__: dict = {}

        def __init__(self, **fields):
            self.__dict__.update(fields)
            self.__dict__["__fields_set__"] = set(fields)

        def __iter__(self):
            yield from self.__dict__.items()

    assert chunkfold.fold(Old(**ASKED_WHOLE)).text == "Hello"


def test_a_whole_answer_may_stand_in_for_a_stream_that_failed():
    def broken():
        raise OSError("reset")

    options = {"retry": None, "timeouts": resilience.Timeouts(first=5)}
    stream = resilience.stream(broken, fallback=lambda: Whole(**ASKED_WHOLE), **options)
    assert "".join(stream.text()) == "Hello"
    assert stream.response().finish_reason == "stop"


def test_what_a_server_sent_instead_of_an_object_is_noted():
    """An SDK hands such things out as they are."""
    response = chunkfold.fold([chunk({"content": "a"}), 5, ["x"], chunk({}, finish_reason="stop")])
    assert response.text == "a"
    assert [item.kind for item in response.diagnostics] == ["payload_not_object"] * 2


class Failure(Exception):
    def __init__(self, **fields):
        super().__init__("failed")
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    ("exception", "kind", "retryable"),
    [
        (
            Failure(body={"type": "error", "error": {"type": "overloaded_error", "message": "m"}}),
            "overloaded_error",
            True,
        ),
        (Failure(body={"type": "invalid_request_error", "message": "m"}), "invalid_request_error", False),
        (Failure(details={"error": {"code": 503, "status": "UNAVAILABLE", "message": "m"}}), "UNAVAILABLE", True),
        (Failure(response={"Error": {"Code": "ThrottlingException", "Message": "m"}}), "ThrottlingException", True),
        (Failure(body=None, response=5), "Failure", False),
    ],
)
def test_an_exception_of_an_sdk_tells_what_the_provider_said(exception, kind, retryable):
    def source():
        yield chunk({"content": "a"})
        raise exception

    response = chunkfold.fold(source())
    assert (response.text, response.ended, response.truncated) == ("a", "error", True)
    assert (response.error.type, response.error.retryable) == (kind, retryable)
    assert response.error.message == ("failed" if kind == "Failure" else "m")
    assert (response.error.origin, response.error.exception) == ("transport", exception)


def remote_protocol_error():
    """As httpx has it: no `OSError`."""
    transport = type("TransportError", (Exception,), {})
    return type("RemoteProtocolError", (transport,), {})("peer closed connection")


@pytest.mark.parametrize(
    ("exception", "retryable"),
    [
        (remote_protocol_error(), True),
        (http.client.IncompleteRead(b"x"), True),
        (ConnectionResetError("reset"), True),
        (TimeoutError(), True),
        (EOFError(), True),
        (PermissionError("no"), False),
        (ValueError("no"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_connection_that_broke_off_is_worth_another_attempt_whatever_client_says_so(exception, retryable):
    def source():
        yield chunk({"content": "a"})
        raise exception

    error = chunkfold.fold(source()).error
    assert (error.origin, error.type, error.retryable) == ("transport", type(exception).__name__, retryable)


@pytest.mark.parametrize(
    ("raised", "type_", "status", "retryable"),
    [
        ({"status_code": 429, "body": {"message": "slow down"}}, None, 429, True),  # cohere
        ({"status_code": 503}, "Failure", 503, True),  # ollama
        ({"code": 401, "details": {"message": "no key"}}, None, 401, False),  # google-genai
        (
            {"status_code": 429, "body": {"type": "insufficient_quota", "message": "Pay"}},
            "insufficient_quota",
            429,
            False,
        ),
        (
            {"status_code": 200, "body": {"error": {"type": "overloaded_error", "message": "x"}}},
            "overloaded_error",
            529,
            True,
        ),
        ({"status_code": 404}, "Failure", 404, False),
        ({"status": "closed"}, "Failure", None, False),
    ],
)
def test_an_exception_of_an_sdk_tells_the_status_of_the_answer(raised, type_, status, retryable):
    """SDKs whose streams are generators raise when these are read."""

    def answer():
        raise Failure(**raised)
        yield

    error = chunkfold.fold(answer()).error
    assert (error.type, error.status, error.retryable, error.origin) == (type_, status, retryable, "transport")


def test_an_exception_without_a_body_tells_nothing():
    assert error_body_of(ValueError("x")) is None


# LangChain


class LangChain:
    def __init__(self, content="", calls=(), usage=None, facts=None, id="lc_run--1", more=None):
        self.content = content
        self.tool_call_chunks = list(calls)
        self.usage_metadata = usage
        self.response_metadata = facts or {}
        self.additional_kwargs = more or {}
        self.id = id


def test_langchain_tells_what_the_provider_behind_a_gateway_said():
    facts = {"finish_reason": "stop", "native_finish_reason": "network_error"}
    response = chunkfold.fold([LangChain("Hel"), LangChain(facts=facts)])
    assert (response.text, response.finish_reason, response.native_finish_reason) == ("Hel", "error", "stop")


def test_langchain_chunks():
    response = chunkfold.fold(
        [
            LangChain("Hel", more={"reasoning_content": "Hm"}),
            LangChain("lo"),
            LangChain(calls=[{"index": 0, "id": "a", "name": "f", "args": '{"x":'}]),
            LangChain(calls=[{"index": 0, "id": None, "name": None, "args": "1}"}]),
            LangChain(facts={"finish_reason": "tool_calls", "model_name": "m"}),
            LangChain(
                usage={
                    "input_tokens": 1,
                    "output_tokens": 2,
                    "total_tokens": 3,
                    "input_token_details": {"cache_read": 1},
                }
            ),
        ]
    )
    assert (response.text, response.reasoning) == ("Hello", "Hm")
    assert [(call.id, call.name, call.raw_arguments) for call in response.tool_calls] == [("a", "f", '{"x":1}')]
    assert (response.model, response.id, response.finish_reason) == ("m", None, "tool_calls")
    assert (response.usage.input_tokens, response.usage.cached_input_tokens) == (1, 1)


def test_langchain_content_blocks():
    """As its chat models of Anthropic and others give them."""
    response = chunkfold.fold(
        [
            LangChain([{"type": "thinking", "thinking": "Hm", "index": 0}], id="msg_1"),
            LangChain([{"type": "text", "text": "Hi", "index": 1}]),
            LangChain(
                [{"type": "tool_use", "id": "a", "name": "f", "input": {}, "index": 2}],
                calls=[{"index": 2, "id": "a", "name": "f", "args": ""}],
            ),
            LangChain(
                [{"type": "input_json_delta", "partial_json": "{}", "index": 2}],
                calls=[{"index": 2, "id": None, "name": None, "args": "{}"}],
            ),
            LangChain(facts={"stop_reason": "tool_use"}),
        ]
    )
    assert (response.text, response.reasoning, response.id) == ("Hi", "Hm", "msg_1")
    assert [(call.id, call.raw_arguments) for call in response.tool_calls] == [("a", "{}")]
    assert response.finish_reason == "tool_calls"


def test_langchain_usage_of_google_is_what_came_since_the_last_chunk():
    """langchain-google-genai takes off what it has told, since LangChain adds chunks up."""
    facts = {"model_provider": "google_genai"}
    given = ({"input_tokens": 10, "output_tokens": 3, "total_tokens": 13, "output_token_details": {"reasoning": 3}},
             {"input_tokens": 0, "output_tokens": 1, "total_tokens": 1, "input_token_details": {"cache_read": 4}},
             {"input_tokens": 0, "output_tokens": 5, "total_tokens": 5, "output_token_details": {"reasoning": 0}})  # fmt: skip
    chunks = [LangChain("a", usage=usage, facts=facts) for usage in given]
    folder = chunkfold.Folder()
    for chunk in chunks:
        folder = chunkfold.Folder.restore(folder.save())
        folder.feed(chunk)
    proxy, wrapped = chunkfold.wrap(iter(chunks))
    list(proxy)
    for response in (chunkfold.fold(chunks), folder.close(), wrapped.response()):
        usage = response.usage
        assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 9, 19)
        assert (usage.cached_input_tokens, usage.reasoning_tokens) == (4, 3)
    # What others tell again is the whole.
    again = [LangChain("a", usage=usage, facts={"model_provider": "openai"}) for usage in given[:1] * 2]
    assert chunkfold.fold(again).usage.total_tokens == 13


class WholeLangChain:
    """What `invoke` gives: a model of pydantic, which could be iterated over."""

    __pydantic_fields_set__ = frozenset()

    def __init__(self, content="", tool_calls=(), invalid_tool_calls=(), facts=None, usage=None, more=None):
        self.content, self.tool_calls, self.invalid_tool_calls = content, list(tool_calls), list(invalid_tool_calls)
        self.response_metadata, self.usage_metadata, self.additional_kwargs = facts or {}, usage, more or {}
        self.type, self.id = "ai", "lc_run--1"


@pytest.mark.parametrize("is_in_list", [False, True])
def test_a_whole_langchain_message_is_an_answer(is_in_list):
    message = WholeLangChain(
        [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "a"}],
        [{"type": "tool_call", "id": "a", "name": "f", "args": {"x": "\u00e9"}}],
        [{"type": "invalid_tool_call", "id": "b", "name": "g", "args": '{"x":', "error": None}],
        {"stop_reason": "tool_use", "model_name": "m"},
        {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    response = chunkfold.fold([message] if is_in_list else message)
    assert (response.text, response.reasoning, response.model, response.ended) == ("Hi", "Hm", "m", "clean")
    first, second = response.tool_calls
    assert (first.id, first.name, first.arguments) == ("a", "f", {"x": "\u00e9"})
    assert (second.id, second.name, second.raw_arguments, second.status) == ("b", "g", '{"x":', "invalid")
    assert (response.finish_reason, response.usage.total_tokens) == ("tool_calls", 3)


def test_arguments_that_langchain_has_kept_as_they_came_are_those():
    kept = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1.10}'}}]
    read = [{"type": "tool_call", "id": "a", "name": "f", "args": {"x": 1.1}}]
    response = chunkfold.fold(
        WholeLangChain(tool_calls=read, facts={"finish_reason": "tool_calls"}, more={"tool_calls": kept})
    )
    assert [call.raw_arguments for call in response.tool_calls] == ['{"x":1.10}']


# What clients for server-sent events hand out


class ServerSentEvent:
    """As httpx-sse and the SDKs have it."""

    def __init__(self, data="", event="message", id="", retry=None):
        self._all = data, event, id, retry

    data = property(lambda self: self._all[0])
    event = property(lambda self: self._all[1])
    id = property(lambda self: self._all[2])
    retry = property(lambda self: self._all[3])


ANSWER = [
    ("message", '{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Low tide \u00e9"}}]}'),
    ("message", '{"object":"chat.completion.chunk",\n"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'),
    ("message", "[DONE]"),
]
FAILED = [
    ANSWER[0],
    ("error", '{"message":"Overloaded"}'),
]


@pytest.mark.parametrize(
    "made",
    [
        lambda event, data: ServerSentEvent(data, event),
        lambda event, data: types.SimpleNamespace(id=None, event=event, data=data, retry=None),
        lambda event, data: types.SimpleNamespace(event=None if event == "message" else event, data=data),
        lambda event, data: types.SimpleNamespace(type=event, data=data, origin="http://a", last_event_id=""),
    ],
    ids=["httpx-sse", "sseclient", "without a name", "requests-sse"],
)
def test_events_of_a_client_for_server_sent_events_are_what_was_on_the_wire(made):
    for told in (ANSWER, FAILED):
        events = [made(event, data) for event, data in told]
        lines = [
            f"event: {event}\n" * (event != "message") + "data: " + data.replace("\n", "\ndata: ")
            for event, data in told
        ]
        wire = "".join(f"{line}\n\n" for line in lines).encode()
        expected = chunkfold.fold(wire)
        assert (expected.text, expected.error is not None) == ("Low tide \u00e9", told is FAILED)
        assert chunkfold.fold(events) == expected
        with chunkfold.stream(events) as stream:
            list(stream)
        assert stream.response() == expected
        folder = chunkfold.Folder()
        for event in events:
            folder.feed(event)
        assert folder.close() == expected
        proxy, fold = chunkfold.wrap(iter(events))
        assert list(proxy) == events
        assert fold.response() == expected


def test_an_event_of_another_kind_keeps_its_name():
    assert payload_of(ServerSentEvent("{}", "ping")) == b"event: ping\ndata: {}\n\n"
    assert payload_of(ServerSentEvent("")) == b"data: \n\n"
    # An SDK's object may have a text of that name.
    assert payload_of(Model(data="a", type="blob")) == {"data": "a", "type": "blob"}
