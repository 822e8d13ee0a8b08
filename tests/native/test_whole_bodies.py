"""Bodies that were not streamed come back unchanged, to the key, and the response holds no hidden copy of them."""

from __future__ import annotations

import copy
import json

import msgspec
import pytest

from chunkfold import Response
from tests.helpers import CANONICAL, CORPUS
from tests.native.forms import different

FOLDER = CORPUS / "_nonstream"
BODIES = sorted(path for path in FOLDER.glob("*/*/*.json")) if FOLDER.is_dir() else []

pytestmark = pytest.mark.skipif(not BODIES, reason="the bodies that were not streamed are not here")


def name_of(path):
    return CANONICAL.get(path.parent.parent.name, path.parent.parent.name)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def ids(path):
    return "/".join(path.parts[-3:])


@pytest.mark.parametrize("path", BODIES, ids=ids)
def test_a_body_comes_back_unchanged(path):
    body = read(path)
    for dialect in ("auto", name_of(path)):
        response = Response.from_native(body, dialect)
        assert different(body, response.to_native()) == []
        assert different(body, Response.from_json(response.to_json()).to_native()) == []


@pytest.mark.parametrize("path", BODIES, ids=ids)
def test_a_body_comes_back_unchanged_with_fields_that_nobody_knows(path):
    for value in ({"deep": [1, {"null": None}, "text"]}, None, [], "", 0, False):
        body = sown(read(path), value)
        response = Response.from_native(body, name_of(path))
        assert different(body, response.to_native()) == []
        assert different(body, Response.from_json(response.to_json()).to_native()) == []


def sown(value, seed):
    """*value* with a field more in each of its objects, but for objects inside the arguments of a call and usage."""
    if isinstance(value, dict):
        out = {key: item if key in ("arguments", "input", "args") else sown(item, seed) for key, item in value.items()}
        return {**out, "a_field_that_nobody_knows": copy.deepcopy(seed)}
    return [sown(item, seed) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", BODIES, ids=ids)
def test_after_a_text_is_replaced_just_that_leaf_differs(path):
    response = Response.from_native(read(path), name_of(path))
    before = response.to_native()
    for choice in response.choices:
        for place, part in enumerate(choice.parts):
            if part.kind != "text":
                continue
            parts = list(choice.parts)
            parts[place] = msgspec.structs.replace(part, text="another text")
            choices = [
                msgspec.structs.replace(item, parts=tuple(parts)) if item is choice else item
                for item in response.choices
            ]
            changed = msgspec.structs.replace(response, choices=tuple(choices)).to_native()
            assert len(different(before, changed)) == 1
