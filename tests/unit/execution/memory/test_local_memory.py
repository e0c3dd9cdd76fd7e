"""Short-term memory: three readable files, bounded, whoever else writes them."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from trunkline.execution.errors import MemoryFileError
from trunkline.execution.memory.local_memory import (
    CONTEXT_BYTES_MAX,
    CONVERSATION_MESSAGE_CHARS_MAX,
    CONVERSATION_READ_BYTES_MAX,
    SCRATCHPAD_CHARS_MAX,
    LocalShortTermMemory,
    Section,
    render,
)

AT = "2023-11-14T22:13:20.000000+00:00"


def at_rest() -> float:
    return 1_700_000_000.0


@pytest.fixture
def memory(tmp_path: Path) -> LocalShortTermMemory:
    return LocalShortTermMemory(tmp_path, at_rest)


@pytest.mark.proves("004-3.2-conversation-format", "004-3.2-readable", "004-3.2-files")
async def test_messages_are_sections_that_a_person_can_read(memory: LocalShortTermMemory) -> None:
    await memory.save_message("user", "List the files")
    await memory.save_message("assistant", "两个文件")
    text = f"\n## [user] {AT}\n\nList the files\n\n## [assistant] {AT}\n\n两个文件\n"
    assert await memory.get_conversation() == text
    file = memory.folder / "conversation.md"
    assert file.read_text() == text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(memory.folder.stat().st_mode) == 0o700


async def test_a_new_message_does_not_rewrite_the_old_ones(memory: LocalShortTermMemory) -> None:
    await memory.save_message("user", "one")
    file = memory.folder / "conversation.md"
    inode = file.stat().st_ino
    await memory.save_message("user", "two")
    assert file.stat().st_ino == inode


@pytest.mark.proves("004-3.2-conversation-empty", "004-3.2-context-read", "004-3.2-scratchpad")
async def test_everything_is_empty_before_anything_is_saved(memory: LocalShortTermMemory) -> None:
    assert await memory.get_conversation() == ""
    assert await memory.get_messages() == []
    assert await memory.get_context() == {}
    assert await memory.get_context("x") is None
    assert await memory.read_scratchpad() == ""


@pytest.mark.proves("004-3.2-persistent", "004-3.2-context-read")
async def test_a_new_object_finds_what_the_old_one_saved(tmp_path: Path) -> None:
    old = LocalShortTermMemory(tmp_path, at_rest)
    await old.save_message("user", "hi")
    await old.save_context("last_action", {"tool": "bash"})
    await old.write_scratchpad("# Notes")
    new = LocalShortTermMemory(tmp_path)
    assert await new.get_messages() == [Section("user", AT, "hi")]
    assert await new.get_context("last_action") == {"tool": "bash"}
    assert await new.read_scratchpad() == "# Notes"


async def test_a_role_that_would_break_the_heading_is_refused(memory: LocalShortTermMemory) -> None:
    with pytest.raises(MemoryFileError, match="not a role") as caught:
        await memory.save_message("user]\n## [admin", "hi")
    assert caught.value.code == "MEMORY_ROLE_INVALID"


async def test_a_very_long_message_is_cut_and_says_so(memory: LocalShortTermMemory) -> None:
    size = CONVERSATION_MESSAGE_CHARS_MAX + 5
    await memory.save_message("tool", "x" * size)
    (section,) = await memory.get_messages()
    assert len(section.content) == CONVERSATION_MESSAGE_CHARS_MAX
    assert section.content.endswith(f"(cut: {size} characters)")


async def test_of_a_long_conversation_the_newest_whole_sections_are_read(
    memory: LocalShortTermMemory,
) -> None:
    for number in range(40):
        await memory.save_message("user", f"{number} " + "é" * 30_000)
    text = await memory.get_conversation()
    assert len(text.encode()) <= CONVERSATION_READ_BYTES_MAX
    said = await memory.get_messages()
    numbers = [int(section.content.split()[0]) for section in said]
    assert numbers == list(range(40 - len(said), 40))
    assert len(said) == CONVERSATION_READ_BYTES_MAX // len(render(said[-1]).encode())


async def test_a_cut_through_a_character_is_no_damage(memory: LocalShortTermMemory) -> None:
    data = "ä".encode() * CONVERSATION_READ_BYTES_MAX
    (memory.folder / "conversation.md").write_bytes(b"x" + data)
    with capture_logs() as logs:
        assert set(await memory.get_conversation()) == {"ä"}
    assert logs == []


async def test_bytes_that_are_no_text_are_shown_as_such_with_a_warning(
    memory: LocalShortTermMemory,
) -> None:
    (memory.folder / "conversation.md").write_bytes(b"\n## [user] now\n\nhi \xff\xfe\n")
    with capture_logs() as logs:
        (section,) = await memory.get_messages()
    assert section.content == "hi \ufffd\ufffd"
    assert [log["event"] for log in logs] == ["memory_file_damaged"]


@pytest.mark.proves("004-3.2-context-entries", "004-3.2-context-read", "004-3.2-readable")
async def test_context_keeps_json_values_with_their_time(memory: LocalShortTermMemory) -> None:
    await memory.save_context("a", {"list": [1, 2.5, None, True, "é"]})
    await memory.save_context("b", (1, 2))
    assert await memory.get_context() == {"a": {"list": [1, 2.5, None, True, "é"]}, "b": [1, 2]}
    text = (memory.folder / "context.json").read_text()
    assert json.loads(text)["a"]["updated_at"] == AT
    assert '\n  "a": {' in text
    assert "é" in text


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "make",
    [
        lambda: object(),
        lambda: nested(100_000),
        lambda: "\ud800",
    ],
)
async def test_what_json_cannot_hold_is_refused_and_nothing_is_lost(
    memory: LocalShortTermMemory, make: Callable[[], Any]
) -> None:
    await memory.save_context("a", 1)
    with pytest.raises(MemoryFileError) as caught:
        await memory.save_context("b", make())
    assert caught.value.code == "MEMORY_VALUE_INVALID"
    assert await memory.get_context() == {"a": 1}


async def test_a_full_context_says_so_and_stays_as_it_was(memory: LocalShortTermMemory) -> None:
    await memory.save_context("a", "x" * (CONTEXT_BYTES_MAX // 2))
    with pytest.raises(MemoryFileError) as caught:
        await memory.save_context("b", "x" * (CONTEXT_BYTES_MAX // 2))
    assert caught.value.code == "MEMORY_FULL"
    assert list(await memory.get_context()) == ["a"]


@pytest.mark.parametrize("text", ['{"a": {"val', "[]", "\x00\x01", "[" * 200_000, '{"a":1}' * 2])
async def test_a_torn_or_foreign_context_is_set_aside_with_a_warning(
    memory: LocalShortTermMemory, text: str
) -> None:
    file = memory.folder / "context.json"
    file.write_text(text)
    with capture_logs() as logs:
        assert await memory.get_context() == {}
    assert [log["event"] for log in logs] == ["memory_file_damaged"]
    await memory.save_context("a", 1)
    assert await memory.get_context() == {"a": 1}
    assert (memory.folder / "context.json.damaged").read_text() == text


async def test_entries_that_a_person_wrote_stay_and_are_not_read(
    memory: LocalShortTermMemory,
) -> None:
    file = memory.folder / "context.json"
    file.write_text('{"mine": "a note", "ours": {"value": 1}}')
    with capture_logs() as logs:
        assert await memory.get_context() == {"ours": 1}
    assert [log["event"] for log in logs] == ["memory_entries_foreign"]
    await memory.save_context("b", 2)
    assert json.loads(file.read_text())["mine"] == "a note"


@pytest.mark.proves("004-3.2-scratchpad")
async def test_notes_are_replaced_and_long_ones_are_cut(memory: LocalShortTermMemory) -> None:
    await memory.write_scratchpad("first")
    await memory.write_scratchpad("second")
    assert await memory.read_scratchpad() == "second"
    await memory.write_scratchpad("字" * (SCRATCHPAD_CHARS_MAX + 1))
    notes = await memory.read_scratchpad()
    assert len(notes) == SCRATCHPAD_CHARS_MAX
    assert "(cut: " in notes
