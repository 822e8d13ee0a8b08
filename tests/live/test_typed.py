"""Typed partials: what there is of an answer of a type, and the whole one, for structs, dataclasses and models."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from typing import Annotated, Generic, Literal, NamedTuple, Optional, TypedDict, TypeVar

import msgspec
import pytest

from chunkfold import UNSET, LimitExceeded, Limits, MissingExtra, OutputInvalid, astream, stream
from chunkfold.events import TextDelta, TextPathDelta
from chunkfold.typed import AsyncTypedStream, TypedStream
from tests.live.answers import chat, output_of, partial_after, pieces_of

pydantic = pytest.importorskip("pydantic")


# The same three types made in three ways.


class StructCat(msgspec.Struct, tag="cat", tag_field="kind"):
    name: str
    lives: int = 9


class StructCatfish(msgspec.Struct, tag="catfish", tag_field="kind"):
    name: str
    depth: float | None = None


class StructOwner(msgspec.Struct):
    name: str
    email: str | None = None


class StructHome(msgspec.Struct):
    title: str
    owner: StructOwner
    pets: list[StructCat | StructCatfish] = []
    tags: dict[str, list[str]] = {}
    note: Optional[str] = None  # noqa: UP045 - the older form is to work as well
    floors: int = 1


@dataclasses.dataclass
class DataCat:
    kind: Literal["cat"]
    name: str
    lives: int = 9


@dataclasses.dataclass
class DataCatfish:
    kind: Literal["catfish"]
    name: str
    depth: float | None = None


@dataclasses.dataclass
class DataOwner:
    name: str
    email: str | None = None


@dataclasses.dataclass
class DataHome:
    title: str
    owner: DataOwner
    pets: list[DataCat | DataCatfish] = dataclasses.field(default_factory=list)
    tags: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    note: Optional[str] = None  # noqa: UP045
    floors: int = 1


class ModelCat(pydantic.BaseModel):
    kind: Literal["cat"]
    name: str
    lives: int = 9


class ModelCatfish(pydantic.BaseModel):
    kind: Literal["catfish"]
    name: str
    depth: float | None = None


class ModelOwner(pydantic.BaseModel):
    name: str
    email: str | None = None


class ModelHome(pydantic.BaseModel):
    title: str
    owner: ModelOwner
    pets: list[Annotated[ModelCat | ModelCatfish, pydantic.Field(discriminator="kind")]] = []
    tags: dict[str, list[str]] = {}
    note: Optional[str] = None  # noqa: UP045
    floors: int = 1


@pydantic.dataclasses.dataclass
class ModelDataHome:
    title: str
    owner: ModelOwner
    pets: list[ModelCat | ModelCatfish] = dataclasses.field(default_factory=list)
    tags: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    note: Optional[str] = None  # noqa: UP045
    floors: int = 1


HOMES = [StructHome, DataHome, ModelHome, ModelDataHome]
FISH = {StructHome: StructCatfish, DataHome: DataCatfish, ModelHome: ModelCatfish, ModelDataHome: ModelCatfish}
CAT = {StructHome: StructCat, DataHome: DataCat, ModelHome: ModelCat, ModelDataHome: ModelCat}

WHOLE = {
    "title": "Lake house",
    "owner": {"name": "Ada", "email": None},
    "pets": [{"kind": "catfish", "name": "Bob", "depth": 2.5}, {"kind": "cat", "name": "Tom"}],
    "tags": {"old": ["a", "b"]},
    "floors": 12,
}


@pytest.mark.parametrize("home", HOMES)
class TestEveryKind:
    def test_nothing_has_come(self, home):
        view = partial_after("{", home)
        assert view.title is UNSET
        assert view.owner is UNSET
        assert view.pets is UNSET

    def test_a_string_grows(self, home):
        assert partial_after('{"title": "', home).title == ""
        assert partial_after('{"title": "La', home).title == "La"

    def test_a_number_waits_until_it_is_sure(self, home):
        assert partial_after('{"floors": 1', home).floors is UNSET
        assert partial_after('{"floors": 12,', home).floors == 12

    def test_nested(self, home):
        view = partial_after('{"owner": {"name": "A', home)
        assert view.owner.name == "A"
        assert view.owner.email is UNSET

    def test_a_list_grows(self, home):
        view = partial_after('{"pets": [{"kind": "cat", "name": "Tom"}, {"kind": "cat", "name": "J', home)
        assert len(view.pets) == 2
        assert [pet.name for pet in view.pets] == ["Tom", "J"]
        assert view.pets[-1].name == "J"
        assert [pet.name for pet in view.pets[:1]] == ["Tom"]

    def test_a_union_is_a_mapping_until_its_tag_is_known(self, home):
        """`cat` may become `catfish`: a tag that still grows is not known."""
        unknown = {
            "{": {},
            '{"name": "B"': {"name": "B"},
            '{"kind": "c': {"kind": "c"},
            '{"kind": "cat': {"kind": "cat"},
            '{"kind": "catfish': {"kind": "catfish"},
            '{"kind": "dog"': {"kind": "dog"},
        }
        for text, so_far in unknown.items():
            assert partial_after('{"pets": [' + text, home).pets[0] == so_far
        cat = partial_after('{"pets": [{"kind": "cat"', home).pets[0]
        fish = partial_after('{"pets": [{"kind": "catfish"', home).pets[0]
        assert repr(cat).startswith(f"<partial {CAT[home].__name__}:")
        assert repr(fish).startswith(f"<partial {FISH[home].__name__}:")
        assert cat.lives is UNSET
        assert fish.depth is UNSET

    def test_a_tag_may_come_last(self, home):
        pet = partial_after('{"pets": [{"name": "B", "kind": "cat"', home).pets[0]
        assert pet.name == "B"

    def test_mappings_grow(self, home):
        view = partial_after('{"tags": {"old": ["a", "b', home)
        assert dict(view.tags) == {"old": ["a", "b"]}

    def test_optional(self, home):
        assert partial_after('{"note": nul', home).note is UNSET
        assert partial_after('{"note": null', home).note is None
        assert partial_after('{"note": "x', home).note == "x"

    def test_a_default_is_part_of_the_output_only(self, home):
        assert partial_after('{"title": "x"}', home).floors is UNSET
        assert output_of('{"title": "x", "owner": {"name": "y"}}', home).floors == 1

    def test_output(self, home):
        made = output_of(json.dumps(WHOLE), home)
        assert isinstance(made, home)
        assert made.title == "Lake house"
        assert made.owner.email is None
        assert isinstance(made.pets[0], FISH[home])
        assert isinstance(made.pets[1], CAT[home])
        assert (made.pets[0].depth, made.pets[1].lives, made.floors, made.tags) == (2.5, 9, 12, {"old": ["a", "b"]})

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"floors": "many"}, ("floors",)),
            ({"owner": {"name": 5}}, ("owner", "name")),
            ({"owner": {}}, ("owner", "name")),
            ({"owner": []}, ("owner",)),
            ({"title": None}, ("title",)),
            ({"pets": [{"kind": "cat", "name": "Tom"}, {"kind": "cat", "name": None}]}, ("pets", 1, "name")),
            ({"pets": {}}, ("pets",)),
            ({"tags": {"old": "a"}}, ("tags", "old")),
        ],
    )
    def test_an_invalid_end_says_where(self, home, change, path):
        with pytest.raises(OutputInvalid) as caught:
            output_of(json.dumps({**WHOLE, **change}), home)
        # msgspec does not tell the keys of mappings.
        assert tuple("old" if step == "..." else step for step in caught.value.path) == path
        assert caught.value.response.text == json.dumps({**WHOLE, **change})
        assert caught.value.reason in str(caught.value)

    def test_a_missing_field_is_where_it_should_be(self, home):
        with pytest.raises(OutputInvalid) as caught:
            output_of('{"title": "x"}', home)
        assert caught.value.path == ("owner",)

    def test_an_unknown_tag_is_invalid(self, home):
        with pytest.raises(OutputInvalid) as caught:
            output_of(json.dumps({**WHOLE, "pets": [{"kind": "dog", "name": "Rex"}]}), home)
        assert caught.value.path[:2] == ("pets", 0)

    @pytest.mark.parametrize("text", ['{"title": "x', "Sure! Here", "[1, 2]", "", '{"title": "x"} and more'])
    def test_an_answer_that_is_no_such_json_is_invalid(self, home, text):
        with pytest.raises(OutputInvalid) as caught:
            output_of(text, home)
        assert caught.value.path == ()
        assert caught.value.response.text == text

    def test_a_view_cannot_be_changed(self, home):
        view = partial_after('{"title": "x", "owner": {"name": "y"}, "tags": {"a": ["b"]}', home)
        with pytest.raises(AttributeError):
            view.title = "z"
        with pytest.raises(AttributeError):
            view.owner.name = "z"
        with pytest.raises(AttributeError):
            del view.title
        with pytest.raises(TypeError):
            view.tags["a"] = []
        with pytest.raises(TypeError):
            view.tags["a"][0] = "c"
        with pytest.raises(AttributeError):
            view.rooms  # noqa: B018
        assert set(dir(view)) == {"title", "owner", "pets", "tags", "note", "floors"}

    def test_a_view_stays_as_it_is(self, home):
        text = json.dumps(WHOLE)
        events = stream(pieces_of(text), output_type=home)
        kept = [(events.partial(), len(events.response().text)) for _ in events]
        for view, length in kept[:: len(kept) // 20]:
            assert view == partial_after(text[:length], home)
        assert kept[-1][0].pets[1].name == "Tom"

    def test_the_output_is_a_new_object_at_each_use(self, home):
        with stream(pieces_of(json.dumps(WHOLE)), output_type=home) as events:
            list(events)
            assert events.output() == events.output()
            assert events.output() is not events.output()


def test_output_before_the_end_is_wrong_use():
    with stream(pieces_of("{}"), output_type=DataOwner) as events:
        with pytest.raises(ValueError, match="before the end"):
            events.output()
        list(events)
        with pytest.raises(OutputInvalid):
            events.output()


@pytest.mark.parametrize("answer", ['{"name": "Ad', '{"name": "Ada"}'])
def test_an_answer_that_a_limit_cuts_is_no_whole_one(answer):
    """Half a name is a name too, where nobody looks whether its object was closed."""
    pieces = [chat(answer), b"data: " + b"x" * 1000]
    for cls in (StructOwner, DataOwner, ModelOwner):
        with stream(pieces, output_type=cls, limits=Limits(stream_bytes=500)) as events:
            with pytest.raises(LimitExceeded):
                list(events)
            assert events.response().text == answer
            if answer.endswith("}"):
                assert events.output() == cls(name="Ada")
                continue
            with pytest.raises(OutputInvalid, match="ends too early"):
                events.output()


@pytest.mark.parametrize("wrong", [dict, int, list[int], "Home", 5])
def test_an_output_type_without_fields_is_wrong_use(wrong):
    with pytest.raises(TypeError, match="output_type must be"):
        stream(b"", output_type=wrong)


class StructOfEither(msgspec.Struct):
    """msgspec wants tags."""

    pet: StructOwner | StructNoTag


class StructNoTag(msgspec.Struct):
    name: str


def test_a_type_that_cannot_be_made_is_wrong_use_before_anything_comes():
    with pytest.raises(TypeError, match="must be tagged"):
        stream(b"", output_type=StructOfEither)


def test_a_model_of_a_pydantic_that_cannot_be_imported_names_the_extra_before_anything_comes(monkeypatch):
    """As where a program has a pydantic of its own under another name."""
    monkeypatch.setitem(sys.modules, "pydantic", None)
    for wrong in (ModelOwner, ModelOwners, ModelDataHome):
        with pytest.raises(MissingExtra, match=r"pydantic is not installed: pip install 'chunkfold\[pydantic\]'"):
            stream(b"", output_type=wrong)
    assert isinstance(stream(b"", output_type=StructOwner), TypedStream)


def test_the_asynchronous_twin():
    async def run():
        async with astream(pieces_of('{"name": "Ada"}'), output_type=StructOwner) as events:
            assert isinstance(events, AsyncTypedStream)
            seen = [events.partial().name async for event in events if isinstance(event, TextDelta)]
            return seen, events.output()

    seen, output = asyncio.run(run())
    assert seen[:13] == [UNSET] * 9 + ["", "A", "Ad", "Ada"]
    assert output == StructOwner("Ada")


def test_live_text_and_output_type_go_together():
    with stream(pieces_of('{"name": "Ada"}'), output_type=StructOwner, live_text=True) as events:
        assert isinstance(events, TypedStream)
        told = [event.text for event in events if isinstance(event, TextPathDelta)]
    assert told == ["A", "d", "a"]
    with stream(pieces_of('{"name": "Ada"}'), output_type=StructOwner) as events:
        assert not [event for event in events if isinstance(event, TextPathDelta)]


def test_text_before_the_document_is_no_part_of_it():
    call = {
        "index": 0,
        "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]},
    }
    between = b"data: %s\n\n" % json.dumps({"choices": [call]}).encode()
    with stream([chat("Let me see."), between, chat('{"name": "Ada"}')], output_type=StructOwner) as events:
        list(events)
        assert events.output() == StructOwner("Ada")


def test_white_space_behind_the_document_is_no_other_document():
    """Models behind vLLM end with line feeds, also behind a call."""
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    between = b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": call}]}).encode()
    with stream([chat('{"name": "Ada"}'), between, chat("\n"), chat("\n")], output_type=StructOwner) as events:
        names = [events.partial().name for event in events if isinstance(event, TextDelta)]
        assert names == ["Ada", "Ada", "Ada"]
        assert events.output() == StructOwner("Ada")


# Generic types

T = TypeVar("T")


class StructBox(msgspec.Struct, Generic[T]):
    inside: T
    more: list[T] = []


@dataclasses.dataclass
class DataBox(Generic[T]):
    inside: T
    more: list[T] = dataclasses.field(default_factory=list)


class ModelBox(pydantic.BaseModel, Generic[T]):
    inside: T
    more: list[T] = []


@pytest.mark.parametrize("box", [StructBox, DataBox, ModelBox])
def test_a_view_knows_what_the_variables_of_a_generic_type_stand_for(box):
    # pydantic knows no structs.
    owner = ModelOwner if box is ModelBox else StructOwner
    assert partial_after('{"inside": {"name": "A', box[owner]).inside.name == "A"
    assert partial_after('{"more": [{"name": "A', box[owner]).more[0].name == "A"
    assert partial_after('{"inside": {"inside": {"name": "A', box[box[owner]]).inside.inside.name == "A"
    assert partial_after('{"inside": {"name": "A', box).inside == {"name": "A"}
    made = output_of('{"inside": {"name": "Ada"}, "more": [{"name": "Bob"}]}', box[owner])
    assert (made.inside, made.more) == (owner(name="Ada"), [owner(name="Bob")])
    with pytest.raises(OutputInvalid) as caught:
        output_of('{"inside": 5}', box[owner])
    assert caught.value.path[0] == "inside"


class StructOwnerBox(StructBox[StructOwner]):
    label: str = ""


@dataclasses.dataclass
class DataOwnerBox(DataBox[StructOwner]):
    label: str = ""


class DataOwnerBoxAgain(DataOwnerBox):
    """Without any variable of its own."""


@dataclasses.dataclass
class DataPairBox(DataBox[list[T]], Generic[T]):
    """The same variable stands for something else in the base."""

    last: T | None = None


class ModelOwnerBox(ModelBox[ModelOwner]):
    label: str = ""


@pytest.mark.parametrize("box", [StructOwnerBox, DataOwnerBox, DataOwnerBoxAgain, ModelOwnerBox])
def test_a_view_knows_what_the_variables_of_a_base_stand_for(box):
    assert partial_after('{"inside": {"name": "A', box).inside.name == "A"
    assert partial_after('{"more": [{"name": "A', box).more[0].name == "A"
    assert output_of('{"inside": {"name": "Ada"}}', box).inside.name == "Ada"


def test_a_variable_is_that_of_its_class():
    box = DataPairBox[StructOwner]
    assert partial_after('{"inside": [{"name": "A', box).inside[0].name == "A"
    assert partial_after('{"more": [[{"name": "A', box).more[0][0].name == "A"
    assert partial_after('{"last": {"name": "A', box).last.name == "A"


# Types of which JSON has no object with such fields


class ModelOwners(pydantic.RootModel[list[ModelOwner]]):
    pass


class ModelByName(pydantic.RootModel[dict[str, ModelOwner]]):
    pass


class ModelNote(pydantic.RootModel[str]):
    pass


class ModelOfRoots(pydantic.BaseModel):
    owners: ModelOwners
    by_name: ModelByName | None = None
    note: ModelNote = ModelNote("")


def test_a_root_model_is_its_root():
    assert partial_after("[", ModelOwners).root == []
    assert partial_after('[{"name": "A', ModelOwners).root[0].name == "A"
    assert partial_after('{"a": {"name": "A', ModelByName).root["a"].name == "A"
    assert partial_after('"A', ModelNote).root == "A"
    assert partial_after(" ", ModelNote).root is UNSET
    assert partial_after('{"owners": [{"name": "A', ModelOfRoots).owners.root[0].name == "A"
    assert partial_after('{"by_name": {"a": {"name": "A', ModelOfRoots).by_name.root["a"].name == "A"
    assert partial_after('{"by_name": null,', ModelOfRoots).by_name is None
    assert partial_after('{"note": "A', ModelOfRoots).note.root == "A"
    assert repr(partial_after("[", ModelOwners)) == "<partial ModelOwners: root>"
    assert output_of('[{"name": "Ada"}]', ModelOwners).root == [ModelOwner(name="Ada")]


class ByKey(TypedDict):
    owner: StructOwner


class InRow(NamedTuple):
    count: int
    owner: StructOwner


class StructInRow(msgspec.Struct, array_like=True):
    count: int
    owner: StructOwner


class StructOfThem(msgspec.Struct):
    by_key: ByKey | None = None
    in_row: InRow | None = None
    struct_in_row: StructInRow | None = None


def test_fields_are_found_in_typed_dicts_and_rows():
    assert partial_after('{"by_key": {"owner": {"name": "A', StructOfThem).by_key["owner"].name == "A"
    assert partial_after('{"by_key": {"other": {"name": "A', StructOfThem).by_key["other"] == {"name": "A"}
    assert partial_after('{"in_row": [1, {"name": "A', StructOfThem).in_row[1].name == "A"
    assert partial_after('{"struct_in_row": [1, {"name": "A', StructOfThem).struct_in_row[1].name == "A"
    assert partial_after('{"in_row": [1, {"name": "A"}, {}', StructOfThem).in_row[2] == {}
    assert output_of('{"in_row": [1, {"name": "A"}]}', StructOfThem).in_row == InRow(1, StructOwner("A"))


# Names under which JSON has the fields


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str


class Aliased(pydantic.BaseModel):
    first_name: str = pydantic.Field(alias="firstName")


class Chosen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    first_name: str = pydantic.Field(validation_alias=pydantic.AliasChoices("firstName", "first"))


@pytest.mark.parametrize("cls", [Renamed, Aliased, Chosen])
def test_fields_are_found_under_their_names_in_json(cls):
    assert partial_after('{"firstName": "A', cls).first_name == "A"
    assert output_of('{"firstName": "Ada"}', cls).first_name == "Ada"


def test_several_names_of_a_field():
    assert partial_after('{"first": "A', Chosen).first_name == "A"
    assert partial_after('{"first_name": "A', Chosen).first_name == "A"


class StructClosed(msgspec.Struct, forbid_unknown_fields=True):
    name: str = ""
    inner: StructClosed | None = None


class ModelClosed(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: str = ""
    inner: ModelClosed | None = None


@pytest.mark.parametrize("cls", [StructClosed, ModelClosed])
def test_a_field_too_many_is_where_it_should_not_be(cls):
    for text, path in [('{"nick": "A"}', ("nick",)), ('{"inner": {"nick": "A"}}', ("inner", "nick"))]:
        with pytest.raises(OutputInvalid) as caught:
            output_of(text, cls)
        assert caught.value.path == path


class Reached(pydantic.BaseModel):
    first: str = pydantic.Field(validation_alias=pydantic.AliasPath("names", 0))
    owner: ModelOwner = pydantic.Field(
        validation_alias=pydantic.AliasChoices("owner", pydantic.AliasPath("who", "owner"))
    )


def test_paths_to_a_field():
    assert partial_after('{"names": ["A', Reached).first == "A"
    assert partial_after('{"names": [', Reached).first is UNSET
    assert partial_after('{"names": "A', Reached).first is UNSET
    assert partial_after('{"who": {"owner": {"name": "A', Reached).owner.name == "A"
    assert partial_after('{"owner": {"name": "A', Reached).owner.name == "A"
