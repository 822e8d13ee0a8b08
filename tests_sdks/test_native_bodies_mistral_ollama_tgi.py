"""The SDKs of Mistral, Ollama and Hugging Face take our native bodies for those of their services, and lose nothing."""

from __future__ import annotations

import json

import pytest

import chunkfold
from tests.helpers import CANONICAL, CORPUS, body_of, case_files, load_case
from tests.native.forms import different

# Cases with fields or shapes that no server sends.
ODD = (
    "unknown", "wrong", "odd", "chunks", "exact-arguments", "in-the-last-line", "pictures", "pull", "whole-body", "is-a-number",
    "bare-texts", "without-a-function-object",
)  # fmt: skip


def streams(dialect):
    folders = [name for name, canonical in CANONICAL.items() if canonical == dialect]
    recorded = [path for name in folders for path in sorted((CORPUS / name).glob("*/*")) if ".meta." not in path.name]
    found = [pytest.param(path.read_bytes(), id=path.stem) for path in recorded]
    written = [
        path
        for path in case_files(dialect)
        if not load_case(path).get("options") and not any(word in path.stem for word in ODD)
    ]
    return found + [pytest.param(body_of(load_case(path)), id=path.stem) for path in written]


def native(body, dialect):
    response = chunkfold.fold(body, dialect)
    if response.error is not None or response.truncated:
        pytest.skip("no whole answer")
    if not all(call.is_usable for call in response.tool_calls):
        pytest.skip("half a call, which is kept as text where the type wants an object")
    return response, json.loads(json.dumps(response.to_native()))


@pytest.mark.parametrize("body", streams("ollama"))
def test_ollama_takes_the_body(body):
    ollama = pytest.importorskip("ollama")
    response, native_body = native(body, "ollama")
    is_chat = "message" in native_body
    parsed = (ollama.ChatResponse if is_chat else ollama.GenerateResponse).model_validate(native_body)
    assert ((parsed.message.content if is_chat else parsed.response) or "") == response.text
    assert (parsed.done_reason or None) == response.native_finish_reason
    assert parsed.eval_count == (response.usage.output_tokens if response.usage else None)
    if is_chat:
        calls = [dict(call.function.arguments) for call in parsed.message.tool_calls or ()]
        assert calls == [call.arguments for call in response.tool_calls]


@pytest.mark.parametrize("body", streams("tgi"))
def test_the_hub_takes_the_body(body):
    hub = pytest.importorskip("huggingface_hub")
    response, native_body = native(body, "tgi")
    parsed = hub.TextGenerationOutput.parse_obj_as_instance(native_body)
    assert parsed.generated_text == response.text
    assert len(parsed.details.tokens) == len(response.logprobs)
    assert parsed.details.finish_reason == response.native_finish_reason


@pytest.mark.parametrize("body", streams("mistral-conversations"))
def test_mistral_takes_the_body(body):
    models = pytest.importorskip("mistralai.client.models")
    response, native_body = native(body, "mistral-conversations")
    if response.usage is None:
        pytest.skip("the stream says no usage, which the type wants")
    parsed = models.ConversationResponse.model_validate(native_body)
    shown = json.loads(parsed.model_dump_json())
    assert parsed.conversation_id == response.id
    # The time of the response is told in the stream alone; the type adds what may be missing.
    wrong = [line for line in different(native_body, shown) if "is too many: None" not in line]
    assert [line for line in wrong if line != ".created_at is missing"] == []
