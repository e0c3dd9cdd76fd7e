"""Texts and values of any size and shape become small and readable."""

import json
import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trunkline.execution.texts import Excerpt, clipped, readable, shortened

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner),
)


@given(value=_values)
def test_what_is_small_stays_as_it_is(value: Any) -> None:
    assert clipped(value, 10**9) == value


@given(value=_values, chars_max=st.integers(1, 50))
def test_texts_together_stay_within_the_bound(value: Any, chars_max: int) -> None:
    assert sum(map(len, _texts(clipped(value, chars_max)))) <= chars_max + len(_texts(value))


def test_what_comes_after_the_bound_is_left_out() -> None:
    assert clipped(["000", None, None], 3) == ["00…"]
    assert clipped({"a": "000", "b": None}, 3) == {"a": "…"}


def test_a_value_nested_without_end_is_cut() -> None:
    value: Any = "deep"
    for _ in range(5000):
        value = [value]
    assert len(json.dumps(clipped(value))) < 1000


def test_half_characters_become_readable() -> None:
    assert readable("fine ✓") == "fine ✓"
    assert clipped({"name": "bad\udcff"})["name"].encode()


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return []


def taken(pieces: list[str], chars_max: int, *, head_only: bool = False) -> Excerpt:
    excerpt = Excerpt(chars_max, head_only=head_only)
    for piece in pieces:
        excerpt.add(piece)
    return excerpt


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 40))
def test_a_text_that_fits_is_whole_and_another_has_both_its_ends(
    pieces: list[str], chars_max: int
) -> None:
    whole = "".join(pieces)
    excerpt = taken(pieces, chars_max)
    if len(whole) <= chars_max:
        assert (str(excerpt), excerpt.cut_chars) == (whole, 0)
        return
    tail = chars_max // 2
    head = chars_max - tail
    note = f"\n[… {len(whole) - chars_max} characters left out …]\n"
    assert str(excerpt) == whole[:head] + note + (whole[-tail:] if tail else "")


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 40))
def test_the_head_alone_can_be_kept(pieces: list[str], chars_max: int) -> None:
    whole = "".join(pieces)
    excerpt = taken(pieces, chars_max, head_only=True)
    assert str(excerpt).startswith(whole[:chars_max])
    assert excerpt.cut_chars == max(0, len(whole) - chars_max)


def test_what_is_kept_in_memory_is_bounded() -> None:
    excerpt = taken(["x" * 1000] * 1000, 100)
    assert len(pickle.dumps(excerpt)) < 1000


def test_a_shortened_text_shows_that_it_goes_on() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"
