"""Runs seeds: many in a row, or one with its trace."""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import structlog

from tests.simulation.checks import check
from tests.simulation.world import Simulation


def failure(seed: int, *, is_reloading: bool = False) -> tuple[str | None, Simulation]:
    """What does not hold in the run of that seed; None if everything does."""
    run = Simulation(seed, is_reloading=is_reloading)
    problem: str | None = None
    _errors.clear()
    try:
        run.run()
        run.loop.problems += _errors
        check(run)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    run.bury()
    return problem, run


def first_failure(
    start: int, end: int, fault: AbstractContextManager[None] | None = None
) -> tuple[int, str] | None:
    with _quiet(), fault or nullcontext():
        for seed in range(start, end):
            problem, _ = failure(seed)
            if problem is not None:
                return seed, problem
    return None


def command(seed: int, problem: str) -> str:
    """What a person needs of a failure: what does not hold, and how to see it happen."""
    return f"seed {seed}: {problem}; replay: python -m tests.simulation --seed {seed}"


def replay(seed: int, *, is_reloading: bool = False) -> tuple[str | None, list[str]]:
    with _quiet():
        problem, run = failure(seed, is_reloading=is_reloading)
    log = [
        f"  {session_id} {entry.event_id:4} {'note' if entry.note else '    '} {entry.text}"
        for session_id in run.disk.sessions
        for entry in run.disk.entries(session_id)
    ]
    return problem, [*run.trace_lines, "the logs:", *log]


_errors: list[str] = []
"""What was logged as one in this run: something failed that nothing else would show."""


def _note(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Any:
    error = event.get("exc_info")
    _errors.append(f"{event['event']}: {sys.exception() if error is True else error!r}")
    raise structlog.DropEvent


@contextmanager
def _quiet() -> Iterator[None]:
    """Thousands of control planes die here: nobody wants to read of it."""
    before = structlog.get_config()
    only_errors = structlog.make_filtering_bound_logger(logging.ERROR)
    structlog.configure(
        wrapper_class=only_errors, processors=[_note], cache_logger_on_first_use=False
    )
    try:
        yield
    finally:
        structlog.configure(**before)
