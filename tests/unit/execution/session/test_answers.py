"""What a machine says of a session's files: its own, from its folder, and no others."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from trunkline.execution.errors import RequestFailed
from trunkline.execution.home import Home
from trunkline.execution.session import changed_files, ipc
from trunkline.execution.session.answers import SessionAnswers
from trunkline.execution.session.saved import SavedTurns, save_start
from trunkline.execution.worktrees import Worktrees

Json = dict[str, Any]


@pytest.fixture
def work(home: Home, tmp_path: Path) -> Path:
    """The folder of session `s-1`."""
    folder = tmp_path / "work"
    folder.mkdir()
    home.session("s-1").mkdir(parents=True)
    start = ipc.Start(session_id="s-1", home=str(home.root), workspace=str(folder))
    save_start(home.session("s-1"), start)
    return folder


@pytest.fixture
def answers(home: Home) -> SessionAnswers:
    return SessionAnswers(home, Worktrees(home.worktrees))


def told(home: Home, path: str, change: str = "created") -> None:
    event = {"type": "file_changed", "path": path, "change": change, "diff": ""}
    changed_files.note(home.session("s-1"), json.dumps(event))


async def ask(answers: SessionAnswers, method: str, **params: Any) -> Json:
    return await answers.answer(f"session.{method}", {"session_id": "s-1", **params})


async def test_files_are_listed_by_what_became_of_them(
    home: Home, work: Path, answers: SessionAnswers
) -> None:
    (work / "a.txt").write_text("abc")
    for path, change in (
        *(("a.txt", "created"), ("a.txt", "modified"), ("b.txt", "created"), ("b.txt", "deleted")),
        *(("c.txt", "modified"), ("c.txt", "deleted")),
    ):
        told(home, path, change)
    changed_files.note(home.session("s-1"), '{"type":"text_chunk","content":"\\"file_changed\\""}')
    changed_files.note(home.session("s-1"), '{"type":"file_created","path":7}')
    changed_files.note(home.session("s-1"), '{"type":"file_created","path":""} "file_c')
    listed = (await ask(answers, "files"))["files"]
    assert [(one["path"], one["change"], one["size"]) for one in listed] == [
        ("a.txt", "created", 3),
        ("c.txt", "deleted", None),
    ]


async def test_a_file_is_read_in_parts(home: Home, work: Path, answers: SessionAnswers) -> None:
    (work / "a.bin").write_bytes(bytes(range(100)))
    told(home, "a.bin")
    part = await ask(answers, "file", path="a.bin", offset=10, length=5)
    assert (part["size"], base64.b64decode(part["data"])) == (100, bytes(range(10, 15)))
    assert (await ask(answers, "file", path="a.bin", offset=10**12))["data"] == ""


async def test_nothing_else_is_given_out(
    home: Home, work: Path, answers: SessionAnswers, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (work / "theirs.txt").write_text("not made by the session")
    (work / "link").symlink_to(secret)
    (work / "inward").symlink_to("theirs.txt")
    (work / "folder").symlink_to(tmp_path)
    (work / "loop").symlink_to("loop")
    (work / "inner").mkdir()
    os.mkfifo(work / "pipe")
    hostile = (
        "link",
        "inward",
        "folder/secret.txt",
        "loop",
        "inner",
        "pipe",
        "../secret.txt",
        "a\0b",
        "gone",
    )
    for path in (*hostile, str(secret), str(home.session("s-1") / "start.json")):
        told(home, path)
        with pytest.raises(RequestFailed) as refused:
            await ask(answers, "file", path=path)
        assert refused.value.code == "FILE_NOT_FOUND", path
    with pytest.raises(RequestFailed):
        await ask(answers, "file", path="theirs.txt")
    assert {one["size"] for one in (await ask(answers, "files"))["files"]} == {None}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("files", {"session_id": "../s-1"}),
        ("files", {"session_id": 7}),
        ("file", {}),
        ("file", {"path": "x" * 5_000}),
        ("file", {"path": "a", "offset": -1}),
        ("file", {"path": "a", "length": 10**9}),
        ("diff", {"session_id": "/etc"}),
        ("discard", {"session_id": ""}),
    ],
)
async def test_bad_questions_are_refused(
    work: Path, answers: SessionAnswers, method: str, params: Json
) -> None:
    with pytest.raises(RequestFailed) as refused:
        await ask(answers, method, **params)
    assert refused.value.code == "INVALID_REQUEST"


async def test_a_session_that_has_not_begun_here_has_changed_no_files(
    work: Path, answers: SessionAnswers
) -> None:
    assert await ask(answers, "files", session_id="s-2") == {"files": []}
    with pytest.raises(RequestFailed) as refused:
        await ask(answers, "file", session_id="s-2", path="a.txt")
    assert refused.value.code == "FILE_NOT_FOUND"


async def test_work_is_not_thrown_away_under_a_turn(
    home: Home, work: Path, answers: SessionAnswers
) -> None:
    SavedTurns(home.session("s-1")).begin("turn")
    with pytest.raises(RequestFailed) as refused:
        await ask(answers, "discard")
    assert refused.value.code == "SESSION_BUSY"


async def test_the_list_is_bounded(home: Home, work: Path, answers: SessionAnswers) -> None:
    for number in range(changed_files.CHANGED_FILES_MAX + 10):
        told(home, f"{number}.txt")
    assert len((await ask(answers, "files"))["files"]) == changed_files.CHANGED_FILES_MAX
    told(home, "x" * 10_000)
    (home.session("s-1") / "files.jsonl").write_bytes(b"\xff\nnonsense\n{}\n")
    assert (await ask(answers, "files"))["files"] == []
