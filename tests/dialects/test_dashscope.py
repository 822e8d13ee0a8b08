"""What applications at DashScope say of the models that they ask."""

from __future__ import annotations

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
