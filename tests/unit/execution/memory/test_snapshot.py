"""Memory that goes to the control plane, and comes back on another machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trunkline import limits
from trunkline.execution.checkpoint.files import CHECKPOINT_SNAPSHOT_BYTES_MAX
from trunkline.execution.errors import MemoryFileError
from trunkline.execution.memory.local_memory import (
    CONTEXT_KEY_CHARS_MAX,
    CONVERSATION_READ_BYTES_MAX,
    SCRATCHPAD_CHARS_MAX,
    LocalShortTermMemory,
)


def ticking(start_s: float) -> Callable[[], float]:
    times = iter(range(10_000))
    return lambda: start_s + next(times)


@pytest.fixture
def memory(tmp_path: Path) -> LocalShortTermMemory:
    return LocalShortTermMemory(tmp_path / "here", ticking(1000))


@pytest.fixture
def elsewhere(tmp_path: Path) -> LocalShortTermMemory:
    return LocalShortTermMemory(tmp_path / "elsewhere", ticking(2000))


async def contents(memory: LocalShortTermMemory) -> list[str]:
    return [section.content for section in await memory.get_messages()]


@pytest.mark.proves("004-3.2-snapshot", "004-3.2-own-to-a-session")
async def test_a_session_that_moves_takes_its_memory_along(
    memory: LocalShortTermMemory, elsewhere: LocalShortTermMemory
) -> None:
    await memory.save_message("user", "## [user] hello")
    await memory.save_context("plan", ["a", "b"])
    await memory.write_scratchpad("notes")
    snapshot = await memory.get_all_for_snapshot()
    assert set(snapshot) == {"conversation", "context", "scratchpad"}
    assert await elsewhere.restore(msgspec.json.decode(msgspec.json.encode(snapshot)))
    assert await elsewhere.get_all_for_snapshot() == snapshot


async def test_a_session_that_never_left_is_not_changed_by_its_own_snapshot(
    memory: LocalShortTermMemory,
) -> None:
    await memory.save_message("user", "one")
    await memory.write_scratchpad("old notes")
    snapshot = await memory.get_all_for_snapshot()
    await memory.save_message("assistant", "two")
    await memory.write_scratchpad("new notes")
    assert not await memory.restore(snapshot)
    assert await contents(memory) == ["one", "two"]
    assert await memory.read_scratchpad() == "new notes"


async def test_a_session_that_comes_back_gains_what_was_said_elsewhere(
    memory: LocalShortTermMemory, elsewhere: LocalShortTermMemory
) -> None:
    await memory.save_message("user", "one")
    await memory.save_context("kept", 1)
    await elsewhere.restore(await memory.get_all_for_snapshot())
    await elsewhere.save_message("user", "two")
    await elsewhere.save_context("new", 2)
    snapshot = await elsewhere.get_all_for_snapshot()
    assert await memory.restore(snapshot)
    assert not await memory.restore(snapshot)
    assert await contents(memory) == ["one", "two"]
    assert await memory.get_context() == {"kept": 1, "new": 2}


async def test_an_empty_snapshot_changes_nothing(memory: LocalShortTermMemory) -> None:
    assert not await memory.restore({})
    assert not await memory.restore({"conversation": "", "context": None, "scratchpad": ""})
    assert await contents(memory) == []


@pytest.mark.parametrize(
    "snapshot",
    [
        {"conversation": 17},
        {"context": ["a"]},
        {"scratchpad": {"a": 1}},
        {"context": {"": 1}},
        {"context": {"k" * (CONTEXT_KEY_CHARS_MAX + 1): 1}},
    ],
)
async def test_a_snapshot_of_the_wrong_shape_is_refused(
    memory: LocalShortTermMemory, snapshot: dict[str, Any]
) -> None:
    with pytest.raises(MemoryFileError):
        await memory.restore(snapshot)
    assert await memory.get_context() == {}


async def test_a_huge_conversation_in_a_snapshot_is_bounded(memory: LocalShortTermMemory) -> None:
    await memory.restore({"conversation": "x" * 3 * CONVERSATION_READ_BYTES_MAX})
    assert (memory.folder / "conversation.md").stat().st_size == CONVERSATION_READ_BYTES_MAX


async def test_a_snapshot_is_bounded_even_where_json_makes_text_longer(
    memory: LocalShortTermMemory,
) -> None:
    for _ in range(30):
        await memory.save_message("tool", "\x01" * 100_000)
    await memory.write_scratchpad("\x01" * SCRATCHPAD_CHARS_MAX)
    (memory.folder / "scratchpad.md").write_text("\x01" * 10 * SCRATCHPAD_CHARS_MAX)
    for number in range(8):
        await memory.save_context(f"key {number}", "x" * 120_000)
    snapshot = await memory.get_all_for_snapshot()
    assert snapshot["conversation"].startswith("\n## [tool] ")
    size = len(msgspec.json.encode(snapshot)) + CHECKPOINT_SNAPSHOT_BYTES_MAX
    assert size < limits.SNAPSHOT_BYTES_MAX
