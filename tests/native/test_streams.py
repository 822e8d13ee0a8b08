"""What a stream says is in the body that is made from it, and the body says what the stream says."""

from __future__ import annotations

import base64
import json

import pytest

import chunkfold
from chunkfold import Response, dialects
from chunkfold.basis import _json
from tests.helpers import CANONICAL, CORPUS, body_of, case_files, load_case
from tests.native.forms import fold_and_overhear, lost

EXPECTED = CORPUS / "expected.jsonl"
ROWS = (
    [json.loads(line) for line in EXPECTED.read_text(encoding="utf-8").split("\n") if line] if EXPECTED.exists() else []
)
ROWS = [row for row in ROWS if CANONICAL.get(row["dialect"], row["dialect"]) in dialects.names()]

# Cases whose body cannot have every field at its path, and why.
DIFFERS = {
    "anthropic-messages/whole-message-without-a-role": "the content is a word amid blocks",
    "anthropic-messages/wrong-shapes-in-starts": "nothing is what the API says",
    "openai-chat/choice-indexes-as-text": "indexes are text and a number in turn",
    "openai-chat/choices-that-are-no-objects": "a choice is a word",
    "openai-chat/words-and-single-objects-in-a-delta": "nothing is what the API says",
    "openai-chat/choices-is-one-object": "a choice stands where the API has a list of them",
    "openai-chat/final-message-gives-the-ids": "calls are a word and an object with a word amid calls",
    "openai-chat/id-is-a-number": "ids are text",
    "openai-chat/wrong-shapes-in-a-delta": "nothing is what the API says",
    "openai-chat/forms-that-are-never-filled-in": "what says nothing is in no body",
    "openai-responses/error-object-without-a-type": "one error is an object, the other a sentence",
    "openai-responses/keep-alives-and-connection-frames": "what concerns the connection is in no body",
    "openai-responses/wrong-shapes": "nothing is what the API says",
    "bedrock-invoke/invoke-mistral-text": "outputs are a word and a number amid objects",
    "bedrock-converse/converse-not-streamed-odd": "the content is an object where the API has a list",
    "bedrock-converse/converse-unknown-members-and-nulls": "a citation that is not there is an empty object",
    "bedrock-converse/converse-wrong-shapes": "nothing is what the API says",
    "bedrock-invoke/invoke-odd-envelopes": "what envelopes hold is a number, a list and noise",
    "cohere-v1/cohere-v1-unknown-things": "calls and the response are words, numbers and lists",
    "cohere-v2/cohere-calls-without-index": "the type of a call is a word and then a number",
    "cohere-v2/cohere-unknown-things": "an event that is not understood has a message amid messages that are",
    "openai-completions/logprobs-of-unequal-lists": "log-probabilities are lists, objects and a number in turn",
    "openai-completions/wrong-shapes": "nothing is what the API says",
    "gemini-interactions/interactions-older-revision": "the older revision has its deltas in another list of the body",
    "gemini-interactions/completed-without-an-interaction": "the end says no status, the start says one",
    "gemini-interactions/failed-in-an-event-of-its-own": "as above",
    "gemini-interactions/interactions-wrong-shapes": "nothing is what the API says",
    "gemini/gemini-arguments-under-another-name": "the body calls them as the API does",
    "gemini/gemini-candidates-of-another-api": "candidates are objects and numbers, their content objects and text",
    "gemini/gemini-content-of-another-shape-amid-arguments": "the content is objects and a number in turn",
    "gemini/gemini-fields-that-change-shape": "metadata is text, a list and an object in turn",
    "gemini/gemini-logprobs-odd": "rivals are a list where the API has an object",
    "gemini/gemini-wrong-shapes": "nothing is what the API says",
    "ollama/ollama-calls-that-say-nothing": "what says nothing is in no body",
    "ollama/ollama-unknown-things": "a message is a word amid messages that are objects",
    "tgi/wrong-shapes": "details are a word and a list amid payloads that have objects",
    "watsonx/wrong-shapes": "results and choices are words and numbers",
    "dashscope/forms-that-are-never-filled-in": "as above: calls with nothing in them",
    "dashscope/wrong-shapes": "choices, messages and calls are numbers and words",
    "mistral-conversations/conversation-thinking-chunks": "a text of the thinking is a bare text amid texts that are objects",
    "vercel-ui/error-with-a-message": "the fields of an error stand under the name of one, but for that name as its type",
    "vercel-ui/error-object-amid": "the first of two errors is the one that is told",
    "vercel-ui/parts-of-the-application": "what is transient stands beside the parts",
    "vercel-ui/texts-and-reasoning-take-turns": "later metadata of a part stand instead of earlier ones",
    "vercel-ui/wrong-shapes": "ids are objects",
    "ag-ui/names-in-snake-case": "the body has the spelling of the protocol",
    "ag-ui/starts-missing-or-twice": "the end of a message that never began says nothing",
    "ag-ui/wrong-shapes": "nothing is what the protocol says",
}

# Recorded streams, as above.
DIFFERS_RECORDED = {
    "anthropic/anthropic/antpy-streaming-fallback-response.sse": "the body names the model that answered, not the first",
}

# Recorded streams whose body says something else.
OTHERWISE_RECORDED = {
    "ag-ui/agui-dotnet/agui-compatibility-tool-call-events.json": "no run finishes: any call without arguments may be cut",
}

# Cases whose body says something else: the parts are in the order in which they came, a body has them in that of their
# numbers.
OTHERWISE = {
    "openai-responses/parts-by-content-index",
    "openai-responses/reasoning-text-in-events-of-its-own",
    "openai-responses/wrong-shapes",
}


def facts(response):
    return {
        "text": response.text,
        "reasoning": response.reasoning,
        "refusal": response.refusal,
        "calls": [
            (call.id, call.name, call.arguments if call.is_usable else call.raw_arguments)
            for call in response.tool_calls
        ],
        "finish_reason": response.finish_reason,
        "native_finish_reason": response.native_finish_reason,
        "usage": response.usage and counts(response),
        "choices": [(choice.index, choice.text, choice.finish_reason) for choice in response.choices],
        # What we have to say ourselves is in no provider's body.
        "error": (response.error.type, response.error.message, response.error.code)
        if response.error and response.error.origin == "provider"
        else None,
    }


def counts(response):
    """The usage; the provider's own object too, but where the whole body has other names for the same counts."""
    usage = response.usage.to_dict()
    if response.extra.get("$family") == "titan":
        del usage["raw"]
    return usage


def spoken(response, payloads):
    """Whose words the payloads are: what an envelope holds is in the words of the model's own dialect."""
    family = response.extra.get("$family")
    chunks = [payload.get("chunk") or payload for payload in payloads]
    opened = [object_in(chunk["bytes"]) for chunk in chunks if isinstance(chunk, dict) and "bytes" in chunk]
    payloads = [payload for payload in opened if isinstance(payload, dict)] or payloads
    return family if family in dialects.names() else response.dialect, payloads


def object_in(data):
    try:
        return json.loads(data if isinstance(data, bytes) else base64.b64decode(data))
    except (TypeError, ValueError):
        return None


def check(body_bytes, dialect, *, may_lose=False, may_differ=False):
    response, payloads = fold_and_overhear(body_bytes, dialect)
    if response.dialect is None:
        return
    body = response.to_native()
    assert Response.from_json(response.to_json()).to_native() == body
    again = chunkfold.fold(_json.encode(body).encode(), response.dialect)
    assert (facts(again) == facts(response)) is not may_differ
    assert again.truncated or not response.truncated
    # What is an error by itself stands under the name of one.
    payloads = [{"error": payload} if body.get("error") == payload else payload for payload in payloads]
    wrong = lost(*spoken(response, payloads), body)
    print("\n".join(wrong))
    assert may_lose if wrong else not may_lose


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_a_recorded_stream_loses_nothing(row):
    dialect = CANONICAL.get(row["dialect"], row["dialect"])
    body = (CORPUS / row["path"]).read_bytes()
    path = row["path"]
    check(body, dialect, may_lose=path in DIFFERS_RECORDED, may_differ=path in OTHERWISE_RECORDED)


CASES = [path for path in case_files() if not load_case(path).get("options")]


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_loses_nothing(path):
    name = f"{path.parent.name}/{path.stem}"
    check(body_of(load_case(path)), path.parent.name, may_lose=name in DIFFERS, may_differ=name in OTHERWISE)


@pytest.mark.parametrize("dialect", dialects.names())
def test_lines_that_belong_to_no_frame_are_in_no_body_and_no_request(dialect):
    """Such as the heads that `curl -i` prints: the provider has not said them."""
    bodies = [body_of(load_case(path)) for path in case_files(dialect)]
    body = next((body for body in bodies if body.startswith(b"data:")), bodies[0])
    plain, stray = chunkfold.fold(body, dialect), chunkfold.fold(b"HTTP/1.1 200 OK\r\n\r\n" + body, dialect)
    assert len(stray.parts) == len(plain.parts) + 1
    assert stray.to_native() == plain.to_native()
    assert stray.message.to_request(dialect) == plain.message.to_request(dialect)
