"""What the page of the benchmarks says is met, and what it judges."""

import pytest
from bench.report import Verdict, verdicts
from bench.results import Metric, Results
from bench.stored import disk, journal_start


def verdict(results: Results, about: str) -> Verdict:
    (found,) = (one for one in verdicts(results) if about in one.asks)
    return found


@pytest.mark.parametrize(("full_ms", "is_met"), [(999.0, True), (1200.0, False)])
def test_a_start_with_a_full_journal_is_judged_by_the_whole_of_it(
    full_ms: float, is_met: bool
) -> None:
    """However long a start with an empty one takes."""
    results = Results()
    assert verdict(results, "a full journal").met is None
    results.add(Metric.JOURNAL_START, journal_start.FULL, full_ms)
    assert verdict(results, "a full journal").met is is_met
    results.add(Metric.JOURNAL_START, journal_start.EMPTY, 600.0)
    found = verdict(results, "a full journal")
    assert found.met is is_met
    assert found.seen == f"{full_ms:.0f} (600 with nothing in it)"


@pytest.mark.parametrize(("file_kib", "is_met"), [(8.0, True), (22.0, False)])
def test_what_a_session_takes_on_the_disk_is_judged_beside_its_events(
    file_kib: float, is_met: bool
) -> None:
    results = Results()
    assert verdict(results, "on the disk").met is None
    results.add(Metric.DISK, disk.row(disk.NOTE, disk.EVENTS), 9.0)
    results.add(Metric.DISK, disk.row(disk.NOTE, disk.FILE), file_kib)
    found = verdict(results, "on the disk")
    assert found.met is is_met
    assert found.seen == f"{file_kib / 9:.2f} × ({file_kib:.1f} KiB for 9.0)"
