"""Reading marks from sources: the manifest's check is only as good as this."""

from pathlib import Path

from tests.requirements.coverage import page
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


def test_the_page_shows_proofs_and_reasons() -> None:
    entries = [
        Requirement("000-1-here", "It is here."),
        Requirement("000-1-there", "It is there.", "another day"),
    ]
    text = page(entries, [Proof("000-1-here", "tests/test_x.py", 1, "test_it_is_so")])
    assert "2 entries, 1 proven by tests." in text
    assert "| `here` | It is here. | [it is so](../../tests/test_x.py) |" in text
    assert "| `there` | It is there. | none: another day |" in text
