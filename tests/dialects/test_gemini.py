"""What proto encoders and proxies make of Gemini's chunks."""

from __future__ import annotations

import pytest

from tests.laws import assert_laws
from tests.streams import sse


def folded(*payloads):
    body = b"".join(map(sse, payloads))
    return assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])


def chunk(text, **more):
    return {"candidates": [{"content": {"parts": [{"text": text}]}, **more}]}


def test_counts_that_are_written_as_text_are_a_usage():
    """Protocol buffers write numbers of 64 bits as text, and all of them may be such."""
    counts = {"promptTokenCount": "10", "candidatesTokenCount": "5", "totalTokenCount": "15"}
    usage = folded(chunk("a"), {**chunk("b", finishReason="STOP"), "usageMetadata": counts}).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 5, 15)


@pytest.mark.parametrize(
    "feedback",
    [{"blockReason": "BLOCK_REASON_UNSPECIFIED"}, {"blockReason": "BLOCKED_REASON_UNSPECIFIED"}, {"blockReason": 0}],
)
def test_a_block_reason_that_is_not_specified_blocks_nothing(feedback):
    """The zero of the enumeration, as encoders write it that leave no default out."""
    response = folded({**chunk("a"), "promptFeedback": feedback}, chunk("b", finishReason="STOP"))
    assert (response.text, response.finish_reason, response.native_finish_reason) == ("ab", "stop", "STOP")
    assert response.to_native()["promptFeedback"] == feedback
    cut = folded({**chunk("a"), "promptFeedback": feedback})
    assert (cut.finish_reason, cut.truncated) == (None, True)


def test_a_finish_reason_that_is_not_specified_takes_back_none():
    unspecified = {"finishReason": "FINISH_REASON_UNSPECIFIED"}
    response = folded(chunk("a", **unspecified), chunk("b", finishReason="MAX_TOKENS"), chunk("", **unspecified))
    assert (response.text, response.finish_reason, response.native_finish_reason) == ("ab", "length", "MAX_TOKENS")
    alone = folded(chunk("a", **unspecified))
    assert (alone.finish_reason, alone.native_finish_reason) == ("unknown", "FINISH_REASON_UNSPECIFIED")
