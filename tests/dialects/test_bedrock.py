"""Bedrock's events as boto3 hands them out: mappings, with bytes where the wire has base64."""

import base64
import json

import pytest

import chunkfold
from chunkfold import Folder, Limits
from chunkfold.errors import LimitExceeded
from tests.framing.framing_helpers import aws_event, aws_message
from tests.helpers import body_of, case_files, cut, fold_pieces, load_case


def fold_payloads(payloads, dialect="auto", **options):
    folder = Folder(dialect, **options)
    for payload in payloads:
        folder.feed(payload)
    return folder.close()


def chunk(inner):
    return {"chunk": {"bytes": json.dumps(inner).encode()}}


def test_converse_blobs_come_as_bytes():
    response = fold_payloads(
        [
            {"messageStart": {"role": "assistant"}},
            {
                "contentBlockDelta": {
                    "contentBlockIndex": 0,
                    "delta": {"reasoningContent": {"redactedContent": b"veil"}},
                }
            },
            {"contentBlockStart": {"contentBlockIndex": 1, "start": {"image": {"format": "webp"}}}},
            {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"image": {"source": {"bytes": b"RIFF"}}}}},
            {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"image": {"source": {"bytes": b"WEBP"}}}}},
            {"messageStop": {"stopReason": "end_turn"}},
        ]
    )
    thought, image = response.parts
    assert (thought.redacted, thought.encrypted) == (True, base64.b64encode(b"veil").decode())
    assert (image.media_type, image.data) == ("image/webp", b"RIFFWEBP")
    assert (response.dialect, response.ended, response.finish_reason) == ("bedrock-converse", "clean", "stop")


def test_an_event_with_several_members_that_nobody_knows_is_carried_once():
    """It was once for each of them, whole each time."""
    delta = {"contentBlockIndex": 0, "delta": {"odd": 1, "text": "a", "even": 2}}
    response = fold_payloads([{"messageStart": {"role": "assistant"}}, {"contentBlockDelta": delta}])
    assert response.text == "a"
    assert [(part.name, part.payload) for part in response.parts if part.kind == "unknown"] == [("delta.odd", delta)]


def test_invoke_chunks_come_as_bytes():
    response = fold_payloads(
        [chunk({"generation": "Hi", "prompt_token_count": 1}), chunk({"generation": "!", "stop_reason": "stop"})]
    )
    assert (response.text, response.dialect, response.ended) == ("Hi!", "bedrock-invoke", "clean")


@pytest.mark.parametrize("dialect", ["bedrock-invoke", "auto"])
def test_pieces_of_mistrals_chat_may_come_without_their_envelopes(dialect):
    """As boto3's users read them. Only the last one was left, which was taken for the whole."""
    pieces = [
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "stop_reason": reason}]}
        for text, reason in (("Mo", None), ("ment.", None), ("", "length"))
    ]
    response = fold_payloads(pieces, dialect)
    assert (response.text, response.finish_reason, response.ended) == ("Moment.", "length", "clean")
    assert response == fold_payloads([chunk(piece) for piece in pieces])
    whole = {"choices": [{**pieces[0]["choices"][0], "stop_reason": "stop"}]}
    response = chunkfold.fold(json.dumps(whole).encode(), dialect)
    assert (response.text, response.finish_reason) == ("Mo", "stop")
    assert response.to_native() == whole


@pytest.mark.parametrize("dialect", ["bedrock-converse", "bedrock-invoke", "auto"])
def test_an_exception_handed_out_as_an_event_is_an_error(dialect):
    response = fold_payloads([{"throttlingException": {"message": "Slow down"}}], dialect)
    error = response.error
    assert (error.type, error.message, error.status, error.retryable) == ("throttlingException", "Slow down", 429, True)
    assert response.finish_reason == "error"
    assert not response.parts


def test_an_exception_in_plain_text_keeps_its_name_in_the_body():
    text = aws_event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"So"}}')
    told = {":exception-type": "throttlingException", ":content-type": "text/plain", ":message-type": "exception"}
    body = chunkfold.fold(text + aws_message(told, b"Slow down")).to_native()
    assert body["throttlingException"] == {"message": "Slow down"}
    again = chunkfold.Response.from_native(body, "bedrock-converse").error
    assert (again.type, again.message, again.retryable) == ("throttlingException", "Slow down", True)


def test_json_in_an_envelope_is_as_deep_as_any_other():
    deep = {"generation": json.loads("[" * 40 + "]" * 40)}
    with pytest.raises(LimitExceeded) as caught:
        fold_payloads([chunk({"generation": "Kept"}), chunk(deep)], "bedrock-invoke", limits=Limits(json_depth=20))
    assert (caught.value.limit, caught.value.allowed) == ("json_depth", 20)


@pytest.mark.parametrize("depth", [None, 1_000_000])
def test_json_in_an_envelope_that_nests_deeper_than_can_be_read_is_carried(depth):
    deep = b'{"generation":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    payloads = [
        chunk({"generation": "Kept"}),
        {"chunk": {"bytes": deep}},
        chunk({"generation": ".", "stop_reason": "stop"}),
    ]
    response = fold_payloads(payloads, "bedrock-invoke", limits=Limits(json_depth=depth))
    assert (response.text, response.finish_reason) == ("Kept.", "stop")
    assert [note.kind for note in response.diagnostics] == ["frame_not_json"]
    assert response.parts[-1].payload == deep.decode()


BINARY = [path for path in case_files("bedrock-*") if load_case(path).get("inner_framing") == "aws-eventstream"]


@pytest.mark.parametrize("path", BINARY, ids=lambda path: path.stem)
def test_every_damaged_byte_is_told_and_costs_nothing_before_it(path):
    """Whatever bit of a binary stream is turned, no text comes out that the server did not send."""
    body = body_of(load_case(path))
    whole = fold_pieces([body])
    for at in range(0, len(body), 29):
        damaged = body[:at] + bytes([body[at] ^ 0x10]) + body[at + 1 :]
        for pieces in ([damaged], cut(damaged, {"every": 50})):
            response = fold_pieces(pieces, path.parent.name)
            assert whole.text.startswith(response.text.rstrip("\ufffd"))
            told = response.error is not None and response.error.origin == "decoder"
            cut_off = response.truncated or "frame_cut" in [item.kind for item in response.diagnostics]
            assert told or cut_off or response.error == whole.error


def test_usage_in_the_stop_is_usage_and_that_of_the_metadata_stands():
    """Gateways that have it before the metadata, or send none."""
    start, stop = {"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 4}}}  # fmt: skip
    assert fold_payloads([start, stop]).usage.total_tokens == 7
    later = {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 6, "totalTokens": 11}}}
    assert fold_payloads([start, stop, later]).usage.total_tokens == 11


def converse(*deltas, start=None):
    """The response to a block of these deltas."""
    started = [{"contentBlockStart": {"contentBlockIndex": 0, "start": start}}] if start else []
    pieces = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}} for delta in deltas]
    stop = {"contentBlockStop": {"contentBlockIndex": 0}}
    return fold_payloads([*started, *pieces, stop, {"messageStop": {"stopReason": "tool_use"}}])


@pytest.mark.parametrize("pieces", [[b"\x00v", b"ei", b"l"], ["AHY=", "ZWk=", "bA=="]])
def test_what_is_withheld_in_pieces_is_one_blob(pieces):
    response = converse(*[{"reasoningContent": {"redactedContent": piece}} for piece in pieces])
    assert (response.parts[0].redacted, response.parts[0].encrypted) == (True, "AHZlaWw=")
    assert response.to_native()["output"]["message"]["content"] == [
        {"reasoningContent": {"redactedContent": "AHZlaWw="}}
    ]


def test_what_is_withheld_and_no_base64_stays_as_it_is():
    response = converse(*[{"reasoningContent": {"redactedContent": piece}} for piece in ("veil:", b"ed")])
    assert response.parts[0].encrypted == "veil:ZWQ="


def test_what_is_withheld_is_whole_where_its_block_was_not_stopped():
    folder = Folder()
    for piece in (b"ve", b"il"):
        delta = {"reasoningContent": {"redactedContent": piece}}
        folder.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}})
    assert folder.close().parts[0].encrypted == base64.b64encode(b"veil").decode()


def test_what_a_text_cites_twice_is_in_the_body_twice():
    """Annotations have no repeats, but Converse lists all that the model cited."""
    one, other = ({"title": title, "location": {"web": {"url": "u"}}} for title in ("a", "b"))
    response = converse({"text": "Low"}, {"citation": one}, {"citation": other}, {"text": " tide"}, {"citation": one})
    assert response.parts[0].annotations == (one, other)
    assert response.to_native()["output"]["message"]["content"] == [
        {"citationsContent": {"content": [{"text": "Low tide"}], "citations": [one, other, one]}}
    ]


def test_a_delta_of_a_call_may_say_more_than_its_input():
    start = {"toolUse": {"toolUseId": "t", "name": "f", "a": 1}}
    response = converse({"toolUse": {"input": "{", "b": 2}}, {"toolUse": {"input": "}", "b": 3}}, start=start)
    call = response.tool_calls[0]
    assert (call.id, call.raw_arguments, call.extra) == ("t", "{}", {"toolUse": {"a": 1, "b": 3}})


def test_a_call_that_is_stated_in_its_deltas_alone_is_one():
    response = converse({"toolUse": {"toolUseId": "t", "name": "f", "input": "{"}}, {"toolUse": {"input": "}"}})
    assert [(call.id, call.name, call.status) for call in response.tool_calls] == [("t", "f", "complete")]
    assert not response.diagnostics


def test_noise_before_the_first_event_is_kept_to_the_byte():
    body = aws_event("chunk", b"no json") + aws_event("chunk", b'{"bytes":""}')[:-4]
    response = fold_pieces([body], "auto")
    assert response == fold_pieces([body[at : at + 1] for at in range(len(body))], "auto")
    assert response.parts[0].payload == body.decode(errors="replace")


SAGEMAKER = b'data: {"token":{"id":1,"text":"Hi"}}\n\ndata: {"token":{"id":2,"text":"!"},"generated_text":"Hi!"}\n\n'


def pieces_of(body):
    return [{"PayloadPart": {"Bytes": body[at : at + 11]}} for at in range(0, len(body), 11)]


def test_pieces_of_a_body_that_boto3_hands_out_for_sagemaker_are_that_body():
    response = fold_payloads(pieces_of(SAGEMAKER))
    assert (response.text, response.dialect, response.ended) == ("Hi!", "tgi", "clean")
    assert response == chunkfold.fold(SAGEMAKER) == chunkfold.fold(iter(pieces_of(SAGEMAKER)))


@pytest.mark.parametrize("name", ["ModelStreamError", "InternalStreamFailure"])
def test_an_error_amid_pieces_of_a_body_is_an_error(name):
    error = {name: {"Message": "broken", "ErrorCode": "StreamBroken"}}
    for payloads in ([*pieces_of(SAGEMAKER[:50]), error], [error, *pieces_of(SAGEMAKER)]):
        response = fold_payloads(payloads)
        assert (response.error.type, response.error.code, response.error.retryable) == (name, "StreamBroken", True)
    assert fold_payloads([*pieces_of(SAGEMAKER[:50]), error]).text == "Hi"


@pytest.mark.parametrize("part", [None, "x", {}, {"Bytes": None}, {"Bytes": "x"}])
def test_a_piece_of_another_shape_is_a_payload_like_any(part):
    assert fold_payloads([{"PayloadPart": part}]).error.type == "unrecognised"


def test_argument_text_behind_the_stop_of_its_block_is_of_that_call():
    """Gateways stop a block early and go on with it, also when other blocks have come."""
    call, piece = {"toolUse": {"toolUseId": "t", "name": "f"}}, {"toolUse": {"input": '{"x"'}}
    late = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": ":1}"}}}}
    events = [
        {"contentBlockStart": {"contentBlockIndex": 0, "start": call}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": piece}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "Hm."}}},
        late,
        {"messageStop": {"stopReason": "tool_use"}},
    ]
    response = fold_payloads(events)
    assert [(call.status, call.raw_arguments) for call in response.tool_calls] == [("complete", '{"x":1}')]
    assert [diagnostic.kind for diagnostic in response.diagnostics] == ["late_delta"]


METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": 2}}


def frame(inner):
    return aws_event("chunk", json.dumps({"bytes": base64.b64encode(json.dumps(inner).encode()).decode()}).encode())


@pytest.mark.parametrize("write", [chunk, frame])
def test_pegasus_has_its_text_in_message(write):
    """TwelveLabs' model, whose pieces look like the sentences of errors."""
    told = [{"message": "A cat "}, {"message": "sleeps."}, {"message": "", "finishReason": "stop", **METRICS}]
    source = [write(inner) for inner in told]
    response = chunkfold.fold(source if isinstance(source[0], dict) else b"".join(source))
    assert (response.text, response.finish_reason, response.error) == ("A cat sleeps.", "stop", None)
    assert (response.usage.input_tokens, response.usage.output_tokens, response.ended) == (3, 2, "clean")
    assert response.to_native() == {"message": "A cat sleeps.", "finishReason": "stop", **METRICS}


def test_the_whole_answer_of_pegasus_is_no_error():
    body = {"message": "A cat sleeps.", "finishReason": "length"}
    response = chunkfold.fold(json.dumps(body).encode())
    assert (response.dialect, response.text, response.finish_reason) == ("bedrock-invoke", "A cat sleeps.", "length")
    assert response.to_native() == body


@pytest.mark.parametrize("body", [{"message": "Too many requests"}, {"message": "Gone", "code": 404}])
def test_a_sentence_alone_is_an_error_of_bedrock(body):
    response = chunkfold.fold(json.dumps(body).encode(), "bedrock-invoke")
    assert (response.text, response.error.message) == ("", body["message"])
