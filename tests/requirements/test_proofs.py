"""Reading marks from sources: the manifest's check is only as good as this."""

from pathlib import Path

import pytest

from tests.requirements.coverage import page
from tests.requirements.headings import anchor_of, anchors, leads_nowhere, section
from tests.requirements.proofs import Proof, find_proofs
from tests.requirements.requirement import Requirement

SOURCE = """
import pytest

NAME = "000-1-d"

@pytest.mark.proves("000-1-a", "000-1-b")
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.proves("000-1-c"))])
async def test_one(x): ...

class TestGroup:
    @pytest.mark.proves("000-1-a")
    def test_two(self): ...

@pytest.mark.proves("000-1-e")
def helper(): ...

@pytest.mark.proves(NAME)
def test_three(): ...
"""


def _found(tmp_path: Path, source: str) -> list[Proof]:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(source)
    return find_proofs(tmp_path / "tests", tmp_path)


def test_marks_are_found_on_functions_methods_and_parameters(tmp_path: Path) -> None:
    found = {(one.requirement, one.test) for one in _found(tmp_path, SOURCE)}
    assert {("000-1-a", "test_one"), ("000-1-b", "test_one"), ("000-1-c", "test_one")} <= found
    assert ("000-1-a", "test_two") in found


def test_a_mark_on_no_test_and_a_name_that_is_no_text_are_shown(tmp_path: Path) -> None:
    found = _found(tmp_path, SOURCE)
    assert [one.requirement for one in found if one.test is None] == ["000-1-e"]
    assert [one.test for one in found if one.requirement is None] == ["test_three"]


def test_a_mark_without_names_is_shown(tmp_path: Path) -> None:
    source = "import pytest\n\n@pytest.mark.proves()\ndef test_x(): ...\n"
    assert _found(tmp_path, source) == [Proof(None, "tests/test_x.py", 3, "test_x")]


def test_a_file_without_marks_is_not_even_read_as_python(tmp_path: Path) -> None:
    assert _found(tmp_path, "this is no python") == []


def test_the_page_shows_where_it_is_stated_and_proofs_reasons_and_divergences() -> None:
    entries = [
        Requirement("000-1-here", "It is here.", "semibot.md#close-codes"),
        Requirement("000-1-there", "It is there.", "semibot.md#init", reason="another day"),
        Requirement("000-1-else", "It is else.", "agp.md#ping", divergence="it was not"),
    ]
    text = page(entries, [Proof("000-1-here", "tests/test_x.py", 1, "test_it_is_so")])
    stated = "[semibot: close codes](semibot.md#close-codes)"
    assert "3 entries, 1 proven by tests." in text
    assert f"| `here` | It is here. | {stated} | [it is so](../../tests/test_x.py) |" in text
    assert "| [semibot: init](semibot.md#init) | none: another day |" in text
    assert "| `else` | It is else.<br>*Divergence:* it was not. |" in text


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("start_session", "start_session"),
        ("session.promptResponse", "sessionpromptresponse"),
        ("Down: daemon → process", "down-daemon--process"),
        ("`seq`: nothing lost", "seq-nothing-lost"),
    ],
)
def test_a_heading_has_the_anchor_that_links_name(heading: str, anchor: str) -> None:
    assert anchor_of(heading) == anchor


def test_a_line_inside_code_is_no_heading() -> None:
    assert anchors("# One\n\n```sh\n# a comment\n```\n\n## Two\n") == ["one", "two"]


def test_a_section_goes_up_to_the_next_heading_of_its_level() -> None:
    page = "# All\n\n## One\n\na\n\n```sh\n## no\n```\n\n### Below\n\nb\n\n## Two\n\nc\n"
    assert section(page, "one") == "## One\n\na\n\n```sh\n## no\n```\n\n### Below\n\nb\n"
    assert section(page, "two") == "## Two\n\nc"
    assert section(page, "three") == ""


def test_a_link_leads_nowhere_without_its_file_or_its_heading(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Here\n")
    assert not leads_nowhere("page.md", tmp_path)
    assert not leads_nowhere("page.md#here", tmp_path)
    assert leads_nowhere("page.md#there", tmp_path)
    assert leads_nowhere("other.md", tmp_path)
