"""Runs seeds: many in a row, or one with its trace."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import structlog

from tests.simulation.checks import check
from tests.simulation.world import Simulation


def failure(seed: int) -> tuple[str | None, Simulation]:
    """What does not hold in the run of that seed; None if everything does."""
    run = Simulation(seed)
    problem: str | None = None
    try:
        run.run()
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


def replay(seed: int) -> tuple[str | None, list[str]]:
    with _quiet():
        problem, run = failure(seed)
    log = [
        f"  {session_id} {entry.event_id:4} {'note' if entry.note else '    '} {entry.text}"
        for session_id in run.disk.sessions
        for entry in run.disk.entries(session_id)
    ]
    return problem, [*run.trace_lines, "the logs:", *log]


@contextmanager
def _quiet() -> Iterator[None]:
    """Thousands of control planes die here: nobody wants to read of it."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)
