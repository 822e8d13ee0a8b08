"""Every case of tests/data: named and with `auto`, in one read, as its `chunks` say, byte by byte and randomly cut."""

from __future__ import annotations

import time

import pytest

from chunkfold import dialects
from tests.helpers import body_of, case_files, cut, differences, fold_pieces, load_case

CASES = [path for path in case_files() if path.parent.name in dialects.names()]

# Debatable cases in which we differ on purpose: why, and whom the other choice would hurt, is in docs/fold.md.
DIFFERS: dict[str, str] = {}


def cuttings(case, body):
    """Performance cases only as they say; all others in every way."""
    ways = {"whole": None, "chunks": case.get("chunks")}
    if "max_seconds" not in case:
        ways |= {"each byte": "each-byte", "random": {"random": 1}, "random again": {"random": 2}}
    return {name: cut(body, how) for name, how in ways.items()}


@pytest.mark.parametrize("dialect", ["named", "auto"])
@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case_folds_to_its_result_however_it_is_cut(path, dialect):
    case = load_case(path)
    body = body_of(case)
    name = "auto" if dialect == "auto" else path.parent.name
    options = case.get("options") or {}
    for way, pieces in cuttings(case, body).items():
        begun = time.perf_counter()
        response = fold_pieces(pieces, name, **options)
        took = time.perf_counter() - begun
        wrong = differences(case["expect"], case.get("accept") or {}, response)
        if path.stem in DIFFERS:
            assert wrong, f"{path.stem} is listed as differing, but it agrees"
            continue
        assert not wrong, f"{way}: {wrong}"
        assert took <= case.get("max_seconds", float("inf"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_events_and_the_quiet_way_give_the_same_response(path):
    case = load_case(path)
    body = body_of(case)
    pieces = cut(body, case.get("chunks"))
    options = case.get("options") or {}
    assert fold_pieces(pieces, events=True, **options) == fold_pieces(pieces, events=False, **options)
