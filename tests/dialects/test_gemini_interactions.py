"""Facts that stand beside the interaction instead of in it."""

from __future__ import annotations

from tests.laws import assert_laws
from tests.streams import sse


def test_usage_and_status_may_stand_in_the_closing_event_itself():
    counts = {"total_input_tokens": 5, "total_output_tokens": 4, "total_thought_tokens": 2, "total_tokens": 11}
    body = b"".join(
        map(
            sse,
            (
                {"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress"}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hi"}},
                {
                    "event_type": "interaction.completed",
                    "interaction_id": "v1",
                    "status": "incomplete",
                    "usage": counts,
                },
            ),
        )
    )
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (5, 6, 11)
    assert (response.finish_reason, response.native_finish_reason, response.ended) == ("length", "incomplete", "clean")
