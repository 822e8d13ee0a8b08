"""The counts of an object whose keys were met before are found without a search, and are the same."""

from hypothesis import given
from hypothesis import strategies as st

from chunkfold.dialects._usage import Counts, count

NAMES = (("a", "a_a"), ("b", "b_b"), ("c",), ("o.a", "p.a", "d"), ("o.b",))

counts = Counts(*NAMES)

values = st.sampled_from([None, 0, 7, -1, 1 << 70, True, 1.0, 2.5, float("inf"), float("nan"), "3", {"a": 1}, [1]])

inner = st.dictionaries(st.sampled_from(["a", "b", "x"]), values)


@given(st.dictionaries(st.sampled_from(["a", "a_a", "b", "b_b", "c", "d", "a.b", "o", "p"]), values | inner))
def test_counts_are_what_count_finds(raw):
    found, known = counts(raw), [count(raw, *same) for same in NAMES]
    assert found == known
    assert list(map(type, found)) == list(map(type, known))
