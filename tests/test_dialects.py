"""Adding a dialect is adding its module, its cases and its page: each that is there has all three."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from chunkfold import Decoder, dialects
from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from tests.helpers import body_of, case_files, load_case

DOCS = Path(__file__).parent.parent / "docs" / "dialects"

PROMISED = [
    "openai-chat",
    "openai-completions",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "gemini-interactions",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-v2",
    "cohere-v1",
    "mistral-conversations",
    "ollama",
    "tgi",
    "watsonx",
    "dashscope",
    "vercel-ui",
    "ag-ui",
]
OTHER_NAMES = {
    "anthropic": "anthropic-messages",
    "mistral": "openai-chat",
    "ollama-chat": "ollama",
    "ollama-generate": "ollama",
    "hf-tgi": "tgi",
    "ai-sdk-ui": "vercel-ui",
}
NAMES = dialects.names()
every_dialect = pytest.mark.parametrize("name", NAMES)


def test_the_dialects_are_the_promised_ones():
    assert set(NAMES) == set(PROMISED)


def test_names_are_given_in_alphabetical_order():
    assert list(NAMES) == sorted(NAMES)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(("other", "name"), OTHER_NAMES.items())
def test_other_names_lead_to_their_dialect(other, name):
    assert dialects.get(other) is dialects.get(name)
    assert Decoder(other).dialect == name
    assert other not in NAMES


@every_dialect
def test_the_module_of_a_dialect_defines_it(name):
    module = importlib.import_module(f"chunkfold.dialects.{name.replace('-', '_')}")
    dialect = module.DIALECT
    assert issubclass(dialect, Dialect)
    assert dialect.name == name
    assert dialect is dialects.get(name)
    assert dialect.__doc__
    assert f"docs/dialects/{name}.md" in module.__doc__, "the module says where its manual is"


def test_no_two_dialects_share_a_name():
    names = [name for canonical in NAMES for name in (canonical, *dialects.get(canonical).aliases)]
    assert len(set(names)) == len(names)
    assert set(names) - set(NAMES) == set(OTHER_NAMES), "other names are promised ones"


@every_dialect
def test_a_dialect_has_cases_of_its_own_that_say_where_they_come_from(name):
    cases = [load_case(path) for path in case_files(name)]
    assert cases
    assert [case["id"] for case in cases if not case.get("source")] == []
    assert [path.stem for path in case_files(name)] == [case["id"] for case in cases]
    assert all(case["why"] for case in cases)


@every_dialect
def test_the_page_of_a_dialect_names_its_payloads(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {name}\n")
    section = re.search(r"^## Payloads\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section, "there is no section on payloads"
    table = re.search(r"^\|.*?(?=\n\n|\Z)", section[1], re.MULTILINE | re.DOTALL)
    assert table, "the section has no table"
    rows = [line.split("|")[1] for line in table[0].splitlines()[2:]]
    assert {word for cell in rows for word in re.findall(r"`([^`]+)`", cell)} == set(dialects.get(name).payloads)
    assert dialects.get(name).payloads


@every_dialect
def test_the_page_of_a_dialect_names_its_other_names(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert [other for other in dialects.get(name).aliases if f"`{other}`" not in page] == []


@every_dialect
def test_a_dialect_recognises_its_own_cases(name):
    """`auto` must find it from the payloads alone, for most of the cases; an error or a ping alone decides nothing."""
    known = 0
    for path in case_files(name):
        case = load_case(path)
        if "max_seconds" not in case:
            decoder = Decoder()
            decoder.feed(body_of(case))
            decoder.close()
            assert decoder.dialect in (name, None), path.stem
            known += decoder.dialect == name
    assert known


def odd_payloads():
    yield from ({}, {"type": None}, {"type": []}, {"type": {}}, {"object": 5}, {"choices": {}}, {"choices": [None]})
    yield from ({"choices": [[]]}, {"message": 1}, {"candidates": "x"}, {"delta": []}, {"error": {"message": "m"}})
    yield from ({"event": []}, {"model": {}}, {"output": None}, {"response": 5}, {"results": [1]}, {"token": "x"})


@every_dialect
@pytest.mark.parametrize("event", ["", "message", "error", "\ufffd"])
def test_recognising_says_how_sure_it_is_and_never_raises(name, event):
    for payload in odd_payloads():
        assert dialects.get(name).recognise(payload, event) in (NO, LIKELY, CERTAIN)
    assert dialects.get(name).recognise({}, event) == NO


RECOGNISED = [
    ("openai-chat", {"choices": [], "usage": {"prompt_tokens": 1}}),
    ("openai-chat", {"choices": [{"index": 0, "message": {"content": "a"}}]}),
    ("openai-chat", {"choices": [{"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}]}),
    ("openai-completions", {"choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}),
    ("openai-completions", {"content": "a", "stop": False}),
    ("bedrock-invoke", {"choices": [{"text": "a", "stop_reason": "stop"}]}),
    ("watsonx", {"choices": [{"index": 0, "delta": {"content": "a"}}], "model_id": "ibm/heron-8b"}),
    ("dashscope", {"output": {"text": "a", "finish_reason": None}}),
    ("ollama", {"done": False, "response": "a"}),
    ("ollama", {"done": True, "model": "owl:2b", "done_reason": "load"}),
    ("tgi", {"token": {"id": 1, "text": "a"}}),
    ("tgi", {"generated_text": "a"}),
    (None, {"choices": [{"index": 0, "finish_reason": None}]}),
    (None, {"choices": [{"index": 0, "text": "a"}]}),
    (None, {"content": "a", "stop": ["b"]}),
    (None, {"content": ["a"], "stop": False}),
    (None, {"output": {"message": "a"}, "request_id": "r"}),
    ("vercel-ui", {"type": "tool-output-available", "toolCallId": "c", "output": {"text": "a"}}),
    (None, {"done": True}),
    (None, {"token": {"value": "a"}}),
]


@pytest.mark.parametrize(("name", "payload"), RECOGNISED, ids=[str(payload) for _, payload in RECOGNISED])
def test_a_payload_is_recognised_by_what_only_its_dialect_has(name, payload):
    found = dialects.recognise(payload, "")
    assert (found and found.name) == name


def test_an_empty_payload_and_a_bare_error_belong_to_nobody():
    assert dialects.recognise({}, "") is None
    assert dialects.recognise({"error": {"message": "m", "type": "t"}}, "") is None


@every_dialect
def test_a_dialect_decodes_any_payload(name):
    decoder = Decoder(name)
    for payload in odd_payloads():
        decoder.feed(payload)
    assert decoder.close()[-1].type == "message_stop"
