"""The same answer streamed and not streamed by a real server: both fold to the same message."""

from __future__ import annotations

import json

import pytest

import chunkfold
from chunkfold import dialects
from tests.helpers import DATA, cut, fold_pieces
from tests.laws import assert_laws

PAIRS = sorted(path.parent for path in DATA.glob("pairs/*/*/whole.json") if path.parent.parent.name in dialects.names())
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.parent.name}/{pair.name}")


def calls_of(response):
    """Calls without their ids, which the server draws anew."""
    return [(call.name, call.arguments_or(None), call.type) for call in response.tool_calls]


def counts_of(usage):
    """Token counts without those of the cache, which depend on what was asked before."""
    return usage and (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.reasoning_tokens or 0)


def test_there_are_pairs_of_the_dialects_of_that_server():
    assert {pair.parent.name for pair in PAIRS} >= {"openai-chat", "anthropic-messages"} & set(dialects.names())
    assert len(PAIRS) >= 24


@every_pair
def test_what_was_streamed_is_what_was_not(pair):
    streamed = chunkfold.fold(pair / "stream.sse")
    whole = chunkfold.fold(pair / "whole.json")
    assert streamed.dialect == whole.dialect == pair.parent.name
    for field in (
        "text",
        "reasoning",
        "refusal",
        "finish_reason",
        "native_finish_reason",
        "model",
        "truncated",
        "error",
    ):
        assert getattr(streamed, field) == getattr(whole, field), field
    cut_call = [call.status for call in streamed.tool_calls if not call.is_usable]
    if not cut_call:
        assert calls_of(streamed) == calls_of(whole)
    assert [call.name for call in streamed.tool_calls] == [call.name for call in whole.tool_calls]
    assert counts_of(streamed.usage) == counts_of(whole.usage)
    assert whole.ended == "clean"
    assert not whole.truncated
    assert [part.kind for part in streamed.parts] == [part.kind for part in whole.parts]


@every_pair
def test_a_pair_obeys_the_laws(pair):
    body = (pair / "stream.sse").read_bytes()
    assert_laws(body, cut(body, {"every": 37}))
    body = (pair / "whole.json").read_bytes()
    assert_laws(body, cut(body, {"every": 37}), pair.parent.name)


@every_pair
def test_the_whole_body_folds_as_bytes_and_as_a_mapping(pair):
    body = (pair / "whole.json").read_bytes()
    by_bytes, by_mapping = fold_pieces([body]), chunkfold.fold(json.loads(body))
    assert (by_bytes.text, by_bytes.reasoning, by_bytes.finish_reason) == (by_mapping.text, by_mapping.reasoning, by_mapping.finish_reason)  # fmt: skip
    assert calls_of(by_bytes) == calls_of(by_mapping)


# Read by hand, without the library: what the server's own whole body says.


def text_of_whole(name, body):
    if name == "openai-chat":
        return body["choices"][0]["message"]["content"] or ""
    if name == "openai-completions":
        return body["choices"][0]["text"]
    if name == "anthropic-messages":
        return "".join(block["text"] for block in body["content"] if block["type"] == "text")
    items = [item for item in body["output"] if item["type"] == "message"]
    return "".join(piece["text"] for item in items for piece in item["content"] if piece["type"] == "output_text")


@every_pair
def test_the_text_is_the_server_s_own(pair):
    whole = json.loads((pair / "whole.json").read_bytes())
    assert chunkfold.fold(pair / "stream.sse").text == text_of_whole(pair.parent.name, whole)
