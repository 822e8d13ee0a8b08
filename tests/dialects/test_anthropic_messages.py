"""Messages that servers state in more than one way."""

from __future__ import annotations

from tests.laws import assert_laws
from tests.streams import sse

START = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 9}}}  # fmt: skip
PIECE = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hal"}}
CALL = {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f"}}
WHOLE = {
    "id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hallo"}],
    "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 2},
}  # fmt: skip


def folded(*payloads):
    body = b"".join(map(sse, payloads))
    return assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])


def test_a_whole_message_behind_pieces_replaces_them():
    """A proxy whose stream broke asks again without streaming and passes that on."""
    for pieces in ([START, PIECE], [START, PIECE, CALL], [PIECE]):
        response = folded(*pieces, WHOLE)
        assert (response.text, response.tool_calls, len(response.parts)) == ("Hallo", (), 1)
        assert (response.finish_reason, response.ended, response.id) == ("stop", "clean", "m")
        assert response.usage.output_tokens == 2


def test_pieces_behind_a_whole_message_begin_anew():
    response = folded(WHOLE, START, PIECE, {"type": "message_stop"})
    assert (response.text, response.ended) == ("Hal", "clean")
