"""The scenario `journal-start`: how long a server takes to be ready after a kill.

Once with as much in its journal as the bound allows, one event of a thousand sessions at a time,
and once with nothing in it: what the difference is, reading the journal takes.
"""

import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.processes import StartError, cpu_s
from bench.results import Metric, Results
from bench.sides.base import running, stop
from bench.sides.trunkline import Trunkline

FULL = Trunkline.name
EMPTY = "trunkline, nothing in the journal"
_FILL_S_MAX = 300.0
_LOOK_S = 0.005


def journal_start(_number: int, results: Results) -> list[str]:
    """Gives what failed."""
    side = Trunkline()
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            _measure(side, Path(folder), results)
    except (StartError, OSError, subprocess.SubprocessError) as error:
        return [f"journal-start: {error}"]
    finally:
        stop(side)
    return []


def _measure(side: Trunkline, folder: Path, results: Results) -> None:
    side.start(folder)
    running(side).kill()
    _started(side, results, EMPTY)
    stop(side)
    filled = subprocess.run(
        [sys.executable, "-m", "bench.stored.fill_journal", str(folder / "data")],
        timeout=_FILL_S_MAX,
        check=False,
    )
    if filled.returncode != -signal.SIGKILL:
        raise StartError(f"filling the journal ended with {filled.returncode}")
    if not _rows(folder / "data" / "log.db"):
        raise StartError("the journal was not filled")
    _started(side, results, FULL)


def _started(side: Trunkline, results: Results, name: str) -> None:
    """From the start of the process to its word that it is ready."""
    began = time.perf_counter()
    side.launch(look_s=_LOOK_S)
    took_s = time.perf_counter() - began
    samples = results.add(Metric.JOURNAL_START, name, 1000 * took_s)
    samples.server_busy.append(cpu_s([running(side).pid]) / took_s)


def _rows(path: Path) -> int:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM journal").fetchone()[0])
    finally:
        connection.close()
