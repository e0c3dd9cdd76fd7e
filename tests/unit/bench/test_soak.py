"""When a soak counts as flat."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from bench.soak.verdict import JOURNAL_MIB_MAX, WAL_MIB_MAX, Minute, problems, trend

FLAT = [
    Minute(
        events=600_000 * number,
        event_mib=30.0 * number,
        memory_mib=200.0,
        file_mib=5.0 + 8.0 * number,
        wal_mib=16.0,
        journal_mib=2.0,
        p50_ms=1.0,
        p99_ms=4.0,
    )
    for number in range(1, 16)
]


@pytest.mark.parametrize(
    ("values", "slope"),
    [
        ([1.0, 1.0, 1.0], 0.0),
        ([1.0, 3.0, 5.0, 7.0], 2.0),
        ([1.0, 1.0, 90.0, 1.0, 1.0], 0.0),
        ([9.0, 8.0, 7.0], -1.0),
    ],
    ids=["flat", "rising", "one bad minute", "falling"],
)
def test_a_trend_is_that_of_most_minutes(values: list[float], slope: float) -> None:
    assert trend(values) == slope


def test_a_run_that_only_stores_more_is_flat() -> None:
    assert problems(FLAT) == []


Change = Callable[[int, Minute], Minute]
CHANGES: dict[str, tuple[Change, str]] = {
    "a leak": (
        lambda at, one: replace(one, memory_mib=200 + 1.5 * at),
        "memory grows by 1.50 MiB a minute",
    ),
    "slower in the middle": (
        lambda at, one: replace(one, p50_ms=1 + 0.4 * at),
        "latency, p50",
    ),
    "slower at the end": (lambda at, one: replace(one, p99_ms=4 + 0.5 * at), "latency, p99"),
    "a journal beyond its bound": (
        lambda at, one: replace(one, journal_mib=JOURNAL_MIB_MAX + 1 if at == 1 else 0.0),
        "the journal took",
    ),
    "a write-ahead log that is not moved": (
        lambda at, one: replace(one, wal_mib=WAL_MIB_MAX + at),
        "the write-ahead log took",
    ),
    "a file that grows faster and faster": (
        lambda at, one: replace(one, file_mib=float(at**3)),
        "the log's file grew by",
    ),
}


@pytest.mark.parametrize(("change", "problem"), CHANGES.values(), ids=CHANGES)
def test_what_grows_without_end_is_named(change: Change, problem: str) -> None:
    found = problems([change(at, one) for at, one in enumerate(FLAT)])

    assert [one for one in found if one.startswith(problem)] == found != []


def test_what_happens_only_at_the_beginning_is_no_trend() -> None:
    cold = replace(FLAT[0], memory_mib=50.0, p50_ms=9.0, p99_ms=90.0)

    assert problems([cold, *FLAT[1:]]) == []


def test_a_run_that_is_too_short_to_tell_says_so() -> None:
    assert problems(FLAT[:3]) == ["3 minutes show no trend: at least 4 are needed"]
    assert problems(FLAT[:4]) == []
