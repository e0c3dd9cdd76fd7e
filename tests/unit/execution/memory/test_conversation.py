"""The text of conversation.md: what is parsed is what was said."""

from hypothesis import example, given
from hypothesis import strategies as st

from trunkline.execution.memory.local_memory import (
    Section,
    from_first_heading,
    is_role,
    parse,
    render,
)

AT = "2026-11-01T10:00:00.000000+00:00"
roles = st.sampled_from(["user", "assistant", "tool", "tool:bash", "系统"])
# Much that looks like a heading, or nearly.
pieces = st.one_of(
    st.sampled_from(
        ["\n", "\\", "## [user] x", "## [", "#", "\n\n## [tool] " + AT + "\n\n", "\r\n"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
contents = st.lists(pieces, max_size=8).map("".join)
sections = st.builds(Section, roles, st.just(AT), contents)


@given(st.lists(sections, max_size=6))
@example([Section("user", AT, "\n"), Section("user", AT, ""), Section("user", AT, "\\## [a] b")])
def test_what_was_rendered_is_parsed_back_exactly(said: list[Section]) -> None:
    assert parse("".join(map(render, said))) == said


def test_a_section_reads_like_markdown() -> None:
    section = Section("user", AT, "Hello\n## [not] a heading\n## Really one")
    assert render(section) == f"\n## [user] {AT}\n\nHello\n\\## [not] a heading\n## Really one\n"


@given(sections, st.data())
def test_a_torn_section_does_not_harm_the_next(torn: Section, data: st.DataObject) -> None:
    text = render(torn)
    text = text[: data.draw(st.integers(0, len(text)))]
    whole = Section("assistant", AT, "whole")
    assert parse(text + render(whole))[-1] == whole


def test_what_a_person_wrote_before_the_first_heading_is_no_section() -> None:
    assert parse("# My notes\n" + render(Section("user", AT, "hi"))) == [Section("user", AT, "hi")]
    assert parse("") == parse("only notes") == []


def test_a_cut_text_starts_at_its_first_heading() -> None:
    section = render(Section("user", AT, "hi"))
    assert from_first_heading("the end of something\n" + section) == section
    assert from_first_heading("one long section") == "one long section"


def test_a_role_is_one_short_word_without_brackets() -> None:
    assert is_role("user")
    assert is_role("tool:bash")
    for bad in ("", "a b", "a]", "[a", "a\n", "x" * 65):
        assert not is_role(bad)
