"""The journal and its fold, killed anywhere: nothing is lost, doubled or brought back."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from tests.support.memory_tables import MemoryTables, TablesDisk, inline
from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.control.log.journal import Journal
from trunkline.control.log.packing import JournalRow, pack_row
from trunkline.control.log.store import Logged, NoteRow, Segment
from trunkline.control.tuning import Tuning

QUIET = Tuning(fold_quiet_s=3_600.0, fold_bytes=limits.GIB, journal_bytes_max=limits.GIB)
"""Nothing is folded but by the test."""


class Killed(BaseException):
    """No `except Exception` holds it up."""


class Fuse:
    """Kills the process at the so-many-th step."""

    def __init__(self, steps: int | None = None) -> None:
        self.left = steps
        self.seen: list[str] = []

    async def step(self, name: str) -> None:
        self.seen.append(name)
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed(name)


async def opened(disk: TablesDisk, fuse: Fuse | None = None, tuning: Tuning = QUIET) -> Journal:
    journal = Journal(MemoryTables(disk, (fuse or Fuse()).step), tuning, inline)
    await journal.load()
    return journal


class Model:
    """What the log is to hold, as a list a session."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Logged]] = {}
        self.ends: dict[str, tuple[int, int | None, int]] = {}
        """Last id, machine's number, last note."""

    def take(self, segments: list[Segment]) -> None:
        for one in segments:
            log = self.logs.setdefault(one.session_id, [])
            last_id, _, note = self.ends.get(one.session_id, (0, None, 0))
            log += (
                Logged(number, 0, one.at, line)
                for number, line in enumerate(one.lines, one.first_id)
            )
            log += (Logged(row.after_id, row.number, one.at, row.body) for row in one.notes)
            log.sort(key=lambda entry: (entry.event_id, entry.note))
            last_id = max(last_id, one.first_id + len(one.lines) - 1)
            note = one.notes[-1].number if one.notes else note
            self.ends[one.session_id] = last_id, one.machine_seq, note

    def events(self, session_id: str) -> list[tuple[int, str]]:
        return [(one.event_id, one.text) for one in self.logs.get(session_id, []) if not one.note]

    def cut(self, session_id: str, upto: int) -> None:
        log = self.logs.get(session_id, [])
        self.logs[session_id] = [one for one in log if one.note or one.event_id > upto]

    def delete(self, session_id: str) -> None:
        self.logs.pop(session_id, None)
        self.ends.pop(session_id, None)


async def all_entries(journal: Journal, session_id: str) -> list[Logged]:
    found: list[Logged] = []
    after_id = after_note = 0
    while page := await journal.entries(session_id, after_id, after_note):
        found += page
        after_id = max(after_id, page[-1].event_id)
        after_note = max([after_note, *(one.note for one in page)])
    return found


async def check(journal: Journal, model: Model, names: list[str]) -> None:
    heads = await journal.heads(names)
    for one in names:
        events = model.events(one)
        assert await journal.read(one, 0, 10_000) == events, one
        assert await journal.read_back(one, 2**60, 10_000) == events, one
        entries = await all_entries(journal, one)
        assert [entry for entry in entries if not entry.note] == [
            entry for entry in model.logs.get(one, []) if not entry.note
        ]
        # A cut leaves notes of what is gone where they are packed with others.
        first = events[0][0] if events else 2**60
        behind = [entry for entry in entries if entry.event_id >= first]
        assert behind == [e for e in model.logs.get(one, []) if e.event_id >= first], one
        head = heads.get(one)
        assert (head and (head.last_id, head.machine_seq, head.note)) == model.ends.get(one), one


def sentence(session_id: str, model: Model, choice: random.Random, at: int) -> Segment:
    """What a session says next: events, notes, or only that a number was taken."""
    last_id, seq, note = model.ends.get(session_id, (0, None, 0))
    size = choice.choice((3, 40, 400, 3_000))
    many = choice.choice((0, 0, 1, 1, 2, 30))
    lines = [f"{session_id} {last_id + n} {'x' * size}" for n in range(1, many + 1)]
    notes = [
        NoteRow(note + n, last_id + choice.randint(0, many), f"note {note + n}")
        for n in range(1, choice.choice((0, 0, 1, 3)) + 1)
    ]
    notes = [
        row._replace(after_id=place)
        for row, place in zip(notes, sorted(one.after_id for one in notes), strict=True)
    ]
    return Segment(
        session_id, last_id + 1, lines, "\n".join(lines), at, choice.choice((seq, at)), notes
    )


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_happens_in_any_order_the_log_holds_what_was_committed(seed: int) -> None:
    """A seeded run: commits, folds, cuts, deletes and deaths in the middle of any of these."""
    choice = random.Random(seed)
    disk, model, names = TablesDisk(), Model(), [f"s{number}" for number in range(6)]
    fuse = Fuse()
    journal = await opened(disk, fuse)
    for at in range(1, 90):
        act = choice.choice(("say", "say", "say", "say", "fold", "cut", "delete", "die"))
        fuse.left = choice.randint(0, 8) if choice.random() < 0.3 else None
        one = choice.choice(names)
        batch = [sentence(name, model, choice, at) for name in names if choice.random() < 0.5]
        ends = model.events(one)
        upto = choice.choice(ends)[0] if ends and choice.random() < 0.5 else 0
        done = False
        try:
            if act == "say":
                await journal.append(batch)
            elif act == "fold":
                await journal.fold(all=True)
            elif act == "cut":
                await journal.cut(one, upto)
            elif act == "delete" and choice.random() < 0.3:
                await journal.delete(one)
            elif act == "die":
                raise Killed
            else:
                continue
            done = True
        except Killed:
            done = bool(fuse.seen) and fuse.seen[-1] in ("appended", "deleted", "was cut")
            fuse = Fuse()
            journal = await opened(disk, fuse)
        if done and act == "say":
            model.take(batch)
        elif done and act == "cut":
            model.cut(one, upto)
        elif done and act == "delete":
            model.delete(one)
        fuse.left = None
        fuse.seen.clear()
        await check(journal, model, names)
    await journal.fold(all=True)
    assert disk.journal == {}
    await check(await opened(disk), model, names)


Act = Callable[[Journal], Awaitable[object]]

_ACTS: dict[str, Act] = {
    "a fold": lambda journal: journal.fold(all=True),
    "a delete": lambda journal: journal.delete("s1"),
    "a cut": lambda journal: journal.cut("s1", 30),
    "a skip": lambda journal: journal.skip(2**30),
    "a commit": lambda journal: journal.append(_said(90)),
}


def _said(place: int) -> list[Segment]:
    """Of 70 sessions, so that a fold takes three slices; one commit of 1.2 MB."""
    large = "y" * (20_000 if place == 30 else 20)
    return [
        Segment(
            f"s{number}",
            place + 1,
            [f"{place + n} {large}" for n in range(1, 3)],
            "\n".join(f"{place + n} {large}" for n in range(1, 3)),
            place,
            place,
            [NoteRow(place // 30 + 1, place + 1, f"at {place}")],
        )
        for number in range(70)
    ]


async def _prepared() -> TablesDisk:
    """Segments of everybody, and two commits that are not folded."""
    disk = TablesDisk()
    journal = await opened(disk)
    await journal.append(_said(0))
    await journal.fold(all=True)
    for place in (30, 60):
        await journal.append(_said(place))
    return disk


async def _shown(disk: TablesDisk) -> list[object]:
    """What a process that starts now finds."""
    journal = await opened(disk)
    heads = await journal.heads([f"s{number}" for number in range(70)])
    found: list[object] = [(one, head[:3]) for one, head in sorted(heads.items())]
    for one in ("s0", "s1", "s69"):
        found += [await journal.read(one, 0, 100), await all_entries(journal, one)]
    return found


@pytest.mark.parametrize("act", _ACTS.values(), ids=list(_ACTS))
async def test_a_death_at_any_step_leaves_the_log_as_it_was_or_as_it_was_to_be(act: Act) -> None:
    """Each step in turn, and after it a start, and a fold to its end."""
    before = await _shown(await _prepared())
    disk, whole = await _prepared(), Fuse()
    await act(await opened(disk, whole))
    after = await _shown(disk)
    for steps in range(len(whole.seen)):
        disk, fuse = await _prepared(), Fuse(steps)
        journal = await opened(disk, fuse)
        with pytest.raises(Killed):
            await act(journal)
        is_done = fuse.seen[-1] in ("appended", "deleted", "was cut", "skipped")
        for _ in range(2):
            assert await _shown(disk) == (after if is_done else before), fuse.seen
            journal = await opened(disk)
            await journal.fold(all=True)
        assert disk.journal == {}


async def test_a_fold_that_fails_is_tried_again_and_commits_wait_when_the_journal_is_full() -> None:
    failures = 0

    async def step(name: str) -> None:
        nonlocal failures
        if name == "fold" and failures:
            failures -= 1
            raise OSError("disk full")

    tuning = Tuning(fold_bytes=20_000, journal_bytes_max=40_000, retry_s=0.0, fold_quiet_s=3_600.0)
    disk, said = TablesDisk(), Model()
    journal = Journal(MemoryTables(disk, step), tuning, inline)
    failures = 10_000
    batches = [_said(place)[:20] for place in range(60, 2_000, 30)]
    taken = 0
    for batch in batches:
        try:
            await journal.append(batch)
        except OSError:
            break
        said.take(batch)
        taken += 1
    assert 2 < taken == len(disk.journal) < len(batches) - 1
    failures = 0
    await journal.append(batch, again=True)
    said.take(batch)
    await check(journal, said, [f"s{number}" for number in range(20)])
    await journal.close()
    assert disk.journal == {}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"\x28\xb5\x2f\xfd",
        b"\x28\xb5\x2f\xfd" + b"\xff" * 40,
        b"\x91\x92\x01\x02",
        b"\xdd\xff\xff\xff\xff",
        pack_row([])[0] + b"\x00",
        b"\x91\x95\xa1s\xff\x00\xc0\xa1x",
    ],
)
async def test_a_row_of_the_journal_that_cannot_be_read_is_named(body: bytes) -> None:
    disk = TablesDisk()
    journal = await opened(disk)
    await journal.append(_said(0))
    disk.journal[17] = JournalRow(17, 0, body)
    with pytest.raises(Unavailable, match="row 17 of the journal cannot be read") as refused:
        await opened(disk)
    assert refused.value.code == "LOG_DAMAGED"


async def test_events_that_cannot_be_read_are_an_error_and_in_nobody_elses_way() -> None:
    disk = TablesDisk()
    journal = await opened(disk)
    await journal.append(_said(0))
    await journal.fold(all=True)
    rows = disk.segments["s1"]
    (last_id, row) = rows.popitem()
    for broken in (
        row._replace(body=b"a"),
        row._replace(body=b"\xff\n\xff", codec=None),
        row._replace(body=row.body[:-2], codec=1),
        row._replace(codec=77),
        row._replace(times=b"\x92\x01"),
        row._replace(times=b"\x92\x07\x01"),
    ):
        rows[last_id] = broken
        with pytest.raises(Unavailable, match="events 1 to 2 of session s1 cannot be read"):
            await journal.read("s1", 0, 10)
    await journal.append(_said(30))
    await journal.fold(all=True)
    assert [number for number, _ in await journal.read("s1", 2, 10)] == [31, 32]
    assert [number for number, _ in await journal.read("s2", 0, 10)] == [1, 2, 31, 32]


async def test_a_commit_larger_than_a_row_is_there_whole_or_not_at_all() -> None:
    disk = TablesDisk()
    journal = await opened(disk)
    lines = [f"{number}{'z' * limits.MIB}" for number in range(9)]
    huge = "w" * (limits.FRAME_BYTES_MAX + 1)
    batch = [
        Segment("a", 1, lines, "\n".join(lines), 5, 3, [NoteRow(1, 9, "n")]),
        Segment("b", 1, [huge], huge, 5, None),
    ]
    await journal.append(batch)
    assert len(disk.journal) > 2
    for _ in range(2):
        journal = await opened(disk)
        assert [line for _, line in await journal.read("a", 0, 10)] == lines
        assert await journal.read("b", 0, 10) == [(1, huge)]
        assert (await all_entries(journal, "a"))[-1] == Logged(9, 1, 5, "n")
        await journal.fold(all=True)


async def test_slow_talk_becomes_few_segments_and_each_event_keeps_its_time() -> None:
    """Folded after each word, as on a quiet system."""
    disk = TablesDisk()
    journal = await opened(disk)
    written = 0
    for number in range(1, 401):
        line = f'{{"type":"text_chunk","content":"word {number}","turn_id":"0192f0a1-7c3e"}}'
        await journal.append([Segment("s", number, [line], line, number * 7, None)])
        await journal.fold(all=True)
        written += sum(
            row.lines_bytes for row in disk.segments["s"].values() if row.last_id == number
        )
    assert len(disk.segments["s"]) < 12
    assert written < 12 * 400 * 75  # each word is written anew a few times, not 200 times
    times = [entry.at for entry in await all_entries(journal, "s")]
    assert times == [number * 7 for number in range(1, 401)]


async def test_readers_find_everything_while_a_fold_is_under_way() -> None:
    """At each step of it."""
    disk = await _prepared()
    wanted = [1, 2, 31, 32, 61, 62]
    looks = 0

    async def look(_name: str) -> None:
        nonlocal looks
        for one in ("s0", "s40", "s69"):
            assert [number for number, _ in await journal.read(one, 0, 10)] == wanted
            assert [number for number, _ in await journal.read_back(one, 62, 2)] == [32, 61]
            looks += 1

    journal = Journal(MemoryTables(disk, look), QUIET, inline)
    await journal.load()
    await asyncio.gather(journal.fold(all=True), journal.heads(["s0"]), journal.entries("s0", 0, 0))
    assert looks >= 6
