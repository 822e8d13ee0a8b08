"""
Recorded streams of real services, tested where they lie: they are third-party recordings and no part of the project.

Where the folder is absent these tests are skipped, and the last line of the run says how many streams were not tried.
"""

from __future__ import annotations

import importlib.util
import json
import random

import pytest

import chunkfold
from chunkfold import dialects
from tests.helpers import CANONICAL, CORPUS, cut, fold_pieces

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of recorded streams is not here")

EXPECTED = CORPUS / "expected.jsonl"
ROWS = (
    [json.loads(line) for line in EXPECTED.read_text(encoding="utf-8").split("\n") if line] if EXPECTED.exists() else []
)
ROWS = [row for row in ROWS if CANONICAL.get(row["dialect"], row["dialect"]) in dialects.names()]

# Debatable streams in which we differ on purpose (results of tools are parts); docs/fold.md says why and whom the other
# choice would hurt.
DIFFERS: dict[str, set[str]] = {
    "ai-sdk-ui/langgraph-via-ai-sdk/aisdk-snapshots-langgraph-hitl-request-2.json": {"n_parts"},
    "ai-sdk-ui/langgraph-via-ai-sdk/aisdk-snapshots-react-agent-tool-calling.json": {"n_parts"},
}


def checker():
    spec = importlib.util.spec_from_file_location("compare", CORPUS / "compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.check


def view(response):
    """A response as the comparison wants it."""
    calls = []
    for call in response.tool_calls:
        item = {"id": call.id, "name": call.name, "raw": call.raw_arguments}
        item |= {"arguments": call.arguments} if call.is_usable else {"invalid": True}
        calls.append(item)
    usage, error = response.usage, response.error
    return {
        "text": response.text,
        "reasoning": response.reasoning,
        "tool_calls": calls,
        "finish_reason": response.finish_reason,
        "native_finish_reason": response.native_finish_reason,
        "usage": {name: getattr(usage, name) for name in usage.__struct_fields__} if usage else None,
        "error": {"type": error.type, "message": error.message, "code": error.code} if error else None,
        "truncated": response.truncated,
        "refusal": response.refusal or None,
        "choices": [{"index": c.index, "text": c.text, "finish_reason": c.finish_reason} for c in response.choices],
        "n_parts": [kind_of(part) for part in response.parts],
        "model": response.model,
        "id": response.id,
    }


def kind_of(part):
    if part.kind == "reasoning" and not part.text:
        return "redacted_reasoning" if part.redacted else "empty_reasoning"
    if part.kind in ("text", "refusal") and not part.text:
        return "empty"
    return part.kind


@pytest.mark.parametrize("dialect", ["named", "auto"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_stream_folds_to_what_is_expected(row, dialect):
    body = (CORPUS / row["path"]).read_bytes()
    name = "auto" if dialect == "auto" else CANONICAL.get(row["dialect"], row["dialect"])
    whole = fold_pieces([body], name)
    wrong = checker()(row, view(whole))
    # Debatable streams differ in the one field that is listed, and in no other.
    assert {field for field, _, _ in wrong} == DIFFERS.get(row["path"], set())
    assert fold_pieces(cut(body, {"every": 37}), name) == whole


STREAMS = sorted(
    path
    for path in (CORPUS.rglob("*") if CORPUS.is_dir() else ())
    if path.is_file() and path.parent.parent != CORPUS.parent and not path.name.endswith(".meta.json")
    if path.relative_to(CORPUS).parts[0] != "_nonstream" and len(path.relative_to(CORPUS).parts) > 2
)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: str(path.relative_to(CORPUS)))
def test_no_stream_raises_wherever_it_is_cut(path):
    """Also those of formats that no dialect speaks: what was understood is a response that can be written and read."""
    body = path.read_bytes()
    rng = random.Random(path.name)
    for end in [len(body), *(rng.randrange(len(body)) for _ in range(6))]:
        response = chunkfold.fold(body[:end])
        assert response.ended in ("clean", "eof", "error")
        assert chunkfold.Response.from_json(response.to_json()) == response
