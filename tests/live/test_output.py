"""The whole answer as a value of a type: unions that msgspec does not take, types in others, and where it is wrong."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import subprocess
import sys
from typing import Annotated, Any, Literal

import msgspec
import pytest

from chunkfold import Limits, OutputInvalid, stream
from tests.live.answers import chat, output_of, partial_after

pydantic = pytest.importorskip("pydantic")


class StructOwner(msgspec.Struct):
    name: str
    email: str | None = None


class ModelOwner(pydantic.BaseModel):
    name: str
    email: str | None = None


# Unions


@dataclasses.dataclass
class Circle:
    radius: float


@dataclasses.dataclass
class Square:
    side: float

    def __post_init__(self):
        if self.side < 0:
            raise ValueError("a side cannot be negative")


@dataclasses.dataclass
class Drawing:
    shape: Circle | Square
    other: int | str | Circle | None = None
    both: tuple[Circle, ...] | None = None
    by_name: dict[str, Circle | Square] | None = None


def test_a_union_without_tags_stays_a_mapping_and_becomes_the_first_that_fits():
    assert partial_after('{"shape": {"side": 2}', Drawing).shape == {"side": 2}
    text = '{"shape": {"side": 2}, "other": {"radius": 1}, "both": [{"radius": 3}], "by_name": {"a": {"side": 4}}}'
    assert output_of(text, Drawing) == Drawing(Square(2), Circle(1), (Circle(3),), {"a": Square(4)})


def test_a_union_with_one_object_needs_no_tag():
    assert partial_after('{"other": {"radius": 1}', Drawing).other.radius == 1
    assert partial_after('{"other": "x', Drawing).other == "x"
    assert output_of('{"shape": {"radius": 1}, "other": 5}', Drawing).other == 5


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"shape": {"side": -1}}', ("shape",)),
        ('{"shape": 5}', ("shape",)),
        ('{"shape": {"radius": 1}, "other": [1]}', ("other",)),
        ('{"shape": {"radius": 1}, "both": [{"radius": 1}, {"radius": "x"}]}', ("both", 1, "radius")),
        ('{"shape": {"radius": 1}, "by_name": {"a": {}}}', ("by_name", "a", "radius")),
    ],
)
def test_where_dataclasses_with_unions_are_invalid(text, path):
    with pytest.raises(OutputInvalid) as caught:
        output_of(text, Drawing)
    # A union without tags is told as the first of its types.
    assert caught.value.path[: len(path)] == path or caught.value.path[:-1] == path


@dataclasses.dataclass
class Shapes:
    """What msgspec takes stands beside what it does not."""

    shape: Circle | Square
    by_number: dict[int, str] = dataclasses.field(default_factory=dict)
    numbered: dict[int, Circle | Square] = dataclasses.field(default_factory=dict)
    point: tuple[int, str] = (0, "")
    pair: tuple[Circle | Square, int] | None = None
    several: list[Circle | Square] | list[int] | None = None
    size: Annotated[int, msgspec.Meta(ge=0)] = 0
    size_or_shape: Annotated[int, msgspec.Meta(ge=0)] | Circle | Square = 0
    words: frozenset[str] = frozenset()
    numbered_or_none: dict[int, Circle | Square] | None = None


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [
        ('"by_number": {"1": "x"}', "by_number", {1: "x"}),
        ('"numbered": {"1": {"side": 2}, "2": {"radius": 3}}', "numbered", {1: Square(2), 2: Circle(3)}),
        ('"point": [1, "x"]', "point", (1, "x")),
        ('"pair": [{"side": 2}, 3]', "pair", (Square(2), 3)),
        ('"several": [{"side": 2}]', "several", [Square(2)]),
        ('"several": [2]', "several", [2]),
        ('"size": 1', "size", 1),
        ('"size_or_shape": 1', "size_or_shape", 1),
        ('"words": ["a", "a"]', "words", frozenset({"a"})),
    ],
)
def test_beside_a_union_of_dataclasses_the_other_types_are_what_they_say(more, field, value):
    made = output_of(f'{{"shape": {{"side": 1}}, {more}}}', Shapes)
    assert getattr(made, field) == value
    assert type(getattr(made, field)) is type(value)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ('"by_number": {"a": "x"}', ("by_number",)),
        ('"numbered": {"a": {"side": 2}}', ("numbered",)),
        ('"point": [1, 2]', ("point", 1)),
        ('"point": [1]', ("point",)),
        ('"pair": [{"side": 2}]', ("pair",)),
        ('"pair": [{"side": 2}, "x"]', ("pair", 1)),
        ('"size": -1', ("size",)),
        ('"size_or_shape": -1', ("size_or_shape",)),
        ('"numbered": [1]', ("numbered",)),
        ('"numbered": "none"', ("numbered",)),
        ('"numbered_or_none": "none"', ("numbered_or_none",)),
        ('"several": {"side": 2}', ("several",)),
        ('"pair": "none"', ("pair",)),
    ],
)
def test_beside_a_union_of_dataclasses_the_other_types_are_checked(more, path):
    with pytest.raises(OutputInvalid) as caught:
        output_of(f'{{"shape": {{"side": 1}}, {more}}}', Shapes)
    assert caught.value.path == path


@dataclasses.dataclass
class DataWithModel:
    owner: ModelOwner
    others: list[ModelOwner] = dataclasses.field(default_factory=list)


class StructWithModel(msgspec.Struct):
    owner: ModelOwner
    others: list[ModelOwner] = []


@pytest.mark.parametrize("cls", [DataWithModel, StructWithModel])
def test_models_may_stand_in_other_types(cls):
    assert partial_after('{"owner": {"name": "A', cls).owner.name == "A"
    made = output_of('{"owner": {"name": "Ada"}, "others": [{"name": "Bob"}]}', cls)
    assert (made.owner, made.others) == (ModelOwner(name="Ada"), [ModelOwner(name="Bob")])
    with pytest.raises(OutputInvalid) as caught:
        output_of('{"owner": {"name": "Ada"}, "others": [{"name": "Bob"}, {"name": 5}]}', cls)
    assert caught.value.path == ("others", 1, "name")


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Texts:
    """Several types that are text in JSON."""

    when: dt.date | str | None = None
    colour: Colour | Literal["any"] = "any"


def test_types_that_are_text_are_tried_in_turn():
    assert output_of('{"when": "2026-01-02"}', Texts).when == dt.date(2026, 1, 2)
    assert output_of('{"when": "soon", "colour": "red"}', Texts) == Texts("soon", Colour.RED)
    assert output_of('{"when": null, "colour": "any"}', Texts) == Texts()
    for text, path in [('{"when": 5}', ("when",)), ('{"colour": "blue"}', ("colour",))]:
        with pytest.raises(OutputInvalid) as caught:
            output_of(text, Texts)
        assert caught.value.path == path


class Anything(msgspec.Struct):
    value: Any
    when: Annotated[str, "said about it"] = ""


@dataclasses.dataclass
class Plus:
    left: Plus | Times | int
    right: int = 0


@dataclasses.dataclass
class Times:
    left: Plus | Times | int
    right: str = ""


@pytest.mark.parametrize("innermost", ['"x"', "1"])
def test_types_that_nest_in_themselves_are_tried_once_for_each_object(innermost):
    """Without a tag each object may be of both types: the work would double with each of the 60."""
    text = '{"right": "x", "left": ' * 60 + innermost + "}" * 60
    if innermost == "1":
        made = output_of(text, Times)
        assert isinstance(made.left.left, Times)
    else:
        with pytest.raises(OutputInvalid):
            output_of(text, Times)


@dataclasses.dataclass
class Left:
    kind: Literal["left"]
    next: Left | Right | None = None


@dataclasses.dataclass
class Right:
    kind: Literal["right"]
    next: Left | Right | None = None


class Link(msgspec.Struct):
    next: Link | None = None


@pytest.mark.parametrize(
    ("cls", "opening"), [(Left, '{"kind": "left", "next": '), (Link, '{"next": '), (Anything, '{"value": ')]
)
def test_an_answer_that_nests_too_deep_is_invalid(cls, opening):
    text = opening * 50_000 + "null" + "}" * 50_000
    with stream([chat(text)], output_type=cls, limits=Limits(json_depth=None)) as events:
        list(events)
        with pytest.raises(OutputInvalid, match="too deep"):
            events.output()


def test_what_has_no_type_can_be_looked_at_all_the_same():
    view = partial_after('{"value": {"a": [{"b": "c', Anything).value
    assert view == {"a": [{"b": "c"}]}
    assert view["a"][0]["b"] == "c"
    assert repr(view) == "<partial object: a>"
    assert repr(view["a"]) == "<partial list of 1>"


class Named(msgspec.Struct):
    name: str
    by_number: dict[int, bytes] = {}


def test_half_a_character_is_json_too():
    made = output_of('{"name": "\\ud83d"}', StructOwner)
    assert made.name == "\ud83d"
    assert output_of('{"name": "\\ud83d", "by_number": {"1": "aGk="}}', Named) == Named("\ud83d", {1: b"hi"})


@dataclasses.dataclass
class Half:
    of_text: Circle | Texts | None = None
    number: int = 0
    colour: Colour | None = None


@pytest.mark.parametrize("field", ["number", "colour"])
def test_half_a_character_where_no_text_may_stand_is_invalid(field):
    with pytest.raises(OutputInvalid):
        output_of(f'{{"{field}": "\\ud83d"}}', Half)


def test_pydantic_is_imported_only_by_who_uses_it():
    code = (
        "import sys, msgspec, chunkfold\n"
        "class T(msgspec.Struct):\n    a: int\n"
        'body = b\'data: {"choices":[{"index":0,"delta":{"content":"{}"}}]}\\n\\n\'\n'
        "with chunkfold.stream(body.replace(b'{}', b'{\\\\\"a\\\\\":1}'), output_type=T) as events:\n"
        "    list(events)\n"
        "    assert events.output() == T(1)\n"
        "assert 'pydantic' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
