"""The counts of usage: found as well where the keys of an object were met before, and none made up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chunkfold
from chunkfold.dialects._usage import Counts, count

NAMES = (("a", "a_a"), ("b", "b_b"), ("c",), ("o.a", "p.a", "d"), ("o.b",))

counts = Counts(*NAMES)

values = st.sampled_from([None, 0, 7, -1, 1 << 70, True, 1.0, 2.5, float("inf"), float("nan"), "3", {"a": 1}, [1]])

inner = st.dictionaries(st.sampled_from(["a", "b", "x"]), values)


@given(st.dictionaries(st.sampled_from(["a", "a_a", "b", "b_b", "c", "d", "a.b", "o", "p"]), values | inner))
def test_counts_are_what_count_finds(raw):
    found, known = counts(raw), [count(raw, *same) for same in NAMES]
    assert found == known
    assert list(map(type, found)) == list(map(type, known))


# Bodies whose usage has one of both counts and no total.
HALF_COUNTED = {
    "openai-chat": {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}],
        "usage": {"completion_tokens": 5},
    },
    "anthropic-messages": {"type": "message", "role": "assistant", "content": [], "usage": {"output_tokens": 5}},
    "gemini": {
        "candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"candidatesTokenCount": 2, "thoughtsTokenCount": 3},
    },
    "bedrock-converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "a"}]}},
        "stopReason": "end_turn",
        "usage": {"outputTokens": 5},
    },
    "ollama": {"model": "m", "message": {"role": "assistant", "content": "a"}, "done": True, "eval_count": 5},
}


@pytest.mark.parametrize(("dialect", "body"), HALF_COUNTED.items(), ids=HALF_COUNTED)
def test_there_is_no_total_where_one_of_both_counts_was_not_told(dialect, body):
    """A count that was not reported is not 0, and so is no summand."""
    usage = chunkfold.fold(json.dumps(body).encode(), dialect).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (None, 5, None)
