"""Files that are torn, huge, crossed, or made to do harm: what can be read is read, and no more."""

import os
import sqlite3
from pathlib import Path

import pytest

from tests.support import foreign_files
from trunkline.execution.roots import Roots
from trunkline.execution.runtimes.foreign import bounded_files, opencode
from trunkline.execution.runtimes.foreign.conversation import ms, tool
from trunkline.execution.runtimes.foreign.library import Library


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def library(tmp_path: Path, work: Path) -> Library:
    return Library(tmp_path, {}, Roots(work))


def texts(library: Library, conversation_id: str) -> list[str]:
    for runtime, preset in (("claude-code", ""), ("acp", "codex"), ("acp", "opencode")):
        read = library.read(runtime, preset, conversation_id)
        if read is not None:
            return [entry.text for entry in read[1] if entry.role != "tool"]
    return []


@pytest.mark.parametrize("write", [foreign_files.claude_code, foreign_files.codex])
def test_a_file_that_is_cut_anywhere_reads_up_to_there(
    tmp_path: Path, work: Path, library: Library, write: object
) -> None:
    path = write(tmp_path, work)  # type: ignore[operator]
    whole = path.read_bytes()
    seen = 0
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        for one in library.page().conversations:
            assert len(texts(library, one.id)) <= 4
            seen += 1
    assert seen > 10


HOSTILE = (
    b"",
    b"\n\n\n",
    b'[]\n1\nnull\n"x"\n',
    b"{" * 100_000 + b"\n",
    b"\xff\xfe\x00\n",
    b'{"type":"user"}\n{"type":"user","message":7,"cwd":[]}\n',
    b'{"type":"user","message":{"content":[7,{"type":"text","text":7}]},"cwd":"/"}\n',
    b'{"type":"user","uuid":["x"],"parentUuid":{"y":1},"cwd":"relative","message":{"content":"hi"}}\n',
    b'{"type":"user","cwd":"/\\u0000","message":{"content":"hi"},"timestamp":1e400}\n',
    b'{"type":"assistant","message":{"content":[{"type":"tool_use"},{"type":"tool_result"}]}}\n',
    b'{"type":"session_meta","payload":[]}\n{"type":"response_item","payload":{"type":"message"}}\n',
    b'{"type":"session_meta","payload":{"cwd":5}}\n{"type":"response_item","payload":'
    b'{"type":"function_call_output","call_id":{},"output":{"content":9}}}\n',
    b'{"type":"event_msg","payload":{"type":"item_completed","item":[]}}\n',
)


@pytest.mark.parametrize("content", HOSTILE)
def test_a_file_that_makes_no_sense_is_no_conversation(
    tmp_path: Path, work: Path, library: Library, content: bytes
) -> None:
    foreign_files.claude_code(tmp_path, work).write_bytes(content)
    foreign_files.codex(tmp_path, work).write_bytes(content)
    database = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(content)
    assert library.page().conversations == []
    assert texts(library, foreign_files.CLAUDE_ID) == []


@pytest.mark.parametrize("content", HOSTILE)
def test_nonsense_between_good_lines_is_skipped(
    tmp_path: Path, work: Path, library: Library, content: bytes
) -> None:
    for write in (foreign_files.claude_code, foreign_files.codex):
        path = write(tmp_path, work)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([*lines[:9], content, *lines[9:]]))
    found = {one.id: one for one in library.page().conversations}
    assert set(found) == {foreign_files.CLAUDE_ID, foreign_files.CODEX_ID}
    for one in found:
        spoken = texts(library, one)
        assert spoken[0] == foreign_files.STARTED
        assert foreign_files.ANSWER in spoken


def test_links_and_pipes_are_not_followed(tmp_path: Path, work: Path, library: Library) -> None:
    real = foreign_files.claude_code(tmp_path / "other", work)
    projects = tmp_path / ".claude" / "projects"
    projects.mkdir(parents=True)
    (projects / "linked").symlink_to(real.parent)
    (projects / "own").mkdir()
    (projects / "own" / real.name).symlink_to(real)
    assert library.page().conversations == []
    os.mkfifo(projects / "own" / "11111111-1111-4111-8111-111111111111.jsonl")
    assert library.page().conversations == []
    kept = foreign_files.opencode(tmp_path / "other", work)
    database = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    database.symlink_to(kept)
    assert library.page().conversations == []


def test_a_line_that_is_too_long_is_skipped(tmp_path: Path, work: Path, library: Library) -> None:
    path = foreign_files.codex(tmp_path, work)
    long = b'{"type":"x","payload":"' + b"y" * (bounded_files.LINE_BYTES_MAX + 100) + b'"}\n'
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], long, *lines[4:]]))
    assert texts(library, foreign_files.CODEX_ID)[-1] == foreign_files.ANSWER


def test_parents_that_form_a_ring_end(tmp_path: Path, work: Path, library: Library) -> None:
    path = foreign_files.claude_code(tmp_path, work)
    said = f'"cwd":"{work}","message":{{"role":"user","content":"hi"}}'
    path.write_text(
        f'{{"type":"user","uuid":"a","parentUuid":"b",{said}}}\n'
        f'{{"type":"user","uuid":"b","parentUuid":"a",{said}}}\n'
    )
    assert texts(library, foreign_files.CLAUDE_ID) == ["hi", "hi"]


def test_a_database_of_another_shape_or_with_other_values_is_tolerated(
    tmp_path: Path, work: Path, library: Library
) -> None:
    path = foreign_files.opencode(tmp_path, work)
    database = sqlite3.connect(path)
    database.execute("UPDATE part SET data = '[1,2' WHERE rowid % 2")
    database.execute("UPDATE message SET data = x'ff00' WHERE rowid = 1")
    database.execute("UPDATE session SET title = x'ff', time_created = 'soon'")
    database.commit()
    [one] = library.page().conversations
    assert (one.title, one.started_at) == ("", 0)
    texts(library, one.id)
    database.execute("ALTER TABLE session RENAME TO conversation")
    database.commit()
    assert library.page().conversations == []
    # A view that never ends in place of the table.
    database.execute(
        "CREATE VIEW session AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT x AS id, '' AS title, '' AS directory, 0 AS time_created, x AS time_updated, "
        "NULL AS parent_id, NULL AS time_archived FROM n"
    )
    database.commit()
    database.close()
    assert opencode.conversations(path.parent, within_s=0.2) == []


def test_reading_leaves_the_files_as_they_were(
    tmp_path: Path, work: Path, library: Library
) -> None:
    paths = [
        foreign_files.claude_code(tmp_path, work),
        foreign_files.codex(tmp_path, work),
        foreign_files.opencode(tmp_path, work),
    ]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    for one in library.page().conversations:
        library.read(one.runtime, one.preset, one.id)
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths] == before


@pytest.mark.parametrize("value", [None, True, -5, 10**30, "soon", "9" * 50, [], {}])
def test_a_time_that_is_none_is_zero(value: object) -> None:
    assert ms(value) == 0


def test_what_a_tool_was_given_is_an_object_of_bounded_size() -> None:
    assert tool("t", "c", {"a": 1}, 0).input == {"a": 1}
    assert tool("t", "c", "text", 0).input == {"input": "text"}
    assert tool("t", "c", None, 0).input == {"input": "null"}
    assert len(tool("t", "c", {"a": "x" * 10_000}, 0).input["input"]) == 2_000
    assert tool("", "c", {}, 0).name == "tool"
