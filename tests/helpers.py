"""What the tests share: cases as files, ways to cut bytes, and the comparison of a response with an expectation."""

from __future__ import annotations

import base64
import json
import random
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from chunkfold.folding._folder import Folder

HERE = Path(__file__).parent
DATA = HERE / "data"
CORPUS = HERE.parent.parent / "shared" / "corpus"

# The names that the expectations use, and ours.
CANONICAL = {"anthropic": "anthropic-messages", "mistral": "openai-chat", "hf-tgi": "tgi", "ai-sdk-ui": "vercel-ui"}
CANONICAL |= {"ollama-chat": "ollama", "ollama-generate": "ollama"}


def case_files(dialect: str | None = None) -> list[Path]:
    """The case files of a dialect, or of all."""
    return sorted(path for path in DATA.glob(f"{dialect or '*'}/*.json") if path.parent.name != "pairs")


@cache
def load_case(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def body_of(case: dict[str, Any]) -> bytes:
    """The exact bytes of a case."""
    if "body_base64" in case:
        return base64.b64decode(case["body_base64"])
    if "body_template" in case:
        return "".join(expand(piece) for piece in case["body_template"]).encode()
    return case["body"].encode()


def expand(value: Any) -> Any:
    """`{"repeat": s, "count": n}` anywhere in an expectation stands for a long string."""
    if isinstance(value, dict):
        if value.keys() == {"repeat", "count"}:
            return value["repeat"] * value["count"]
        return {key: expand(item) for key, item in value.items()}
    return [expand(item) for item in value] if isinstance(value, list) else value


def cut(body: bytes, how: Any) -> list[bytes]:
    """Cut *body*: None or [] = whole, "each-byte", {"every": n}, {"random": seed}, or a list of offsets."""
    if not how:
        return [body]
    if how == "each-byte":
        how = {"every": 1}
    if isinstance(how, dict) and "random" in how:
        rng = random.Random(how["random"])
        how = [rng.randrange(len(body) + 1) for _ in range(min(40, len(body)))]
    if isinstance(how, dict):
        size = how["every"]
        return [body[at : at + size] for at in range(0, len(body), size)]
    edges = [0, *sorted(edge for edge in how if edge <= len(body)), len(body)]
    return [body[a:b] for a, b in pairwise(edges)]


def fold_pieces(pieces: list[bytes], dialect: str = "auto", events: bool = False, **options: Any) -> Any:
    folder = Folder(dialect, **options)
    for piece in pieces:
        folder.feed(piece, events=events)
    return folder.close()


def call_view(call: Any) -> dict[str, Any]:
    """A tool call as expectations write it."""
    view = {"id": call.id, "name": call.name, "raw": call.raw_arguments, "status": call.status}
    if call.is_usable:
        view["arguments"] = call.arguments
    else:
        view["invalid"] = True
    return view


def same_value(expected: Any, got: Any) -> bool:
    """Deeply equal, `1` and `true` and `1.0` kept apart."""
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and expected.keys() == got.keys()
            and all(same_value(expected[key], got[key]) for key in expected)
        )
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(same_value, expected, got))
    return type(expected) is type(got) and expected == got


def same_calls(expected: list[dict[str, Any]], calls: Any) -> bool:
    if len(expected) != len(calls):
        return False
    made_up = [call.id for want, call in zip(expected, calls, strict=True) if want["id"] == "*" and call.id is not None]
    return len(made_up) == len(set(made_up)) and all(map(same_call, expected, calls))


def same_call(want: dict[str, Any], call: Any) -> bool:
    if want["id"] != "*" and want["id"] != call.id:
        return False
    if want["name"] is not None and want["name"] != call.name:
        return False
    if "raw" in want and want["raw"] != call.raw_arguments:
        return False
    if want.get("invalid"):
        return call.status in ("invalid", "truncated")
    return call.is_usable and same_value(want["arguments"], call.arguments)


def same_usage(want: Any, usage: Any, accept: dict[str, list[Any]]) -> bool:
    if want is None or usage is None:
        return want is None and usage is None
    return all(
        any((number or 0) == (getattr(usage, key) or 0) for number in [value, *accept.get(f"usage.{key}", [])])
        for key, value in want.items()
    )


def same_error(want: Any, error: Any) -> bool:
    if want is None or error is None:
        return want is None and error is None
    if want.get("type") is not None and error.type != want["type"]:
        return False
    if want.get("code") is not None and error.code != want["code"]:
        return False
    return want.get("message") is None or want["message"] in (error.message or "")


def differences(expect: dict[str, Any], accept: dict[str, list[Any]], response: Any) -> list[str]:
    """The fields in which *response* is neither what is expected nor what is accepted."""
    expect = expand(expect)
    accept = expand(accept)
    wrong = []
    for field in ("text", "reasoning", "finish_reason", "native_finish_reason", "truncated"):
        got = getattr(response, field)
        if field in expect and got not in [expect[field], *accept.get(field, [])]:
            wrong.append(f"{field}: expected {expect[field]!r}, got {got!r}")
    checks: dict[str, Any] = {
        "tool_calls": lambda want: same_calls(want, response.tool_calls),
        "usage": lambda want: same_usage(want, response.usage, accept),
        "error": lambda want: same_error(want, response.error),
    }
    for field, is_same in checks.items():
        if field in expect and not any(is_same(want) for want in [expect[field], *accept.get(field, [])]):
            got = getattr(response, field)
            got = [call_view(call) for call in got] if field == "tool_calls" else got
            wrong.append(f"{field}: expected {expect[field]!r}, got {got!r}")
    return wrong + extra_differences(expect.get("extra", {}), response)


def extra_differences(extra: dict[str, Any], response: Any) -> list[str]:
    """The optional details of a case, each read from the place where we expose it."""
    wrong = []
    for field, want in extra.items():
        got = EXTRA[field](response) if field in EXTRA else f"no reader for {field}"
        if field == "choices":
            same = len(want) == len(got) and all(map(same_choice, want, got))
        elif field == "server_tools":
            same = same_calls(want, got)
        elif field in ("kept", "parts"):
            same = without_notes(want) == without_notes(got)
        else:
            same = want == got
        if not same:
            wrong.append(f"extra.{field}: expected {want!r}, got {got!r}")
    return wrong


# Notes of ours about the form in which the provider wrote something: `tests/native` looks at what comes of them.
NOTES = ("$whole", "$field", "$form", "$absent", "$flat", "$key")


def without_notes(value: Any) -> Any:
    """*value* without such notes, and without fields that say nothing."""
    if isinstance(value, dict):
        inner = {key: without_notes(item) for key, item in value.items() if key not in NOTES}
        return {key: item for key, item in inner.items() if item not in (None, "", [], {})}
    return [without_notes(item) for item in value] if isinstance(value, list) else value


def same_choice(want: dict[str, Any], choice: Any) -> bool:
    return (
        want["index"] == choice.index
        and want["text"] == choice.text
        and want["finish_reason"] == choice.finish_reason
        and ("tool_calls" not in want or same_calls(want["tool_calls"], choice.tool_calls))
    )


def _citation(item: dict[str, Any]) -> Any:
    inner = item.get("url_citation", item)
    return inner.get("url") or inner.get("cited_text")


def _detail(part: Any) -> dict[str, Any]:
    """A reasoning part as OpenRouter's `reasoning_details` has it."""
    out = {key: part.extra[key] for key in ("type", "id", "format", "index") if key in part.extra}
    if part.encrypted:
        out["data"] = part.encrypted
    if part.text:
        out["summary" if part.summary else "text"] = part.text
    if part.signature:
        out["signature"] = part.signature
    return out


def _of_kind(response: Any, kind: str) -> list[Any]:
    return [part for part in response.parts if part.kind == kind]


EXTRA: dict[str, Any] = {
    "choices": lambda r: r.choices,
    "logprob_tokens": lambda r: [item.get("token", item.get("text")) for item in r.logprobs],
    "refusal": lambda r: r.refusal,
    "signatures": lambda r: [
        signature
        for part in r.parts
        if (signature := getattr(part, "signature", None) or getattr(part, "extra", {}).get("signature"))
    ],
    "redacted": lambda r: [part.encrypted for part in _of_kind(r, "reasoning") if part.redacted],
    "encrypted": lambda r: [part.encrypted for part in _of_kind(r, "reasoning") if part.encrypted],
    "reasoning_details": lambda r: [_detail(part) for part in _of_kind(r, "reasoning")],
    "citations": lambda r: [_citation(item) for item in r.annotations],
    "server_tools": lambda r: _of_kind(r, "server_tool_call"),
    "role": lambda r: r.message.role,
    "model": lambda r: r.model,
    "id": lambda r: r.id,
    "tool_types": lambda r: [call.type for call in r.tool_calls],
    # What has the value that it is made with is left out of these.
    "parts": lambda r: [json.loads(part.to_json()) for part in r.parts],
    "annotations": lambda r: list(r.annotations),
    "logprobs": lambda r: list(r.logprobs),
    "kept": lambda r: r.extra,
    "diagnostics": lambda r: [item.kind for item in r.diagnostics],
    "ended": lambda r: r.ended,
    "created": lambda r: r.created,
    "dialect": lambda r: r.dialect,
    "error_facts": lambda r: {name: getattr(r.error, name, None) for name in ("status", "retryable", "retry_after")},
    "unknown": lambda r: [part.name for part in _of_kind(r, "unknown")],
}
