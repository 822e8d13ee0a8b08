"""Messages that servers state in more than one way."""

from __future__ import annotations

import json

import pytest

import chunkfold
from tests.laws import assert_laws
from tests.streams import sse

START = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 9}}}  # fmt: skip
PIECE = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hal"}}
CALL = {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f"}}
WHOLE = {
    "id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hallo"}],
    "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 2},
}  # fmt: skip


def folded(*payloads):
    body = b"".join(map(sse, payloads))
    return assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])


def test_a_whole_message_behind_pieces_replaces_them():
    """A proxy whose stream broke asks again without streaming and passes that on."""
    for pieces in ([START, PIECE], [START, PIECE, CALL], [PIECE]):
        response = folded(*pieces, WHOLE)
        assert (response.text, response.tool_calls, len(response.parts)) == ("Hallo", (), 1)
        assert (response.finish_reason, response.ended, response.id) == ("stop", "clean", "m")
        assert response.usage.output_tokens == 2


def test_pieces_behind_a_whole_message_begin_anew():
    response = folded(WHOLE, START, PIECE, {"type": "message_stop"})
    assert (response.text, response.ended) == ("Hal", "clean")


def text_of(*deltas):
    """The response to these deltas of one block of text."""
    pieces = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", **delta}} for delta in deltas]
    return folded(START, *pieces, {"type": "message_stop"})


def test_what_a_delta_says_beside_its_own_is_kept_with_its_block():
    response = text_of({"text": "a", "lang": "de"}, {"text": "b", "lang": "de"}, {"text": "c", "lang": "en", "x": None})
    assert (response.text, response.parts[0].extra) == ("abc", {"lang": "en"})
    assert response.to_native()["content"] == [{"type": "text", "lang": "en", "text": "abc"}]


def test_a_delta_that_names_its_input_otherwise_does_not_lose_it():
    delta = {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partialJson": "{}"}}
    call = folded(START, CALL, delta, {"type": "message_stop"}).tool_calls[0]
    assert call.extra == {"partialJson": "{}"}


def test_what_a_delta_says_beside_its_own_for_a_block_that_never_began_is_carried():
    said = {"type": "input_json_delta", "x": 1}
    for text, begun in (("", []), ("{}", [CALL])):
        delta = {"type": "content_block_delta", "index": 4, "delta": {**said, "partial_json": text}}
        response = folded(START, *begun, delta, {"type": "message_stop"})
        assert [call.raw_arguments for call in response.tool_calls] == [text] * len(begun)
        assert (response.parts[-1].name, response.parts[-1].payload["delta"]) == ("input_json_delta", said)


def test_a_start_that_comes_again_brings_further_fields():
    again = {**CALL, "content_block": {**CALL["content_block"], "caller": {"type": "direct"}}}
    response = folded(START, CALL, again, {"type": "message_stop"})
    assert [call.extra for call in response.tool_calls] == [{"caller": {"type": "direct"}}]


def test_thinking_that_is_signed_in_its_own_delta_keeps_the_signature():
    deltas = [{"thinking": "h", "signature": ""}, {"thinking": "m", "signature": "c2ln"}]
    pieces = [{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", **d}} for d in deltas]
    response = folded(START, *pieces, {"type": "message_stop"})
    assert response.to_native()["content"] == [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]


def test_the_native_body_names_the_model_that_answered_after_a_fallback():
    """As the body of a message that was not streamed does; the start of a stream names the one that was asked."""
    start = {"type": "message_start", "message": {**START["message"], "model": "asked"}}
    hops = [
        {"type": "content_block_start", "index": at, "content_block": {"type": "fallback", "to": {"model": model}}}
        for at, model in enumerate(["second", "third"])
    ]
    response = folded(start, *hops, PIECE, {"type": "message_stop"})
    assert (response.model, response.to_native()["model"]) == ("asked", "third")
    assert chunkfold.fold(json.dumps(response.to_native()).encode()).model == "third"


def test_the_bill_of_vertex_is_no_usage_of_the_message():
    """Its counts are those of the time, and have fields that the usage of a message has not."""
    bill = {"usage": {"input_tokens": 9, "output_tokens": 1, "tiers": {"0-to-200000": {"input_tokens": 9}}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}
    response = folded(START, PIECE, end, {"type": "vertex_event", **bill}, {"type": "message_stop"})
    assert response.usage.raw == {"input_tokens": 9, "output_tokens": 5}
    assert response.extra["vertex_event"] == bill
    assert response.to_native()["vertex_event"] == bill


def test_a_start_without_anything_in_it_opens_no_part():
    response = folded(START, {"type": "content_block_start", "index": 0, "content_block": {}}, PIECE)
    assert [part.kind for part in response.parts] == ["text"]


def test_a_block_without_a_type_does_not_go_back():
    block = {"type": "content_block_start", "index": 0, "content_block": {"x": 1}}
    response = folded(START, block, {**PIECE, "index": 1})
    assert response.parts[0].payload == {"x": 1}
    assert response.message.to_request("anthropic-messages")["content"] == [{"type": "text", "text": "Hal"}]


def test_a_whole_message_of_a_server_that_leaves_the_reason_out_is_known():
    response = chunkfold.fold(json.dumps({key: WHOLE[key] for key in WHOLE if key != "stop_reason"}).encode())
    assert (response.dialect, response.text, response.finish_reason) == ("anthropic-messages", "Hallo", None)


BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
REST = {**PIECE, "delta": {"type": "text_delta", "text": "lo"}}
STOP = {"type": "message_stop"}


def test_a_message_whose_start_comes_again_and_again_goes_on():
    """As with Kimi K2.5, between deltas, and with proxies that state the usage in one more start at the end."""
    usage = {"input_tokens": 3, "cache_read_input_tokens": 6}
    last = {**START, "message": {**START["message"], "usage": usage}}
    response = folded(START, BLOCK, PIECE, START, START, REST, last, STOP)
    assert (response.text, response.id, response.ended) == ("Hallo", "m", "clean")
    assert response.usage.raw["cache_read_input_tokens"] == 6
    response = folded(START, BLOCK, PIECE, START, REST, CALL, START, STOP)
    assert (response.text, [call.name for call in response.tool_calls]) == ("Hallo", ["f"])


def test_a_message_that_is_told_again_from_its_start_is_not_doubled():
    response = folded(START, BLOCK, PIECE, START, BLOCK, PIECE, REST, STOP)
    assert (response.text, response.id, response.ended, len(response.parts)) == ("Hallo", "m", "clean", 1)
    assert response.message.role == "assistant"
    response = folded(START, BLOCK, PIECE, STOP, START, BLOCK, PIECE, REST, STOP)
    assert (response.text, response.id, len(response.parts)) == ("Hallo", "m", 1)


def other_start(content):
    return {**START, "message": {**START["message"], "id": "n", "content": content}}


def test_the_start_of_another_message_voids_what_came():
    for message in ({**START["message"], "id": "n"}, {}):
        response = folded(START, BLOCK, PIECE, {**START, "message": message}, REST, STOP)
        assert (response.text, response.id) == ("lo", message.get("id"))


def test_a_start_that_came_twice_voids_nothing_of_another_message():
    """The second attempt goes on from a text that its start holds."""
    text = {"type": "text", "text": "Hal"}
    response = folded(START, BLOCK, PIECE, START, other_start([text]), BLOCK, REST, STOP)
    assert (response.text, response.id) == ("Hallo", "n")


def test_a_text_that_the_start_holds_as_requests_do_goes_on():
    response = folded(other_start("Hal"), REST, STOP)
    assert (response.text, len(response.parts)) == ("Hallo", 1)
    assert response.to_native()["content"] == "Hallo"


@pytest.mark.parametrize("ends", [True, False])
def test_a_compaction_in_pieces_is_one_and_null_erases_nothing_of_it(ends):
    """Documented as one piece; Anthropic's SDK for TypeScript joins several, the one for Python keeps the last."""
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}}
    deltas = [{"content": "So"}, {"content": " far", "encrypted_content": "E"}]
    deltas += [{"content": ".", "encrypted_content": None}, {"content": None, "encrypted_content": "F"}]
    pieces = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", **delta}} for delta in deltas
    ]
    stop = [{"type": "content_block_stop", "index": 0}, CALL, {"type": "message_stop"}] if ends else []
    response = folded(START, start, *pieces, *stop)
    whole = {"type": "compaction", "content": "So far.", "encrypted_content": "F"}
    assert response.parts[0].payload == response.to_native()["content"][0] == whole


def of_block(index, kind, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


@pytest.mark.parametrize("signed_by", ["compaction_delta", "signature_delta"])
def test_a_compaction_is_sent_back_with_its_signature_and_the_tools_that_have_changed(signed_by):
    """The reference wants the block back unchanged: no change of a tool is an empty list, one not computed is none."""
    start = {"type": "compaction", "content": None, "encrypted_content": None}
    response = folded(
        START,
        {"type": "content_block_start", "index": 0, "content_block": start},
        of_block(0, "compaction_delta", content="So far.", encrypted_content=None, tool_changes=[]),
        of_block(0, signed_by, signature="S"),
        stopped(0),
        {"type": "message_stop"},
    )
    whole = {**start, "content": "So far.", "signature": "S", "tool_changes": []}
    assert response.to_native()["content"] == response.message.to_request("anthropic-messages")["content"] == [whole]


def test_a_signature_is_of_the_block_that_it_comes_for():
    """Also one of a model that signs what it calls and says: the block goes on behind it."""
    response = folded(
        START,
        BLOCK,
        PIECE,
        of_block(0, "signature_delta", signature="S"),
        of_block(0, "text_delta", text="lo"),
        stopped(0),
        CALL,
        of_block(1, "signature_delta", signature="T"),
        argument(1, '{"x":1}'),
        {"type": "message_stop"},
    )
    assert response.to_native()["content"] == [
        {"type": "text", "text": "Hallo", "signature": "S"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}, "signature": "T"},
    ]
    assert response.diagnostics == ()


def argument(index, text):
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def stopped(index):
    return {"type": "content_block_stop", "index": index}


def test_arguments_of_a_call_whose_start_never_came_break_no_call_that_is_over():
    """LiteLLM begins no block any more once the reason was told, and goes on with its pieces."""
    lost = [argument(2, '{"y"'), argument(2, ":2}"), stopped(2)]
    response = folded(START, CALL, argument(1, '{"x":1}'), stopped(1), *lost, {"type": "message_stop"})
    calls = [(call.name, call.status, call.raw_arguments) for call in response.tool_calls]
    assert calls == [("f", "complete", '{"x":1}'), (None, "complete", '{"y":2}')]
    assert [diagnostic.kind for diagnostic in response.diagnostics] == ["orphan_delta"]


def test_argument_text_that_is_late_is_of_its_own_call():
    """agentgateway has stopped a call where the model said nothing for a moment."""
    response = folded(START, CALL, argument(1, '{"x"'), stopped(1), argument(1, ":1}"), {"type": "message_stop"})
    assert [(call.status, call.raw_arguments) for call in response.tool_calls] == [("complete", '{"x":1}')]


def test_what_the_helper_of_the_sdk_derives_from_its_events_says_nothing_new():
    """As logs hold the events of `messages.stream()` that were dumped one by one."""
    text = {"type": "text_delta", "text": "Hal"}
    events = [
        START,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "thinking", "thinking": "Hm.", "snapshot": "Hm."},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "S"}},
        {"type": "signature", "signature": "S"},
        {"type": "content_block_stop", "index": 0, "content_block": {"type": "thinking", "thinking": "Hm."}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "", "citations": None}},
        {"type": "content_block_delta", "index": 1, "delta": text},
        {"type": "text", "text": "Hal", "snapshot": "Hal"},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {"url": "u"}}},
        {"type": "citation", "citation": {"url": "u"}, "snapshot": [{"url": "u"}]},
        {"type": "content_block_stop", "index": 1, "content_block": {"type": "text", "text": "Hal"}},
        {**CALL, "index": 2},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "input_json", "partial_json": "{}", "snapshot": {}},
        {"type": "content_block_stop", "index": 2, "content_block": {**CALL["content_block"], "input": {}}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop", "message": {**WHOLE, "stop_reason": "tool_use"}},
    ]
    derived = ("text", "thinking", "citation", "signature", "input_json")
    response = folded(*events)
    assert response == folded(*(event for event in events if event["type"] not in derived))
    assert [part.kind for part in response.parts] == ["reasoning", "text", "tool_call"]


@pytest.mark.parametrize("ends", [True, False])
def test_what_a_text_cites_twice_is_in_the_body_twice(ends):
    """Annotations have no repeats, but a message that was not streamed lists all that the model cited."""
    one, other = {"url": "u", "cited_text": "x"}, {"url": "v", "cited_text": "y"}
    response = folded(
        START,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": [one]}},
        of_block(0, "citations_delta", citation=other),
        of_block(0, "text_delta", text="Hallo"),
        of_block(0, "citations_delta", citation=one),
        *([stopped(0), {"type": "message_stop"}] if ends else []),
    )
    assert response.parts[0].annotations == (one, other)
    assert response.to_native()["content"] == [{"type": "text", "text": "Hallo", "citations": [one, other, one]}]
