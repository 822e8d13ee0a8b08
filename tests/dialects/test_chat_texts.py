"""
Texts in other forms than OpenAI's. Pieces are numbers in the JSON, as Cloudflare's Workers AI sends digits that are a token
of their own, and the words `true` and `false`: an answer without them says something else. SenseNova has the text where
others have an object around it.
"""

from __future__ import annotations

import pytest

import chunkfold
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse

PIECES = [0, " costs $", 0.005, " [", 1, 2, "], not $", 1e-7, " or ", True, 7, 7, "."]
TEXT = "0 costs $0.005 [12], not $1e-07 or true77."


def chunk(number, **choice):
    # The counts vary in every chunk.
    usage = {"prompt_tokens": 0, "completion_tokens": number, "total_tokens": number, "neurons": 0.2 * number}
    return {
        "id": "id-1",
        "object": "chat.completion.chunk",
        "created": 7,
        "model": "m",
        "usage": usage,
        "choices": [choice],
    }


def frames(*choices):
    return [sse(chunk(number, index=0, **choice)) for number, choice in enumerate(choices)]


END = {"delta": {}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("names", "field"),
    [(["content"], "text"), (["reasoning_content"], "reasoning"), (["reasoning", "reasoning_content"], "reasoning")],
)
def test_a_number_in_the_place_of_a_text_is_its_digits(names, field):
    pieces = frames(*({"delta": dict.fromkeys(names, piece)} for piece in PIECES), END)
    response = assert_laws(b"".join(pieces), pieces)
    assert (getattr(response, field), [part.kind for part in response.parts]) == (TEXT, [field])
    message = response.to_native()["choices"][0]["message"]
    assert [message[name] for name in names] == [TEXT] * len(names)


def test_a_number_in_the_place_of_arguments_is_a_piece_of_them():
    made = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": '{"n":'}}
    said = [made, *({"index": 0, "function": {"arguments": piece}} for piece in (1, 2, "}"))]
    pieces = frames(*({"delta": {"tool_calls": [call]}} for call in said), END)
    response = assert_laws(b"".join(pieces), pieces)
    assert response.tool_calls[0].arguments == {"n": 12}
    (call,) = response.to_native()["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "f", "arguments": '{"n":12}'}


def test_a_number_in_the_place_of_a_completion_is_its_digits():
    body = b"".join(
        sse({"id": "i", "object": "text_completion", "choices": [{"index": 0, "text": piece, "finish_reason": reason}]})
        for piece, reason in (("[", None), (1, None), (0, None), ("]", "stop"))
    )
    assert assert_laws(body, [body]).text == "[10]"


def test_a_delta_that_is_a_text_is_more_of_the_answer():
    said = [{"role": "assistant", "delta": "He"}, {"delta": "llo"}, {"delta": "", "finish_reason": "stop"}]
    pieces = [sse({"data": {"id": "x", "choices": [{"index": 0, **choice}]}, "status": {"code": 0}}) for choice in said]
    response = assert_laws(b"".join(pieces), pieces)
    assert (response.text, response.finish_reason) == ("Hello", "stop")


def test_a_message_that_is_a_text_is_the_answer():
    body = {"id": "x", "choices": [{"index": 0, "message": "Hello", "finish_reason": "stop"}]}
    assert (chunkfold.fold([body]).text, chunkfold.fold([*frames({"delta": {"content": "Hel"}}), sse(body)]).text) == (
        "Hello",
    ) * 2


def test_lists_of_tokens_are_those_of_all_pieces():
    """vLLM and Fireworks tell the numbers of the tokens if asked to, Cerebras the probabilities of its reasoning."""
    said = [("It", [7, 7]), (" is.", [7]), ("", [])]
    frames = [
        sse({"object": "chat.completion.chunk", "prompt_token_ids": [1, 2] if text == "It" else None, "choices": [{
            "index": 0, "delta": {"content": text}, "finish_reason": None if text else "stop", "token_ids": ids,
            "reasoning_logprobs": {"content": [{"token": str(token)} for token in ids], "refusal": None},
        }]})
        for text, ids in said
    ]  # fmt: skip
    response = assert_laws(b"".join(frames), frames)
    assert_templates_change_nothing(frames)
    body = response.to_native()
    assert body["prompt_token_ids"] == [1, 2]
    assert body["choices"][0]["token_ids"] == [7, 7, 7]
    assert body["choices"][0]["reasoning_logprobs"] == {"content": [{"token": "7"}] * 3, "refusal": None}
    assert chunkfold.Response.from_native(body).to_native() == body
