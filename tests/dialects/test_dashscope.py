"""What applications at DashScope say of the models that they ask, and models of their tokens."""

from __future__ import annotations

import pytest

from chunkfold import Usage
from tests.laws import assert_laws
from tests.streams import sse


def event(text, reason, *models):
    output = {"session_id": "s", "finish_reason": reason, "text": text}
    return sse({"output": output, "usage": {"models": list(models)}, "request_id": "r"}, "result")


def test_the_usage_of_an_application_is_that_of_its_models_together():
    asked = {"input_tokens": 809, "output_tokens": 49, "model_id": "qwen-max"}
    thought = {"input_tokens": 1464, "output_tokens": 8, "model_id": "deepseek-r1"}
    frames = [event("He", "null", {**asked, "output_tokens": 1}), event("Hello", "stop", asked, thought)]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.text, response.finish_reason) == ("dashscope", "Hello", "stop")
    assert response.usage == Usage(2273, 57, 2330, raw={"models": [asked, thought]})
    assert response.to_native()["usage"] == {"models": [asked, thought]}


def test_models_that_are_no_objects_count_nothing():
    frames = [event("Hi", "stop", None, "qwen-max", 7)]
    response = assert_laws(b"".join(frames), frames)
    assert response.usage == Usage(raw={"models": [None, "qwen-max", 7]})


def test_an_event_named_error_is_one_whatever_it_says():
    failed = sse({"request_id": "r", "usage": {"input_tokens": 3}, "message": "Internal error"}, "error")
    frames = [event("He", "null"), failed]
    response = assert_laws(b"".join(frames), frames)
    assert (response.text, response.error.message, response.finish_reason) == ("He", "Internal error", "error")


ENTRIES = [{"token": token, "logprob": 0.0, "bytes": None, "top_logprobs": []} for token in ("ha", "!", "ha", "ha")]


def said(text, entries, reason="null"):
    choice = {"finish_reason": reason, "message": {"role": "assistant", "content": text}, "logprobs": entries}
    return sse({"output": {"choices": [choice]}, "request_id": "r"}, "result")


PIECES, WHOLE = ("ha", "!", "ha", "ha", ""), ("ha", "ha!", "ha!ha", "ha!haha", "ha!haha")


@pytest.mark.parametrize(("texts", "is_whole"), [(PIECES, False), (WHOLE, False), (WHOLE, True)])
def test_the_logprobs_are_those_of_all_tokens(texts, is_whole):
    """Beside pieces those of new tokens, beside whole texts maybe those of all so far."""
    told = [ENTRIES[0 if is_whole else at : at + 1] for at in range(4)]
    frames = [said(text, {"content": entries}) for text, entries in zip(texts, told, strict=False)]
    frames.append(said(texts[4], None, "stop"))
    response = assert_laws(b"".join(frames), frames)
    assert response.text == "ha!haha"
    assert response.logprobs == tuple(ENTRIES)
    assert response.to_native()["output"]["choices"] == [
        {
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "ha!haha"},
            "logprobs": {"content": ENTRIES},
        }
    ]


@pytest.mark.parametrize("odd", [{}, {"content": []}, {"content": None, "refusal": []}, [1], {"tokens": ["ha"]}])
def test_logprobs_that_are_none_stand_where_they_came(odd):
    response = assert_laws(said("ha", odd, "stop"), [said("ha", odd, "stop")])
    assert response.logprobs == ()
    assert response.to_native()["output"]["choices"][0]["logprobs"] == odd
