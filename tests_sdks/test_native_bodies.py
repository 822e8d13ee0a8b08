"""The SDKs of OpenAI and Anthropic take our native bodies for those of their services, and lose nothing of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import chunkfold
from chunkfold import Response
from tests.helpers import CORPUS, DATA
from tests.native.forms import different, fold_and_overhear

pydantic = pytest.importorskip("pydantic")
chat = pytest.importorskip("openai.types.chat")
responses = pytest.importorskip("openai.types.responses")
openai_types = pytest.importorskip("openai.types")
anthropic_types = pytest.importorskip("anthropic.types.beta")

TYPES = {
    "openai-chat": chat.ChatCompletion,
    "openai-completions": openai_types.Completion,
    "openai-responses": responses.Response,
    # The beta has all types of blocks.
    "anthropic-messages": anthropic_types.BetaMessage,
}
FOLDERS = {"anthropic-messages": "anthropic", "openai-chat": "openai-chat"}
# Whose servers speak the dialect as the SDK's types have it. Imitators leave out or add what the types want or refuse.
VENDORS = ("openai", "azure", "anthropic")


def streams() -> list[Any]:
    found = []
    for dialect in TYPES:
        paths = [path for vendor in VENDORS for path in (CORPUS / FOLDERS.get(dialect, dialect) / vendor).glob("*")]
        paths = [path for path in paths if path.is_file() and ".meta." not in path.name]
        if dialect != "openai-responses":
            # llama.cpp's own body has not all that the type wants.
            paths += (DATA / "pairs" / dialect).glob("*/stream.sse")
        found += [pytest.param(dialect, path, id="/".join([dialect, *path.parts[-2:]])) for path in sorted(paths)]
    return found


def folded(path: Any, dialect: str) -> Response:
    response = chunkfold.fold(path.read_bytes(), dialect)
    if response.error is not None or response.truncated or not response.parts or response.native_finish_reason is None:
        pytest.skip("no whole answer")
    if not all(call.is_usable for call in response.tool_calls):
        pytest.skip("half a call, which is kept as text where the type wants an object")
    return response


def closing_body(path: Any) -> dict[str, Any] | None:
    """The body that the closing event of a Responses stream has, for what the types have against it."""
    _, payloads = fold_and_overhear(path.read_bytes(), "openai-responses")
    body = payloads[-1].get("response")
    return body if isinstance(body, dict) and body.get("output") else None


def errors(cls: Any, body: dict[str, Any]) -> list[str]:
    """What the SDK's own type has against *body*, where it is asked to look."""
    try:
        pydantic.TypeAdapter(cls).validate_python(json.loads(json.dumps(body)))
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
    return []


@pytest.mark.parametrize(("dialect", "path"), streams())
def test_the_types_of_the_sdk_take_the_body(dialect, path):
    """What the SDK reads says what the response says, and validates, but for what is newer than the SDK."""
    response = folded(path, dialect)
    body = response.to_native()
    parsed = TYPES[dialect].construct(**json.loads(json.dumps(body)))
    assert said(dialect, parsed) == response.text
    lost = different(body, parsed.to_dict(mode="json", exclude_unset=True))
    assert [line for line in lost if not re.search(r": (\d+) became \1\.0$", line)] == []
    told = closing_body(path) if dialect == "openai-responses" else None
    known = errors(TYPES[dialect], told) if told else []
    assert [line for line in errors(TYPES[dialect], body) if line not in known and not is_newer(line)] == []


def is_newer(line: str) -> bool:
    """True for a complaint about a word of a list or a kind of block, which come new with each version of the API."""
    words = ("Input should be '", "does not match any of the expected tags", "Unable to extract tag")
    # The usage is as the server has it, newer or older than the types.
    return line.startswith("usage.") or any(word in line for word in words)


def said(dialect: str, parsed: Any) -> str:
    if dialect == "openai-chat":
        return parsed.choices[0].message.content or ""
    if dialect == "openai-completions":
        return parsed.choices[0].text
    if dialect == "openai-responses":
        return parsed.output_text
    return "".join(block.text for block in parsed.content if block.type == "text")


@pytest.mark.parametrize(("dialect", "path"), streams())
def test_a_body_that_the_sdk_wrote_comes_back_unchanged(dialect, path):
    """With every field that there is, most of them null."""
    body = folded(path, dialect).to_native()
    parsed = TYPES[dialect].construct(**json.loads(json.dumps(body)))
    for options in ({}, {"exclude_none": True}, {"exclude_unset": True}):
        written = json.loads(json.dumps(parsed.model_dump(mode="json", warnings=False, **options)))
        response = Response.from_native(written, dialect)
        assert different(written, response.to_native()) == []
        assert different(written, Response.from_json(response.to_json()).to_native()) == []
