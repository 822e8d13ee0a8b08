"""What goes back in the next request has no field that the SDKs' types for requests do not name: services refuse those."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

import pytest

from tests_sdks.test_native_bodies import folded, streams

pydantic = pytest.importorskip("pydantic")
typing_extensions = pytest.importorskip("typing_extensions")
responses = pytest.importorskip("openai.types.responses")
beta = pytest.importorskip("anthropic.types.beta")

ITEMS = {
    "anthropic-messages": (beta, "BetaContentBlockParam"),
    "openai-responses": (responses, "ResponseInputItemParam"),
}
# Built-in tools of OpenAI answer with more than their types name; a refusal cannot have the id of its message.
CHECKED = {"openai-responses": ("message", "reasoning", "function_call")}


@cache
def strict(dialect: str) -> Any:
    """The type of one block or item of a request, with no other fields than it names, at any depth."""
    package, name = ITEMS[dialect]
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if typing_extensions.is_typeddict(value):
                value.__pydantic_config__ = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return pydantic.TypeAdapter(getattr(package, name))


def read(value: Any) -> None:
    """Iterate over all of *value*, some of which is validated only then."""
    if isinstance(value, dict):
        for item in value.values():
            read(item)
    elif isinstance(value, list) or hasattr(value, "__next__"):
        for item in value:
            read(item)


def is_refusal(item: dict[str, Any]) -> bool:
    return item["type"] == "message" and any(part["type"] == "refusal" for part in item["content"])


@pytest.mark.parametrize(("dialect", "path"), [param for param in streams() if param.values[0] in ITEMS])
def test_the_types_of_requests_name_all_that_goes_back(dialect, path):
    sent = folded(path, dialect).message.to_request(dialect)
    for item in sent if isinstance(sent, list) else sent["content"]:
        if item["type"] in CHECKED.get(dialect, (item["type"],)) and not is_refusal(item):
            read(strict(dialect).validate_python(item))
