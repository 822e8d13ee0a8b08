"""Where OpenAI's imitators have the counts of a usage object."""

from __future__ import annotations

import pytest

from chunkfold import Usage
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
        {"prompt_tokens": 12, "precached_prompt_tokens": 8},
        {"prompt_token_details": {"cached_tokens": 8, "audio_tokens": 1}},
        {"num_cached_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
        {"prompt_tokens_details": {"cached_tokens": 0}, "cache_read_input_tokens": 8},
    ],
)
def test_tokens_from_a_cache_are_found_under_each_of_their_names(fields):
    usage = chat_usage({**COUNTS, **fields})
    assert (usage.input_tokens, usage.cached_input_tokens) == (20, 8)
    assert usage.raw == {**COUNTS, **fields}


@pytest.mark.parametrize("details", ["prompt_tokens_details", "input_tokens_details"])
def test_tokens_written_to_a_cache_are_found_under_the_name_of_new_api(details):
    usage = chat_usage({**COUNTS, details: {"cached_tokens": 8, "cached_creation_tokens": 4}})
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_input_tokens) == (20, 8, 4)


def test_a_name_that_is_filled_with_zero_hides_no_count():
    """LiteLLM and SGLang have two names for one number, and know only one of them."""
    usage = chat_usage({**COUNTS, "completion_tokens_details": {"reasoning_tokens": 0}, "reasoning_tokens": 1})
    assert (usage.output_tokens, usage.reasoning_tokens) == (2, 1)
    assert chat_usage({"prompt_tokens": 0, "input_tokens": 20}).input_tokens == 20
    assert chat_usage({"prompt_tokens": 0, "input_tokens": 0}).input_tokens == 0


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        # xAI
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135, "reasoning_tokens": 94}, 103),
        # Perplexity's deep research, whose total leaves reasoning out, too
        (
            {
                "prompt_tokens": 33,
                "completion_tokens": 11395,
                "total_tokens": 11428,
                "citation_tokens": 52160,
                "num_search_queries": 21,
                "reasoning_tokens": 193947,
            },
            205342,
        ),
        # OpenRouter, which bills 899
        ({"prompt_tokens": 23, "completion_tokens": 899, "total_tokens": 922, "reasoning_tokens": 972}, 899),
        # OpenAI
        ({"prompt_tokens": 75, "completion_tokens": 1186, "total_tokens": 1261, "reasoning_tokens": 1024}, 1186),
        ({"prompt_tokens": 75, "completion_tokens": 1024, "total_tokens": 1099, "reasoning_tokens": 1024}, 1024),
    ],
)
def test_output_has_the_reasoning_in_it_where_the_server_has_it_beside(raw, output):
    usage = chat_usage(raw)
    assert usage.output_tokens == output
    assert usage.total_tokens == raw.get("total_tokens", output)


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        # Portkey, which tells Anthropic's counts under OpenAI's names
        (
            {
                "completion_tokens": 7,
                "prompt_tokens": 9,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 200,
                "total_tokens": 1216,
                "prompt_tokens_details": {"cached_tokens": 1000},
            },
            1209,
        ),
        ({"completion_tokens": 7, "prompt_tokens": 9, "cache_creation_input_tokens": 200, "total_tokens": 216}, 209),
        # GigaChat, as its manual shows it: the total is what is paid for
        ({"prompt_tokens": 1, "completion_tokens": 4, "precached_prompt_tokens": 37, "total_tokens": 5}, 38),
        ({**COUNTS, "precached_prompt_tokens": 0}, 20),
        # Groq, Qwen
        ({**COUNTS, "prompt_tokens_details": {"cached_tokens": 8}}, 20),
        ({**COUNTS, "prompt_tokens_details": {"cached_tokens": 8, "cache_creation_input_tokens": 4}}, 20),
    ],
)
def test_input_has_the_cached_tokens_in_it_where_the_server_has_them_beside(raw, read):
    usage = chat_usage(raw)
    assert (usage.input_tokens, usage.total_tokens) == (read, raw["total_tokens"])


def test_servers_that_do_not_count_say_so_with_a_negative_number():
    usage = chat_usage({"prompt_tokens": -1, "completion_tokens": -1, "total_tokens": -1})
    assert usage == Usage(raw=usage.raw)
