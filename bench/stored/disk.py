"""The scenario `disk`: what a session with one short turn weighs, as events and on the disk.

Everything is real: `trunkline up` with its own machine and the demo model, which says what it can
do, or writes a note. The server is stopped properly before its file is looked at: all is folded by
then, and nothing waits beside it.
"""

import http.client
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import budgets
from bench.node.first_word import System
from bench.processes import StartError
from bench.results import Metric, Results

EVENTS = "its events"
FILE = "the log's file in SQLite"
_NO_MODEL = "http://127.0.0.1:9"  # nobody asks it: sessions name the demo
HELP, NOTE = "help", "a note"
_PROSE = Path(__file__).parents[2] / "docs" / "concepts" / "log-store.md"
_ENDS = ("execution_complete", "execution_error")


def row(turn: str, what: str) -> str:
    return f"{turn}: {what}"


def disk(_number: int, results: Results) -> list[str]:
    """Gives what failed."""
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            _measure(Path(folder), results)
    except (StartError, OSError) as error:
        return [f"disk: {error}"]
    return []


def _measure(folder: Path, results: Results) -> None:
    prose = " ".join(_PROSE.read_text("utf-8").split())[: budgets.DISK_NOTE_CHARS]
    _sessions(folder, "help", 1)  # the file has its tables, and a first page of each
    for turn, message in ((HELP, "help"), (NOTE, f"write {{}}.md: {prose}")):
        before = _file_bytes(folder)
        events = _sessions(folder, message, budgets.DISK_SESSIONS)
        grown = _file_bytes(folder) - before
        results.add(Metric.DISK, row(turn, EVENTS), events / budgets.DISK_SESSIONS / 1024)
        results.add(Metric.DISK, row(turn, FILE), grown / budgets.DISK_SESSIONS / 1024)


def _sessions(folder: Path, message: str, count: int) -> int:
    """So many, each with a turn; the bytes of all their events."""
    system = System(folder, _NO_MODEL)
    try:
        # The files are in one folder: each is new there.
        return sum(_turn(system, message.replace("{}", str(one))) for one in range(count))
    finally:
        system.stop()


def _turn(system: System, message: str) -> int:
    session_id = system.session({"agent_config": {"model": "demo"}})
    stream = system.stream(session_id)
    system.call("POST", f"/sessions/{session_id}/messages", {"message": message})
    size = 0
    for data in _events(stream):
        size += len(data)
        if json.loads(data)["type"] in _ENDS:
            return size
    raise StartError("the stream ended")


def _events(stream: http.client.HTTPResponse) -> Iterator[bytes]:
    while line := stream.readline():
        if line.startswith(b"data: {"):
            yield line.removeprefix(b"data: ").strip()


def _file_bytes(folder: Path) -> int:
    return sum(one.stat().st_size for one in (folder / "data").glob("log.db*"))
