"""`Folder.save` and `Folder.restore`: a process stops at any byte, and another goes on."""

from __future__ import annotations

import contextlib
import copy
import pickle
from binascii import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunkfold import Decoder, Folder, Limits, Policy, dialects
from chunkfold.errors import ChunkfoldError, RestoreError
from chunkfold.folding._saving import _MAGIC, _OBJECT, _STRUCT
from tests.conftest import DEEP
from tests.helpers import CANONICAL, CORPUS, body_of, case_files, cut, load_case

CASES = [path for path in case_files() if path.parent.name in dialects.names()]
SMALL = 20 << 10
# Every byte takes minutes: by default that many places of each case, always those where something is half-read.
PLACES = 6
STREAMS = 10


def fold(body, edges, saved, **options):
    """Events and response, with a save and a restore behind each edge in *saved*."""
    folder = Folder(**options)
    events = []
    for piece, end in zip(cut(body, edges), [*edges, len(body)], strict=True):
        events += folder.feed(piece)
        if end in saved:
            folder = Folder.restore(folder.save())
    events += folder.finish()
    return events, folder.close()


def check(body, places, **options):
    """
    One fold goes through a save at each of *places*, so that what one of them loses is missing in all that follows; and
    the same cuts without a save give the same.
    """
    edges = sorted(places)
    assert fold(body, edges, set(edges), **options) == fold(body, edges, (), **options)


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_survives_a_restart_anywhere(path):
    case = load_case(path)
    body = body_of(case)
    wanted = (len(body) if len(body) <= SMALL else 100) if DEEP else PLACES
    step = max(1, len(body) // max(1, wanted))
    options = {"live_arguments": True, "live_text": True, **(case.get("options") or {})}
    check(body, range(len(body) % step, len(body), step), **options)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of recorded streams is not here")
def test_ten_recorded_streams_survive_a_restart_at_a_hundred_places():
    import json

    rows = [json.loads(line) for line in (CORPUS / "expected.jsonl").read_text(encoding="utf-8").split("\n") if line]
    known = [row for row in rows if CANONICAL.get(row["dialect"], row["dialect"]) in dialects.names()]
    by_dialect = {row["dialect"]: row for row in known if (CORPUS / row["path"]).stat().st_size > 1000}
    for row in [*by_dialect.values(), *known][:STREAMS]:
        body = (CORPUS / row["path"]).read_bytes()
        check(body, range(1, len(body), max(1, len(body) // 100)), live_arguments=True)


def chat(content, finish=None):
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return b"data: %s\n\n" % msgspec.json.encode({"id": "c", "model": "m", "choices": [choice]})


STREAM = [chat("Hello "), chat("wörld "), chat(""), chat("!", "stop"), b"data: [DONE]\n\n"]


def test_both_go_on_alike_and_neither_notices_the_other():
    first = Folder()
    first.feed(STREAM[0])
    saved = first.save()
    second, third = Folder.restore(saved), Folder.restore(saved)
    for piece in STREAM[1:]:
        first.feed(piece)
        second.feed(piece, events=False)
    assert third.snapshot().text == "Hello "
    assert first.close() == second.close()
    assert first.close().text == "Hello wörld !"


def test_saving_changes_nothing_and_gives_the_same_bytes_again():
    folder = Folder()
    folder.feed(STREAM[0])
    assert folder.save() == folder.save()
    assert Folder.restore(folder.save()).save() == folder.save()


def test_options_limits_and_policy_are_saved():
    options = {
        "dialect": "openai-chat",
        "limits": Limits(tool_calls=1, frame_bytes=1000),
        "policy": Policy(unusable_arguments="drop"),
        "split_think_tags": True,
    }
    tags = [chat("<thi"), chat("nk>deep</think>"), chat("answer", "stop")]
    folder = Folder(**options)
    for piece in tags:
        folder.feed(piece)
        folder = Folder.restore(folder.save())
    assert folder.snapshot().reasoning == "deep"
    assert folder.dialect == "openai-chat"
    with pytest.raises(ChunkfoldError, match="frame_bytes"):
        folder.feed(chat("x" * 2000))


def test_the_size_is_of_the_order_of_the_message():
    folder = Folder()
    for number in range(20_000):
        folder.feed(chat(f"word {number} "), events=False)
    size = len(folder.snapshot().text.encode())
    assert len(folder.save()) <= 1.1 * size + 4000


def test_a_payload_may_nest_as_deep_as_it_likes():
    payload = "x"
    for _ in range(400):
        payload = {"deeper": [payload]}
    folder = Folder("openai-chat", limits=Limits(json_depth=None))
    folder.feed({"type": "unheard-of", "deep": payload})
    restored = Folder.restore(folder.save())
    assert restored.snapshot().to_json() == folder.snapshot().to_json()


def test_half_a_character_waits_for_its_mate():
    folder = Folder()
    half = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
    folder.feed(half % b"\\ud83d")
    folder = Folder.restore(folder.save())
    folder.feed(half % b"\\ude00")
    assert folder.close().text == "\U0001f600"


def test_a_folder_that_was_closed_has_nothing_to_go_on_with():
    folder = Folder()
    folder.close()
    with pytest.raises(ValueError, match="after close"):
        folder.save()


def test_payloads_that_are_no_json_cannot_be_saved():
    folder = Folder("openai-chat")
    folder.feed({"choices": [], "object": "unheard-of", "what": object()})
    with pytest.raises(TypeError, match="object"):
        folder.save()


# What is not its own


def saved():
    folder = Folder(live_arguments=True)
    for piece in STREAM[:3]:
        folder.feed(piece)
    return folder.save()


def forge(change):
    """A saved folder whose content was changed, with a right checksum."""
    data = saved()
    content = msgspec.msgpack.decode(data[len(_MAGIC) + 5 :])
    body = msgspec.msgpack.encode(change(content))
    return data[: len(_MAGIC) + 1] + crc32(body).to_bytes(4) + body


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", _MAGIC, _MAGIC + b"\x01", pickle.dumps({"a": 1}), b"chunkfold", b"\x00" * 100],
    ids=["empty", "json", "magic", "short", "pickle", "name", "zeros"],
)
def test_other_bytes_are_refused(data):
    with pytest.raises(RestoreError):
        Folder.restore(data)


def test_another_format_or_version_is_refused_and_named():
    data = saved()
    with pytest.raises(RestoreError, match="another format"):
        Folder.restore(data[: len(_MAGIC)] + b"\x63" + data[len(_MAGIC) + 1 :])
    with pytest.raises(RestoreError, match=r"9\.9\.9"):
        Folder.restore(forge(lambda content: ["9.9.9", *content[1:]]))


def test_damage_is_seen():
    data = saved()
    for place in range(len(_MAGIC) + 1, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 1
        with pytest.raises(RestoreError):
            Folder.restore(bytes(broken))
    for end in range(0, len(data), 11):
        with pytest.raises(RestoreError):
            Folder.restore(data[:end])


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("chunkfold.doors._sources", "Opened"),
        ("chunkfold.dialects", "os.system"),
        ("chunkfold.dialects", "get"),
        ("chunkfold.dialects.nowhere", "Dialect"),
        ("chunkfold.framing.text", "BracketScanner"),
        ("chunkfold.dialects._writer", "LimitExceeded"),
    ],
)
def test_no_other_class_is_made(module, name):
    def change(content):
        for entry in content[1]:
            if entry[1] == "Writer":
                entry[:2] = [module, name]
        return content

    with pytest.raises(RestoreError):
        Folder.restore(forge(change))


def test_fields_are_those_of_the_class_and_of_their_types():
    def other_name(content):
        for entry in content[1]:
            if entry[1] == "Slot":
                entry[2][0] = "__class__"
        return content

    def other_type(content):
        for node in content[2]:
            if node[:2] == [_OBJECT, next(n for n, entry in enumerate(content[1]) if entry[1] == "Writer")]:
                node[3] = "frame"
        return content

    def other_root(content):
        content[3][0] = content[3][1]
        return content

    def other_policy(content):
        for node in content[2]:
            if node[:2] == [_STRUCT, next(n for n, entry in enumerate(content[1]) if entry[1] == "Policy")]:
                node[2] = "run it anyway"
        return content

    for change in (other_name, other_type, other_root, other_policy):
        with pytest.raises(RestoreError):
            Folder.restore(forge(change))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 80) | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(data=st.data())
def test_forged_bytes_give_a_folder_or_restore_error_and_nothing_else(data):
    def change(content):
        nodes = content[2]
        for _ in range(data.draw(st.integers(1, 3))):
            node = nodes[data.draw(st.integers(0, len(nodes) - 1))]
            place = data.draw(st.integers(0, len(node) - 1))
            node[place] = data.draw(JSON)
        return content

    with contextlib.suppress(RestoreError):
        Folder.restore(forge(change))


# Copies


TEN_PIECES = b"".join(b'data: {"choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n' % number for number in range(10))
COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda folder: pickle.loads(pickle.dumps(folder))}


@pytest.mark.parametrize("how", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("at", [0, 20, 80, 200, 250])
def test_a_copy_of_a_folder_goes_on_for_itself(how, at):
    """A shallow one shared what is under way with the first, and a deep one could not read on."""
    folder = Folder(live_arguments=True)
    folder.feed(TEN_PIECES[:at])
    twin = how(folder)
    assert twin.close().ended == "eof"
    twin = how(folder)
    assert twin.feed(TEN_PIECES[at:]) == folder.feed(TEN_PIECES[at:])
    assert twin.close() == folder.close()
    assert how(folder).close() == folder.close()


def test_a_copy_of_a_folder_of_ones_own_class_has_what_that_has():
    class Counting(Folder):
        fed = 0

        def feed(self, data, events=True):
            self.fed += 1
            return super().feed(data, events)

    folder = Counting()
    folder.feed(TEN_PIECES[:80])
    twin = copy.copy(folder)
    twin.feed(TEN_PIECES[80:])
    assert (type(twin), folder.fed, twin.fed) == (Counting, 1, 2)
    assert twin.close().text == "0123456789"


@pytest.mark.parametrize("at", [0, 20, 80, 200, 250])
def test_a_deep_copy_of_a_decoder_reads_on(at):
    decoder = Decoder()
    decoder.feed(TEN_PIECES[:at])
    twin = copy.deepcopy(decoder)
    assert twin.feed(TEN_PIECES[at:]) + twin.close() == decoder.feed(TEN_PIECES[at:]) + decoder.close()
