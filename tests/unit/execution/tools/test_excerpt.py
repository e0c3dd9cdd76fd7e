"""Both ends of a long text, whatever the pieces it comes in."""

from hypothesis import given
from hypothesis import strategies as st

from trunkline.execution.tools.text_files import Excerpt, shortened


def text_of(pieces: list[str], chars_max: int, *, head_only: bool = False) -> Excerpt:
    excerpt = Excerpt(chars_max, head_only=head_only)
    for piece in pieces:
        excerpt.add(piece)
    return excerpt


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 40))
def test_a_text_that_fits_is_whole_and_another_has_both_its_ends(
    pieces: list[str], chars_max: int
) -> None:
    whole = "".join(pieces)
    excerpt = text_of(pieces, chars_max)
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
    excerpt = text_of(pieces, chars_max, head_only=True)
    assert str(excerpt).startswith(whole[:chars_max])
    assert excerpt.cut_chars == max(0, len(whole) - chars_max)


def test_what_is_kept_in_memory_is_bounded() -> None:
    excerpt = text_of(["x" * 1000] * 1000, 100)
    assert len(excerpt._head) + len(excerpt._tail) <= 200


def test_a_shortened_text_shows_that_it_goes_on() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"
