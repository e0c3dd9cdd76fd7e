"""The machine's answers: bounded by what is asked for, and with the sessions that go on already."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import foreign_files
from trunkline.execution.errors import RequestFailed
from trunkline.execution.home import Home
from trunkline.execution.roots import Roots
from trunkline.execution.runtimes.foreign.answers import LIST, READ, Answers
from trunkline.execution.runtimes.foreign.library import Library
from trunkline.execution.runtimes.hosted.state import SavedState

Json = dict[str, Any]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


@pytest.fixture
def answers(tmp_path: Path, home: Home) -> Answers:
    foreign_files.claude_code(tmp_path, home.workspace)
    foreign_files.codex(tmp_path, home.workspace)
    return Answers(Library(tmp_path, {}, Roots(home.workspace)), home)


async def test_the_workspace_is_a_root_always(answers: Answers, home: Home) -> None:
    found = await answers.answer(LIST, {})
    assert {one["folder"] for one in found["sessions"]} == {str(home.workspace.resolve())}
    assert len(found["sessions"]) == 2
    one = await answers.answer(LIST, {"limit": 1})
    rest = await answers.answer(LIST, {"limit": 1, "cursor": one["next_cursor"]})
    assert one["sessions"][0]["id"] != rest["sessions"][0]["id"]


async def test_one_that_a_session_has_already_says_so(answers: Answers, home: Home) -> None:
    folder = home.session("s-1")
    folder.mkdir()
    SavedState(folder, "claude-code").put({"session_id": foreign_files.CLAUDE_ID})
    (home.session("s-2")).mkdir()
    (home.session("s-2") / "runtime.json").write_text("{")
    found = {one["id"]: one for one in (await answers.answer(LIST, {}))["sessions"]}
    assert found[foreign_files.CLAUDE_ID]["session_id"] == "s-1"
    assert "session_id" not in found[foreign_files.CODEX_ID]


async def test_one_is_read_with_its_history(answers: Answers) -> None:
    asked = {"runtime": "acp", "preset": "codex", "id": foreign_files.CODEX_ID}
    found = await answers.answer(READ, asked)
    assert found["session"]["id"] == foreign_files.CODEX_ID
    assert found["entries"][0] == {
        "role": "user",
        "text": foreign_files.STARTED,
        "at": 1794805445183,
    }


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("foreign_sessions.delete", {}, "METHOD_NOT_FOUND"),
        (LIST, {"limit": 0}, "INVALID_REQUEST"),
        (LIST, {"limit": "many"}, "INVALID_REQUEST"),
        (LIST, {"limit": 10**9}, "INVALID_REQUEST"),
        (LIST, {"cursor": "x"}, "INVALID_REQUEST"),
        (LIST, {"folder": "\0"}, "INVALID_REQUEST"),
        (LIST, {"folder": "x" * 100_000}, "INVALID_REQUEST"),
        (READ, {}, "INVALID_REQUEST"),
        (READ, {"runtime": "claude-code", "id": "../x"}, "FOREIGN_SESSION_NOT_FOUND"),
        (READ, {"runtime": "x", "id": foreign_files.CLAUDE_ID}, "FOREIGN_SESSION_NOT_FOUND"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    answers: Answers, method: str, params: Json, code: str
) -> None:
    with pytest.raises(RequestFailed) as refused:
        await answers.answer(method, params)
    assert refused.value.code == code
