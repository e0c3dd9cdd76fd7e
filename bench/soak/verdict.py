"""What a soak has seen, minute by minute, and whether it was flat. Pure: no clock, no files.

A trend is the median of the slopes between any two minutes (Theil and Sen): one bad minute of the
machine, or two, do not bend it.
"""

from dataclasses import dataclass
from itertools import combinations
from statistics import median

from trunkline import limits
from trunkline.control.tuning import DEFAULT

# Rings and caches fill up, and the allocator finds its size.
SETTLING_SHARE = 0.2
MINUTES_MIN = 3
"""Of what is left then: a slope needs a few points."""

# The smallest things that could be kept: 60 bytes of each commit, of which there are some hundred a
# second, are 1 MiB a minute; of each event it would be thirty times that.
MEMORY_MIB_PER_MINUTE_MAX = 1.0
# What gets slower as more is stored gets slower without end. By half, or by 2 ms where that is
# more, it also differs between two quiet minutes.
LATENCY_GROWTH_SHARE_MAX = 0.5
LATENCY_GROWTH_MS_MIN = 2.0
# The write-ahead log is moved by the writer itself at 64 MiB; a commit and a fold may be under way.
WAL_MIB_MAX = 96.0
# The journal is bounded by what its rows take in memory, and they are smaller on the disk.
JOURNAL_MIB_MAX = DEFAULT.journal_bytes_max / limits.MIB
# Segments grow with what is said: the file must not grow faster at the end than at the beginning.
FILE_GROWTH_RATIO_MAX = 1.5
FILE_GROWTH_MIB_MIN = 4.0  # in a minute: less is the steps in which a file grows


@dataclass(frozen=True)
class Minute:
    """What was seen at its end, or in it."""

    events: int
    """Delivered since the beginning."""
    event_mib: float
    """The bytes of their text."""
    memory_mib: float
    """The least that was resident in it."""
    file_mib: float
    wal_mib: float
    journal_mib: float
    """The most that it held in it."""
    p50_ms: float
    p99_ms: float


def trend(values: list[float]) -> float:
    """By how much they grow from one to the next."""
    pairs = combinations(range(len(values)), 2)
    return median((values[b] - values[a]) / (b - a) for a, b in pairs)


def settled(minutes: list[Minute]) -> list[Minute]:
    """Without the beginning."""
    return minutes[max(1, round(len(minutes) * SETTLING_SHARE)) :]


def problems(minutes: list[Minute]) -> list[str]:
    """What was not flat, in words; nothing where all was."""
    seen = settled(minutes)
    if len(seen) < MINUTES_MIN:
        least = next(n for n in range(99) if n - max(1, round(n * SETTLING_SHARE)) >= MINUTES_MIN)
        return [f"{len(minutes)} minutes show no trend: at least {least} are needed"]
    found = [_memory(seen)]
    found += [_latency("p50", [one.p50_ms for one in seen])]
    found += [_latency("p99", [one.p99_ms for one in seen])]
    found += [_file(seen)]
    found += [_bound("the journal", max(one.journal_mib for one in minutes), JOURNAL_MIB_MAX)]
    found += [_bound("the write-ahead log", max(one.wal_mib for one in minutes), WAL_MIB_MAX)]
    return [one for one in found if one]


def _memory(seen: list[Minute]) -> str:
    slope = trend([one.memory_mib for one in seen])
    if slope <= MEMORY_MIB_PER_MINUTE_MAX:
        return ""
    return f"memory grows by {slope:.2f} MiB a minute: at most {MEMORY_MIB_PER_MINUTE_MAX:g}"


def _latency(name: str, values: list[float]) -> str:
    grown_ms = trend(values) * (len(values) - 1)
    most_ms = max(LATENCY_GROWTH_MS_MIN, LATENCY_GROWTH_SHARE_MAX * median(values))
    if grown_ms <= most_ms:
        return ""
    return f"latency, {name}: {grown_ms:.2f} ms more at the end: at most {most_ms:.2f}"


def _file(seen: list[Minute]) -> str:
    """The later half against the earlier one, by what was said in each."""
    middle = len(seen) // 2
    early, late = (_file_growth(seen[a], seen[b]) for a, b in ((0, middle), (middle, -1)))
    minutes = len(seen) - 1 - middle
    least = FILE_GROWTH_MIB_MIN * minutes / max(seen[-1].event_mib - seen[middle].event_mib, 1e-9)
    most = max(early * FILE_GROWTH_RATIO_MAX, least)
    if late <= most:
        return ""
    return (
        f"the log's file grew by {late:.2f} bytes for each byte of events in the later half: at "
        f"most {most:.2f}"
    )


def _file_growth(first: Minute, last: Minute) -> float:
    return (last.file_mib - first.file_mib) / max(last.event_mib - first.event_mib, 1e-9)


def _bound(name: str, most_mib: float, allowed_mib: float) -> str:
    if most_mib <= allowed_mib:
        return ""
    return f"{name} took {most_mib:.1f} MiB: at most {allowed_mib:g}"
