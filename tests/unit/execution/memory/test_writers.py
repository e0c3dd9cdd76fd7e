"""Two processes write the memory of one session at the same time."""

import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from trunkline.execution.memory.local_memory import LocalShortTermMemory

ROOT = Path(__file__).parents[4]
COUNT = 60
NAMES = ("ada", "bob")


def start(folder: Path, name: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", f"{__package__}.writer", str(folder), name, str(COUNT)]
    return subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def go(writer: subprocess.Popen[str]) -> None:
    assert writer.stdout is not None
    assert writer.stdin is not None
    assert writer.stdout.readline() == "ready\n"


@pytest.mark.proves("004-3.2-files")
async def test_two_writers_lose_nothing_and_never_mix(tmp_path: Path) -> None:
    writers = [start(tmp_path, name) for name in NAMES]
    for writer in writers:
        go(writer)
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    memory = LocalShortTermMemory(tmp_path)
    with capture_logs() as logs:
        said = await memory.get_messages()
        context = await memory.get_context()
        notes = await memory.read_scratchpad()
    assert logs == []
    for name in NAMES:
        own = [section.content for section in said if section.role == name]
        assert own == [f"{number}\n" + name * 2_000 for number in range(COUNT)]
    assert context == {f"{name} {number}": number for name in NAMES for number in range(COUNT)}
    assert notes in {name * 2_000 for name in NAMES}
    assert sorted(path.name for path in memory.folder.iterdir()) == [
        ".lock",
        "context.json",
        "conversation.md",
        "scratchpad.md",
    ]
