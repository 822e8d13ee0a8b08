"""Where OpenAI's imitators have the counts of a usage object."""

from __future__ import annotations

import pytest

from chunkfold.dialects._usage import chat_usage

COUNTS = {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22}


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_tokens_details": {"cached_tokens": 8}},
        {"prompt_tokens_details": None, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 12},
        {"cached_tokens": 8},
        {"cache_read_input_tokens": 8},
        {"num_cached_tokens": 8},
        {"prompt_token_details": {"cached_tokens": 8, "audio_tokens": 1}},
        {"num_cached_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
    ],
)
def test_tokens_from_a_cache_are_found_under_each_of_their_names(fields):
    usage = chat_usage({**COUNTS, **fields})
    assert (usage.input_tokens, usage.cached_input_tokens) == (20, 8)
    assert usage.raw == {**COUNTS, **fields}
