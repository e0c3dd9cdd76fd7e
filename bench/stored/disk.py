"""The scenario `disk`: what a session with one short turn weighs, as events and on the disk.

Everything is real: `trunkline up` with its own machine and the demo model, which says what it can
do. The server is stopped properly before its file is looked at: nothing waits beside it.
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
_MESSAGE = "help"
_ENDS = ("execution_complete", "execution_error")


def disk(_number: int, results: Results) -> list[str]:
    """Gives what failed."""
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            _measure(Path(folder), results)
    except (StartError, OSError) as error:
        return [f"disk: {error}"]
    return []


def _measure(folder: Path, results: Results) -> None:
    _sessions(folder, 1)  # the file has its tables, and a first page of each
    before = _file_bytes(folder)
    events = _sessions(folder, budgets.DISK_SESSIONS)
    grown = _file_bytes(folder) - before
    results.add(Metric.DISK, EVENTS, events / budgets.DISK_SESSIONS / 1024)
    results.add(Metric.DISK, FILE, grown / budgets.DISK_SESSIONS / 1024)


def _sessions(folder: Path, count: int) -> int:
    """So many, each with a turn; the bytes of all their events."""
    system = System(folder, _NO_MODEL)
    try:
        return sum(_turn(system) for _ in range(count))
    finally:
        system.stop()


def _turn(system: System) -> int:
    session_id = system.session({"agent_config": {"model": "demo"}})
    stream = system.stream(session_id)
    system.call("POST", f"/sessions/{session_id}/messages", {"message": _MESSAGE})
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
