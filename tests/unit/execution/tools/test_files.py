"""Reading, writing and changing files of the workspace."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.execution.tools.support import Call
from trunkline.execution.errors import ToolError
from trunkline.execution.home import Home
from trunkline.execution.tools.files import FILE_READ_CHARS_MAX, ReadFile
from trunkline.execution.tools.text_files import FILE_BYTES_MAX, Paths
from trunkline.execution.tools.writing import EditFile, WriteFile


@pytest.fixture
def read(paths: Paths, env: dict[str, str]) -> ReadFile:
    return ReadFile(paths, env)


@pytest.fixture
def write(paths: Paths, home: Home) -> WriteFile:
    return WriteFile(paths, home)


@pytest.fixture
def edit(paths: Paths, home: Home) -> EditFile:
    return EditFile(paths, home)


async def test_a_file_is_read_as_it_is(read: ReadFile, call: Call) -> None:
    call.file("a.txt").write_text("eins\nzwei 数\n")
    assert (await call.run(read, path="a.txt")).content == "eins\nzwei 数\n"


async def test_a_long_file_comes_in_parts(read: ReadFile, call: Call) -> None:
    call.file("long.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    result = await call.run(read, path="long.txt", offset=3, limit=2)
    assert result.content == "line 3\nline 4\n\n[lines 3 to 4 of 10]"
    with pytest.raises(ToolError, match="has 10 lines"):
        await call.run(read, path="long.txt", offset=11)


async def test_a_line_without_end_is_cut(read: ReadFile, call: Call) -> None:
    call.file("wide.txt").write_text("x" * 1_000_000)
    result = await call.run(read, path="wide.txt")
    assert result.details["output_cut_chars"] == 1_000_000 - FILE_READ_CHARS_MAX
    assert "characters left out" in result.content


async def test_an_empty_file_says_so(read: ReadFile, call: Call) -> None:
    call.file("empty").touch()
    assert (await call.run(read, path="empty")).content == "(the file is empty)"


async def test_what_is_no_text_file_is_named_for_what_it_is(read: ReadFile, call: Call) -> None:
    call.file("picture.png").write_bytes(b"\x89PNG\0\0")
    call.file("latin.txt").write_bytes("é".encode("latin-1"))
    call.file("folder").mkdir()
    os.mkfifo(call.file("pipe"))
    call.file("huge").touch()
    os.truncate(call.file("huge"), FILE_BYTES_MAX + 1)
    for name, reason in {
        "picture.png": "binary file of 6 bytes",
        "latin.txt": "not UTF-8",
        "folder": "is a folder",
        "pipe": "not a plain file",
        "huge": "too large",
        "missing": "there is no file missing",
    }.items():
        with pytest.raises(ToolError, match=reason):
            await call.run(read, path=name)


async def test_a_new_file_is_written_with_its_folders_and_shown(
    write: WriteFile, call: Call
) -> None:
    result = await call.run(write, path="a/b/c.txt", content="数\n")
    assert call.file("a/b/c.txt").read_text() == "数\n"
    assert result.content == "Created a/b/c.txt (4 bytes)."
    assert [one["type"] for one in call.events] == ["file_created", "file_changed"]
    assert call.file("a/b/c.txt").stat().st_mode & 0o777 == 0o644


async def test_a_file_that_is_there_keeps_its_mode_and_is_no_news(
    write: WriteFile, call: Call
) -> None:
    call.file("run.sh").write_text("old")
    call.file("run.sh").chmod(0o750)
    await call.run(write, path="run.sh", content="new")
    assert call.file("run.sh").read_text() == "new"
    assert call.file("run.sh").stat().st_mode & 0o777 == 0o750
    assert [(one["type"], one["change"]) for one in call.events] == [("file_changed", "modified")]
    assert [path.name for path in call.home.workspace.iterdir()] == ["run.sh"]


async def test_writing_through_a_link_inside_changes_its_target(
    write: WriteFile, call: Call
) -> None:
    call.file("target").write_text("old")
    call.file("link").symlink_to("target")
    await call.run(write, path="link", content="new")
    assert call.file("link").is_symlink()
    assert call.file("target").read_text() == "new"


async def test_what_cannot_be_written_is_an_error_in_words(write: WriteFile, call: Call) -> None:
    call.file("folder").mkdir()
    call.file("file").touch()
    for path, content, reason in [
        ("folder", "x", "not a plain file"),
        ("file/below", "x", "a part of its path is a file"),
        ("big", "x" * (FILE_BYTES_MAX + 1), "more than"),
        ("n" * 300, "x", "cannot be written: File name too long"),
    ]:
        with pytest.raises(ToolError, match=reason):
            await call.run(write, path=path, content=content)
    assert {path.name for path in call.home.workspace.iterdir()} == {"folder", "file"}


async def test_an_edit_replaces_exactly_one_place(edit: EditFile, call: Call) -> None:
    call.file("a.py").write_text("x = 1\ny = 1\n")
    result = await call.run(edit, path="a.py", old_text="x = 1\n", new_text="x = 2\n")
    assert call.file("a.py").read_text() == "x = 2\ny = 1\n"
    assert result.content == "Changed a.py in 1 place."


async def test_several_edits_are_made_in_their_order_or_not_at_all(
    edit: EditFile, call: Call
) -> None:
    call.file("a.py").write_text("x = 1\ny = 1\n")
    first = {"old_text": "x = 1", "new_text": "x = 2"}
    second = {"old_text": "x = 2\ny", "new_text": "z"}
    result = await call.run(edit, path="a.py", edits=[first, second])
    assert call.file("a.py").read_text() == "z = 1\n"
    assert result.details["diff"].splitlines()[-3:] == ["-x = 1", "-y = 1", "+z = 1"]
    for edits, reason in [
        ([{"old_text": "z", "new_text": "w"}, first], "edit 2; nothing was changed"),
        ([{"old_text": "z", "new_text": "z"}], "the same"),
    ]:
        with pytest.raises(ToolError, match=reason):
            await call.run(edit, path="a.py", edits=edits)
    either: list[dict[str, Any]] = [{}, {"old_text": "z"}, {**first, "edits": [first]}]
    for arguments in either:
        with pytest.raises(ToolError, match="either old_text and new_text, or edits"):
            await call.run(edit, path="a.py", **arguments)
    assert call.file("a.py").read_text() == "z = 1\n"


async def test_an_edit_that_is_not_clear_changes_nothing(edit: EditFile, call: Call) -> None:
    call.file("a.py").write_text("x = 1\ny = 1\n")
    for old, new, reason in [
        (" = 1", " = 2", "occurs 2 times"),
        ("z", "w", "does not occur"),
        ("x = 1", "x = 1", "the same"),
    ]:
        with pytest.raises(ToolError, match=reason):
            await call.run(edit, path="a.py", old_text=old, new_text=new)
    assert call.file("a.py").read_text() == "x = 1\ny = 1\n"


async def test_an_edit_of_all_places_can_be_asked_for(edit: EditFile, call: Call) -> None:
    call.file("a.py").write_text("x = 1\ny = 1\n")
    result = await call.run(edit, path="a.py", old_text="1", new_text="2", replace_all=True)
    assert call.file("a.py").read_text() == "x = 2\ny = 2\n"
    assert "2 places" in result.content


async def test_an_edit_of_a_file_that_is_not_there_is_an_error(edit: EditFile, call: Call) -> None:
    with pytest.raises(ToolError, match="there is no file"):
        await call.run(edit, path="missing", old_text="a", new_text="b")
    assert not call.file("missing").exists()


def test_only_reading_needs_no_question(read: ReadFile, write: WriteFile, edit: EditFile) -> None:
    assert not read.is_dangerous({})
    assert write.is_dangerous({})
    assert edit.is_dangerous({})


async def test_files_of_skills_can_be_read_and_not_written(
    read: ReadFile, write: WriteFile, call: Call
) -> None:
    guide = call.home.skills / "pdf" / "SKILL.md"
    guide.parent.mkdir()
    guide.write_text("how to")
    assert (await call.run(read, path=str(guide))).content == "how to"
    with pytest.raises(ToolError, match="outside of the workspace"):
        await call.run(write, path=str(guide), content="x")
    assert Path(guide).read_text() == "how to"
