"""The SDKs of Google, AWS and Cohere take our native bodies for those of their services."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import chunkfold
from chunkfold import Response
from tests.helpers import CORPUS, DATA, body_of, load_case
from tests.native.forms import different

boto_loaders = pytest.importorskip("botocore.loaders")
cohere = pytest.importorskip("cohere")
genai = pytest.importorskip("google.genai.types")


def streams(folder: str) -> list[Any]:
    """Recorded streams of that dialect that tell no error."""
    names = sorted(path for path in (CORPUS / folder).rglob("*") if path.is_file() and ".meta." not in path.name)
    return [pytest.param(path, id="/".join(path.parts[-2:])) for path in names]


def native(path: Any, dialect: str) -> dict[str, Any]:
    response = chunkfold.fold(path.read_bytes(), dialect)
    if response.error is not None or response.dialect is None:
        pytest.skip("an error, which is no body of an answer")
    body = response.to_native()
    assert json.loads(json.dumps(body)) == body
    return body


def as_the_sdk_reads(body: dict[str, Any]) -> Any:
    """As `generate_content` does it: fields that are newer than the SDK are left out."""
    body = body.get("response", body)
    if any(isinstance(candidate.get("finishReason"), int) for candidate in body.get("candidates", ())):
        pytest.skip("reasons are numbers, which the SDK does not take from the server either")
    return genai.GenerateContentResponse._from_response(response=json.loads(json.dumps(body)), kwargs={})


@pytest.mark.parametrize("path", streams("gemini"))
def test_google_genai_takes_a_gemini_body(path):
    parsed = as_the_sdk_reads(native(path, "gemini"))
    response = chunkfold.fold(path.read_bytes(), "gemini")
    assert (parsed.text or "") == response.text or not response.parts
    assert len(parsed.function_calls or ()) == len(response.tool_calls)


@pytest.mark.parametrize("path", streams("gemini"))
def test_a_gemini_body_that_google_genai_wrote_comes_back_unchanged(path):
    """In both spellings, with every field that there is, most of them null."""
    parsed = as_the_sdk_reads(native(path, "gemini"))
    for options in ({}, {"by_alias": True}, {"exclude_none": True}):
        body = parsed.model_dump(mode="json", **options)
        response = Response.from_native(body, "gemini")
        assert different(body, response.to_native()) == []
        assert different(body, Response.from_json(response.to_json()).to_native()) == []


@pytest.mark.parametrize("path", streams("other/gemini-interactions"))
def test_google_genai_takes_an_interaction(path):
    interactions = pytest.importorskip("google.genai.interactions")
    body = native(path, "gemini-interactions")
    interactions.Interaction.model_validate(body)


@cache
def converse_output() -> Any:
    from botocore.model import ServiceModel

    loaded = boto_loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    return ServiceModel(loaded).operation_model("Converse").output_shape


@pytest.mark.parametrize("path", streams("bedrock-converse"))
def test_botocore_takes_the_output_of_converse(path):
    from botocore.validate import ParamValidator

    body = native(path, "bedrock-converse")
    if "stopReason" not in body or "usage" not in body:
        pytest.skip("a stream that was cut")
    body.setdefault("metrics", {"latencyMs": 1})  # a stream without it was cut, too
    report = ParamValidator().validate(body, converse_output()).generate_report()
    # Where the server says more or less than AWS's model of it.
    wrong = [line for line in report.split("\n") if line and "in usage" not in line and "in trace." not in line]
    assert wrong == []


@pytest.mark.parametrize("path", streams("cohere-v2"))
def test_cohere_takes_a_chat_v2_response(path):
    body = native(path, "cohere-v2")
    parsed = cohere.V2ChatResponse.model_validate(body)
    response = chunkfold.fold(path.read_bytes(), "cohere-v2")
    blocks = parsed.message.content or ()
    assert "".join(block.text for block in blocks if block.type == "text") == response.text
    assert [call.id for call in parsed.message.tool_calls or ()] == [call.id for call in response.tool_calls]


@pytest.mark.parametrize("path", streams("cohere-v1"))
def test_cohere_takes_a_chat_v1_response(path):
    body = native(path, "cohere-v1")
    parsed = cohere.NonStreamedChatResponse.model_validate(body)
    assert parsed.text == chunkfold.fold(path.read_bytes(), "cohere-v1").text


def test_the_sdks_take_what_goes_into_the_next_request():
    gemini = chunkfold.fold(body_of(load_case(DATA / "gemini" / "gemini-signed-parts-stand-alone.json")), "gemini")
    content = genai.Content.model_validate(gemini.message.to_request("gemini"))
    signed = [part for part in gemini.parts if getattr(part, "signature", None) or "signature" in part.extra]
    assert len([part for part in content.parts if part.thought_signature]) == len(signed)
    plan = chunkfold.fold(body_of(load_case(DATA / "cohere-v2" / "cohere-plan-then-two-calls.json")), "cohere-v2")
    message = cohere.AssistantChatMessageV2.model_validate(plan.message.to_request("cohere-v2"))
    assert message.tool_plan == plan.reasoning
    assert [call.id for call in message.tool_calls] == [call.id for call in plan.tool_calls]
