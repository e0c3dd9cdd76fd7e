"""What a foreign server calls a session, and what its folder is called here."""

from pathlib import Path

import pytest

from trunkline.execution.home import Home
from trunkline.execution.ws.foreign.names import Names, coded, decoded

HOSTILE = ["../../etc", "a/b", "x-y", ".hidden", "", "über", "会话", "a b", "nul\0", "\ud800", "x-"]


@pytest.mark.parametrize("foreign", [one for one in HOSTILE if one])
def test_an_id_that_is_no_plain_name_becomes_one_that_is_and_back(
    foreign: str, tmp_path: Path
) -> None:
    local = coded(foreign)
    assert Home(tmp_path).session(local).parent == Home(tmp_path).sessions
    assert decoded(local) == foreign


def test_a_plain_id_stays_as_it_is() -> None:
    assert coded("550e8400-e29b-41d4") == decoded("550e8400-e29b-41d4") == "550e8400-e29b-41d4"


@pytest.mark.parametrize("foreign", ["", "é" * 100, "/" * 200])
def test_an_id_that_no_folder_can_be_named_after_is_refused(foreign: str) -> None:
    with pytest.raises(ValueError, match="not usable"):
        coded(foreign)


def test_a_folder_that_somebody_else_named_is_no_reason_to_fail() -> None:
    assert decoded("x-!") == "x-!"


def test_a_bound_conversation_is_known_after_a_restart(tmp_path: Path) -> None:
    names = Names(tmp_path / "names.json")
    names.bind("c-9", "c-1")
    again = Names(tmp_path / "names.json")
    assert (again.local("c-9"), again.foreign("c-1")) == ("c-1", "c-9")
    again.forget("c-9")
    assert Names(tmp_path / "names.json").local("c-9") == "c-9"


def test_a_file_that_cannot_be_read_or_written_costs_no_name(tmp_path: Path) -> None:
    path = tmp_path / "names.json"
    path.write_text('{"c-9": 1')
    names = Names(path)
    assert names.local("c-9") == "c-9"
    path.unlink()
    path.mkdir()
    names.bind("c-9", "c-1")
    assert names.local("c-9") == "c-1"


def test_bound_conversations_are_bounded(tmp_path: Path) -> None:
    names = Names(tmp_path / "names.json", bound_max=2)
    for number in range(3):
        names.bind(f"c-{number}", "s")
    assert [names.local(f"c-{number}") for number in range(3)] == ["c-0", "s", "s"]
