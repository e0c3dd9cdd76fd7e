"""The scenario `node`: one round of sessions, turns beside a bare agent, and first words."""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench import budgets
from bench.node import bare, first_word, model, sessions
from bench.processes import StartError
from bench.results import Metric, Results

OURS = "trunkline"
BARE = "bare LangGraph"
BARE_S_MAX = 120.0


def node(number: int, results: Results) -> list[str]:
    """Gives what failed; the peer goes first every other round."""
    try:
        with _model() as url, tempfile.TemporaryDirectory(prefix="bench-") as folder:
            _round(number, url, Path(folder), results)
    except (sessions.BenchError, StartError, OSError, TimeoutError) as error:
        return [f"node: {error}"]
    return []


def _round(number: int, url: str, folder: Path, results: Results) -> None:
    if number % 2:
        _bare(url, folder, results)
    seen = asyncio.run(
        sessions.measure(
            folder / "home",
            url,
            sessions=budgets.NODE_SESSIONS,
            memory_turns=budgets.NODE_MEMORY_TURNS,
            turns=budgets.NODE_TURNS,
        )
    )
    results.add(Metric.SESSION_START, OURS, median(seen.start_ms))
    results.add(Metric.SESSION_READY_MEMORY, OURS, median(seen.ready_mib))
    results.add(Metric.SESSION_MEMORY, OURS, median(seen.memory_mib))
    results.add(Metric.SESSION_LATER_MEMORY, OURS, median(seen.later_mib))
    results.add(Metric.SESSION_MCP_MEMORY, OURS, median(seen.mcp_mib))
    results.add(Metric.TURN, OURS, median(seen.turn_ms))
    if not number % 2:
        _bare(url, folder, results)
    whole = folder / "whole"
    whole.mkdir()
    times_ms = first_word.measure(whole, url, budgets.NODE_FIRST_WORDS)
    results.add(Metric.FIRST_WORD, OURS, median(times_ms))


def _bare(url: str, folder: Path, results: Results) -> None:
    place = folder / "bare"
    place.mkdir()
    (place / "bench.txt").write_text(sessions.FILE)
    turns = budgets.NODE_MEMORY_TURNS + budgets.NODE_TURNS
    done = subprocess.run(
        [sys.executable, "-m", bare.__name__, url, str(place), str(turns)],
        capture_output=True,
        text=True,
        timeout=BARE_S_MAX,
        check=False,
    )
    if done.returncode:
        raise StartError(f"the bare agent failed: {done.stderr[-500:]}")
    results.add(Metric.TURN, BARE, median(json.loads(done.stdout)[-budgets.NODE_TURNS :]))


@contextlib.contextmanager
def _model() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", model.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate(timeout=budgets.SERVER_STOP_S_MAX)
