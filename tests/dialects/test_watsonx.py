"""Where IBM puts its warnings beside what else a chunk says."""

from __future__ import annotations

import json

import pytest

from chunkfold import Decoder
from tests.laws import assert_laws
from tests.streams import sse

WARNED = {"system": {"warnings": [{"id": "model_status", "message": "deprecated"}]}}


def chunk(*choices, **fields):
    return sse({"id": "c", "model_id": "ibm/heron-8b", "created": 7, "choices": list(choices), **fields})


def choice(text, reason=None):
    return {"index": 0, "finish_reason": reason, "delta": {"content": text}}


@pytest.mark.parametrize("warned", [{}, WARNED, {"system": {"warnings": []}}])
def test_the_usage_counts_in_a_chunk_with_warnings_too(warned):
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}
    frames = [chunk(choice("Hi"), **warned), chunk(choice("", "stop"), **warned), chunk(usage=usage, **warned)]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.text, response.finish_reason) == ("watsonx", "Hi", "stop")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (4, 2)
    assert response.to_native()["usage"] == usage
    assert response.extra.get("system") == warned.get("system")


def test_an_error_that_says_nothing_is_none():
    frames = [chunk(choice("Hi"), error=[[]]), chunk(choice("", "stop"))]
    response = assert_laws(b"".join(frames), frames)
    assert (response.text, response.error, response.finish_reason) == ("Hi", None, "stop")


def test_warnings_of_several_chunks_are_all_kept_and_each_once():
    first, second = {"id": "model_status", "message": "deprecated"}, {"id": "limit", "message": "shortened"}
    frames = [
        chunk(choice("Hi"), system={"warnings": [first]}),
        chunk(choice(""), system={"warnings": [first]}),
        chunk(choice("", "stop"), system={"warnings": [second]}),
    ]
    response = assert_laws(b"".join(frames), frames)
    assert response.extra["system"] == {"warnings": [first, second]}
    assert response.to_native()["system"] == {"warnings": [first, second]}


def test_warnings_of_a_generation_are_all_kept():
    results = [{"generated_text": "a", "generated_token_count": 1, "stop_reason": "eos_token"}]
    frames = [
        sse({"model_id": "g", "system": {"warnings": [{"id": "a"}]}}),
        sse({"model_id": "g", "results": results, "system": {"warnings": [{"id": "b"}]}}),
    ]
    response = assert_laws(b"".join(frames), frames)
    assert response.to_native()["system"] == {"warnings": [{"id": "a"}, {"id": "b"}]}


def test_warnings_go_with_their_request_and_nothing_beside_them_voids_them():
    first, second = {"id": "model_status"}, {"id": "limit"}
    frames = [
        chunk(choice("Hi"), system={"warnings": [first, second], "node": "a"}),
        chunk(choice("", "stop"), system={"node": "b"}),
    ]
    response = assert_laws(b"".join(frames), frames)
    assert response.to_native()["system"] == {"warnings": [first, second], "node": "b"}
    message = {"index": 0, "message": {"role": "assistant", "content": "Ho"}, "finish_reason": "stop"}
    bodies = [
        {"id": id_, "model_id": "m", "choices": [message], "system": {"warnings": warnings}}
        for id_, warnings in (("c", [first, second]), ("d", [second]))
    ]
    lines = [json.dumps(body).encode() + b"\n" for body in bodies]
    response = assert_laws(b"".join(lines), lines)
    assert (response.text, response.to_native()) == ("Ho", bodies[1])


def test_ever_other_warnings_cost_no_more_than_they_are():
    payloads = [{"id": "c", "model_id": "m", "choices": [], "system": {"warnings": [{"id": n}]}} for n in range(300)]
    told = [event for event in Decoder("watsonx").feed(b"".join(map(sse, payloads))) if event.type == "extra"]
    assert [event.value for event in told if event.path[0] == "system"] == [{"id": n} for n in range(300)]


def test_the_tokens_of_a_generation_are_those_of_all_events():
    """Each event tells those of its own text; the tokens of the prompt come once."""
    read, said = (
        [{"text": "Tide?", "logprob": -2.0}],
        [{"text": text, "logprob": -0.5, "rank": 1} for text in ("Lo", "w")],
    )
    facts = {"generated_text": "", "stop_reason": "not_finished"}
    events = [
        {**facts, "input_tokens": read, "generated_tokens": []},
        {**facts, "generated_text": "Lo", "generated_tokens": said[:1]},
        {**facts, "generated_text": "w", "generated_tokens": said[1:]},
        {"generated_text": "", "stop_reason": "eos_token", "generated_tokens": None},
    ]
    frames = [sse({"model_id": "g", "results": [event]}) for event in events]
    response = assert_laws(b"".join(frames), frames)
    assert response.logprobs == tuple(said)
    assert response.to_native()["results"] == [
        {"generated_text": "Low", "stop_reason": "eos_token", "input_tokens": read, "generated_tokens": said}
    ]


@pytest.mark.parametrize("odd", [[], "Lo", {"text": "Lo"}])
def test_tokens_that_are_none_stand_where_they_came(odd):
    result = {"generated_text": "Low", "stop_reason": "eos_token", "generated_tokens": odd}
    frames = [sse({"model_id": "g", "results": [result]})]
    response = assert_laws(b"".join(frames), frames)
    assert response.to_native()["results"] == [result]
