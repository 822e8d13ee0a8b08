"""What an application says about a message, in several chunks."""

from __future__ import annotations

from tests.laws import assert_laws
from tests.streams import sse


def test_metadata_is_merged_as_deep_as_it_has_objects():
    """The AI SDK merges objects inside objects; lists and all else give way to what comes later."""
    body = b"".join(
        map(
            sse,
            (
                {"type": "start", "messageMetadata": {"cost": {"in": 1}, "tags": ["a", "b"], "seen": None}},
                {"type": "message-metadata", "messageMetadata": {"cost": {"out": {"text": 2}}, "tags": ["c"]}},
                {"type": "finish", "messageMetadata": {"cost": {"out": {"audio": 3}, "in": 4}, "done": True}},
            ),
        )
    )
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    assert response.to_native()["metadata"] == {
        "cost": {"in": 4, "out": {"text": 2, "audio": 3}},
        "tags": ["c"],
        "seen": None,
        "done": True,
    }
