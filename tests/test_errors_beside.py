"""
A gateway may put its error beside what any payload says, or as an event of its own in its own words: nothing of that
kind passes for success.
"""

from __future__ import annotations

import random

import pytest

import chunkfold
from chunkfold.basis import _json
from tests.conftest import DEEP
from tests.helpers import body_of, case_files, load_case
from tests.test_fast_equals_slow import framed, payload_in

ERROR = {"message": "boom", "type": "server_error", "code": "x"}
# What comes under these names is a tool's error, or the application's own data, or concerns the connection.
OTHERS = (
    "TOOL_CALL_RESULT", "tool.", "tool-input-error", "tool-output-", "data-", "codex.", "responsesapi.",
    "response.mcp_call.failed",
)  # fmt: skip


# Where the answer begins anew, all before is void.
STARTS = (b"response.created", b"RUN_STARTED", b"message_start", b"messageStart")


def cases():
    found = {}
    for path in case_files():
        case = load_case(path)
        body = body_of(case)
        if "max_seconds" not in case and not body.startswith(b"\x00"):
            found.setdefault(path.parent.name, []).append((framed(body), case.get("options") or {}))
    return sorted(found.items())


def with_error(frame):
    """The frame with an error in it; `None` if it holds no object, or an error of its own."""
    found = payload_in(frame)
    if found is None or not isinstance(found[1], dict) or "error" in str(found[1]).lower():
        return None
    before, payload, after = found
    if str(payload.get("type", payload.get("event"))).startswith(OTHERS):
        return None
    return before + _json.encode({**payload, "error": ERROR}).encode() + after


@pytest.mark.parametrize(("dialect", "streams"), cases(), ids=lambda value: value if isinstance(value, str) else "")
def test_an_error_beside_anything_is_told(dialect, streams):
    rng, tried = random.Random(7), 0
    for frames, options in streams:
        if len(frames) > 60 or chunkfold.fold(b"".join(frames), dialect, **options).error is not None:
            continue
        for at in rng.sample(range(len(frames)), min(8, len(frames))):
            changed, rest = with_error(frames[at]), b"".join(frames[at + 1 :])
            # Where the answer begins anew, all before is void.
            if changed is None or any(start in rest for start in STARTS):
                continue
            tried += 1
            response = chunkfold.fold(b"".join([*frames[:at], changed, *frames[at + 1 :]]), dialect, **options)
            assert response.error is not None, (frames[at], response)
            assert (response.error.message, response.ended) == ("boom", "error"), (frames[at], response)
            assert response.finish_reason == "error"
            events = [*chunkfold.stream([*frames[:at], changed, *frames[at + 1 :]], dialect, **options)]
            told = [event.error.message for event in events if event.type == "error"]
            assert told.count("boom") == 1, frames[at]
    assert tried > 0


AMID = [
    b'data: {"error":{"message":"boom","type":"server_error"}}',
    b'event: error\ndata: {"error":{"message":"boom"}}',
    b'data: {"error":"boom"}',
    b'data: {"type":"error","error":{"type":"overloaded_error","message":"boom"}}',
    b"event: error\ndata: boom",
    b'event: error\ndata: {"message":"boom"}',
    b'event: error\ndata: {"type":"server_error","message":"boom"}',
    b'error: {"message":"boom"}',
    b'data: {"error":{"message":"boom","code":503,"status":"UNAVAILABLE"}}',
    b'data: [{"error":{"message":"boom"}}]',
    b'data: {"error":true,"message":"boom"}',
    b'data: {"object":"error","message":"boom","type":"internal_error","code":500}',
    b'data: {"errors":[{"message":"boom","code":7}],"success":false}',
    b'event: error\ndata: {"detail":"boom"}',
    b'data: {"statusCode":500,"message":"boom"}',
    b'data: {"code":500,"message":"boom"}',
    b'data: {"detail":"boom"}',
    b'data: {"type":"error","message":"boom"}',
    b'data: {"event":"error","data":{"message":"boom"}}',
    b'data: {"status":"error","message":"boom"}',
    b'data: {"error_message":"boom","error_code":12}',
]


@pytest.mark.parametrize("error", AMID)
def test_an_error_amid_any_stream_is_told(error):
    rng, tried = random.Random(3), 0
    for dialect, streams in cases():
        # Every third stream: which of them, differs from error to error.
        for frames, options in streams if DEEP else streams[AMID.index(error) % 3 :: 3]:
            if not 0 < len(frames) <= 40 or not all(frame.startswith((b"data:", b"event:")) for frame in frames):
                continue
            if chunkfold.fold(b"".join(frames), dialect, **options).error is not None:
                continue
            at = rng.randrange(1, len(frames) + 1)
            head, rest = b"".join(frames[:at]), b"".join(frames[at:])
            # Where the answer begins anew, all before is void; and an event that is not over goes on.
            if any(start in rest for start in STARTS) or not head.endswith(b"\n\n"):
                continue
            tried += 1
            response = chunkfold.fold(b"%b%b\n\n%b" % (head, error, rest), dialect, **options)
            assert response.error is not None, (dialect, head)
            assert (response.error.message, response.ended) == ("boom", "error"), (dialect, head)
    assert tried > 60
