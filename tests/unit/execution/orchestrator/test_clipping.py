"""Values of any size and shape become small and readable."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trunkline.execution.orchestrator.clipping import clipped, readable

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
