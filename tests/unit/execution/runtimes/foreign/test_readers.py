"""What people said in the terminal is listed and read as the programs themselves have it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support import foreign_files
from trunkline.execution.roots import Roots
from trunkline.execution.runtimes.foreign.conversation import Conversation, Entry
from trunkline.execution.runtimes.foreign.library import Library

Write = Callable[[Path, Path], Path]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "my project.x"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path, {}, Roots(tmp_path / "work"))


@pytest.mark.parametrize(
    ("write", "wanted"),
    [
        (
            foreign_files.claude_code,
            Conversation(
                runtime="claude-code",
                id=foreign_files.CLAUDE_ID,
                title="Say hello to the terminal",
                folder="",
                started_at=1794805417481,
                message_count=5,
                command=f"claude --resume {foreign_files.CLAUDE_ID}",
            ),
        ),
        (
            foreign_files.codex,
            Conversation(
                runtime="acp",
                preset="codex",
                id=foreign_files.CODEX_ID,
                title="Say hello to the terminal",
                folder="",
                started_at=1794805445113,
                message_count=4,
                command=f"codex resume {foreign_files.CODEX_ID}",
            ),
        ),
        (
            foreign_files.opencode,
            Conversation(
                runtime="acp",
                preset="opencode",
                id=foreign_files.OPENCODE_ID,
                title="Hello from the scripted model.",
                folder="",
                started_at=1794805419722,
                message_count=5,
                command=f"opencode --session {foreign_files.OPENCODE_ID}",
            ),
        ),
    ],
)
def test_a_conversation_of_each_program_is_listed(
    tmp_path: Path, work: Path, library: Library, write: Write, wanted: Conversation
) -> None:
    write(tmp_path, work)
    page = library.page()
    assert page.next_cursor is None
    [found] = page.conversations
    wanted.folder = str(work)
    assert found.updated_at >= found.started_at
    wanted.updated_at = found.updated_at
    assert found == wanted


@pytest.mark.parametrize(
    ("write", "name", "given", "printed"),
    [
        (foreign_files.claude_code, "Bash", {"command": "ls"}, "a.txt\nb.txt\nsub"),
        (foreign_files.codex, "exec_command", {"cmd": "ls"}, "a.txt\nopencode.json\n"),
        (foreign_files.opencode, "bash", {"command": "ls"}, "a.txt\nopencode.json\n"),
    ],
)
def test_its_history_is_what_was_said_and_done(
    tmp_path: Path,
    work: Path,
    library: Library,
    write: Write,
    name: str,
    given: dict[str, str],
    printed: str,
) -> None:
    write(tmp_path, work)
    [one] = library.page().conversations
    read = library.read(one.runtime, one.preset, one.id)
    assert read is not None
    conversation, entries = read
    assert conversation == one
    spoken = [(entry.role, entry.text.strip('"')) for entry in entries if entry.role != "tool"]
    assert spoken == [
        ("user", foreign_files.STARTED),
        ("assistant", "Hello from the scripted model."),
        ("user", foreign_files.WENT_ON),
        ("assistant", foreign_files.ANSWER),
    ]
    call = entries[3]
    assert (call.role, call.name, call.is_error) == ("tool", name, False)
    assert given.items() <= call.input.items()
    assert call.result.endswith(printed)
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
    assert all(entry.at > 1794805000000 for entry in entries)


def test_a_folder_outside_of_the_roots_is_as_if_it_were_not_there(
    tmp_path: Path, library: Library
) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "link").symlink_to(outside)
    for write in (foreign_files.claude_code, foreign_files.codex, foreign_files.opencode):
        write(tmp_path, outside)
    assert library.page().conversations == []
    assert library.read("claude-code", "", foreign_files.CLAUDE_ID) is None
    foreign_files.claude_code(tmp_path, tmp_path / "work" / "link")
    assert library.page().conversations == []


def test_a_folder_that_is_gone_is_not_listed(tmp_path: Path, work: Path, library: Library) -> None:
    foreign_files.codex(tmp_path, work)
    work.rmdir()
    assert library.page().conversations == []


def test_a_list_is_of_one_runtime_or_program_or_folder(
    tmp_path: Path, work: Path, library: Library
) -> None:
    other = work.parent / "other"
    other.mkdir()
    foreign_files.claude_code(tmp_path, work)
    foreign_files.codex(tmp_path, work)
    foreign_files.opencode(tmp_path, other)

    def names(**wanted: Any) -> set[str]:
        return {one.preset or one.runtime for one in library.page(**wanted).conversations}

    assert names() == {"claude-code", "codex", "opencode"}
    assert names(runtime="claude-code") == {"claude-code"}
    assert names(runtime="acp") == {"codex", "opencode"}
    assert names(runtime="acp", preset="codex") == {"codex"}
    assert names(folder=str(work)) == {"claude-code", "codex"}
    assert names(folder=str(other)) == {"opencode"}
    assert names(runtime="semigraph") == set()


def test_pages_go_through_all_once_newest_first(
    tmp_path: Path, work: Path, library: Library
) -> None:
    import os

    ids = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(7)]
    for number, one in enumerate(ids):
        path = foreign_files.claude_code(tmp_path, work, one)
        os.utime(path, (1794805500 + number // 2, 1794805500 + number // 2))
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = library.page(limit=2, cursor=cursor)
        assert len(page.conversations) <= 2
        found += [one.id for one in page.conversations]
        cursor = page.next_cursor
    assert sorted(found) == ids
    assert [ids.index(one) // 2 for one in found] == [3, 2, 2, 1, 1, 0, 0]
    for broken in ("x", "12", "-1 x", "1" * 40 + " x"):
        with pytest.raises(ValueError, match="cursor"):
            library.page(cursor=broken)


def test_the_programs_own_variables_say_where_their_files_are(tmp_path: Path, work: Path) -> None:
    foreign_files.claude_code(tmp_path, work)
    foreign_files.codex(tmp_path, work)
    foreign_files.opencode(tmp_path, work)
    env = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"),
        "CODEX_HOME": str(tmp_path / ".codex"),
        "XDG_DATA_HOME": str(tmp_path / ".local" / "share"),
    }
    nowhere = tmp_path / "nowhere"
    assert len(Library(nowhere, env, Roots(work)).page().conversations) == 3
    assert Library(nowhere, {}, Roots(work)).page().conversations == []


@pytest.mark.parametrize("is_in_use", [False, True])
def test_opencodes_database_is_read_without_a_trace(
    tmp_path: Path, work: Path, library: Library, is_in_use: bool
) -> None:
    """It is of the kind that keeps what is new in a second file while the program runs."""
    path = foreign_files.opencode(tmp_path, work)
    with closing(sqlite3.connect(path)) as program:
        program.execute("PRAGMA journal_mode = WAL")
        if is_in_use:
            program.execute("UPDATE session SET title = 'Just now'")
            program.commit()
        else:
            program.close()
        before = sorted(path.parent.iterdir())
        [one] = library.page().conversations
        assert (one.title == "Just now") is is_in_use
        assert sorted(path.parent.iterdir()) == before


def test_what_was_taken_back_is_no_part_of_the_history(
    tmp_path: Path, work: Path, library: Library
) -> None:
    """The program keeps the old branch in the file and goes on from an earlier record."""
    path = foreign_files.claude_code(tmp_path, work)
    first_answer = "770523ad-977b-4671-8e02-c4c2c3c249d4"
    common = '"isSidechain":false,"timestamp":"2026-11-16T06:00:00Z"'
    branch = [
        f'{{"parentUuid":"{first_answer}","type":"user","uuid":"u9",{common},'
        '"message":{"role":"user","content":"Something else"}}',
        f'{{"parentUuid":"u9","type":"assistant","uuid":"a9",{common},'
        '"message":{"role":"assistant","content":[{"type":"text","text":"As you like."}]}}',
        '{"parentUuid":"a9","type":"user","uuid":"s9","isSidechain":true,'
        '"message":{"role":"user","content":"to a helper"}}',
    ]
    with path.open("a") as file:
        file.write("\n".join(branch) + "\n")
    read = library.read("claude-code", "", foreign_files.CLAUDE_ID)
    assert read is not None
    spoken = [entry.text for entry in read[1] if entry.role != "tool"]
    assert spoken == [
        foreign_files.STARTED,
        "Hello from the scripted model.",
        "Something else",
        "As you like.",
    ]


def test_of_a_long_history_the_newest_part_is_read() -> None:
    from trunkline.execution.runtimes.foreign import conversation

    many = [
        Entry(role=("user", "assistant")[number % 2], text=str(number)) for number in range(9_000)
    ]
    kept = conversation.newest(many)
    assert len(kept) <= conversation.HISTORY_ENTRIES_MAX
    assert kept[0].role == "user"
    assert kept[-1].text == "8999"
    long = [conversation.said("user", "x" * 1_000_000, 1) for _ in range(100)]
    kept = conversation.newest(long)
    assert sum(len(entry.text) for entry in kept) <= conversation.HISTORY_CHARS_MAX
    assert kept[0].text.endswith(conversation.CUT)
