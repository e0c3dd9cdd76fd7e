"""The log's tables in memory, where the process can die before and after each transaction."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from trunkline.control.log.packing import JournalRow, NotesRow, SegmentRow
from trunkline.control.log.store import Head, Stored
from trunkline.control.log.tables import TAIL_ROWS, Fold, Tail, with_notes
from trunkline.control.store.fence import overtaken

Step = Callable[[str], Awaitable[None]]


async def inline(call: Callable[..., Any], *arguments: Any) -> Any:
    return call(*arguments)


async def _nothing(_name: str) -> None:
    """Nobody dies."""


class TablesDisk:
    """What is on it. Changed at once or not at all."""

    def __init__(self) -> None:
        self.journal: dict[int, JournalRow] = {}
        self.segments: dict[str, dict[int, SegmentRow]] = {}
        self.notes: dict[str, dict[int, NotesRow]] = {}
        self.logs: dict[str, Head] = {}
        self.epoch = 0


class MemoryTables:
    """`Tables` on that disk. `step` comes around each change."""

    def __init__(self, disk: TablesDisk, step: Step = _nothing) -> None:
        self._disk = disk
        self._step = step
        self._epoch = 0

    async def claim(self, at_least: int) -> int:
        self._disk.epoch = max(self._disk.epoch + 1, at_least)
        self._epoch = self._disk.epoch
        return self._epoch

    async def append(self, rows: list[JournalRow], *, again: bool) -> None:
        await self._begin("append")
        for row in rows:
            if not (again and row.seq in self._disk.journal):
                assert row.seq not in self._disk.journal, "two rows have one number"
                self._disk.journal[row.seq] = row
                self.committed(row)
        await self._step("appended")

    def committed(self, row: JournalRow) -> None:
        """In the same moment."""

    async def journal(self, after: int) -> list[JournalRow]:
        rows = sorted(row for seq, row in self._disk.journal.items() if seq > after)
        return rows[:3]

    async def fold(self, folds: list[Fold]) -> None:
        await self._begin("fold")
        disk = self._disk
        for one in folds:
            segments = disk.segments.setdefault(one.session_id, {})
            notes = disk.notes.setdefault(one.session_id, {})
            for last_id in one.gone:
                del segments[last_id]
            for number in one.gone_notes:
                del notes[number]
            for row in one.segments:
                assert row.last_id not in segments, "two segments have one end"
                segments[row.last_id] = row
            for pack in one.notes:
                assert pack.number not in notes, "two packs have one end"
                notes[pack.number] = pack
            disk.logs[one.session_id] = one.head
        await self._step("folded")

    async def forget(self, upto: int) -> None:
        await self._begin("forget")
        for seq in [seq for seq in self._disk.journal if seq <= upto]:
            del self._disk.journal[seq]
        await self._step("forgotten")

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        logs = self._disk.logs
        return {one: logs[one] for one in session_ids if one in logs}

    async def tails(self, session_ids: list[str], lines_bytes_max: int) -> dict[str, Tail]:
        return {
            one: Tail(
                self._disk.logs.get(one),
                _small(self._segments(one)[::-1], lines_bytes_max),
                self._notes(one)[::-1][:TAIL_ROWS],
            )
            for one in session_ids
        }

    async def segments(self, session_id: str, after: int, count: int) -> list[SegmentRow]:
        rows = self._segments(session_id)
        return [row for row in rows if row.last_id > after][:count]

    async def segments_back(self, session_id: str, before: int, count: int) -> list[SegmentRow]:
        rows = self._segments(session_id)
        return [row for row in reversed(rows) if row.first_id < before][:count]

    async def notes(self, session_id: str, after: int, count: int) -> list[NotesRow]:
        return [row for row in self._notes(session_id) if row.number > after][:count]

    async def delete(self, session_id: str, row: JournalRow) -> None:
        await self._begin("delete")
        disk = self._disk
        for table in (disk.segments, disk.notes, disk.logs):
            table.pop(session_id, None)
        disk.journal[row.seq] = row
        await self._step("deleted")

    async def cut(self, session_id: str, upto: int, rest: SegmentRow | None) -> int | None:
        await self._begin("cut")
        disk = self._disk
        kept = {row.last_id: row for row in self._segments(session_id) if row.last_id > upto}
        if rest is not None:
            kept[rest.last_id] = rest
        notes = {row.number: row for row in self._notes(session_id) if row.after_id > upto}
        head = disk.logs.get(session_id)
        if head is not None:
            first_id = min((row.first_id for row in kept.values()), default=head.last_id + 1)
            size = sum(len(row.body) for row in kept.values())
            size += sum(row.stored_bytes for row in notes.values())
            disk.segments[session_id], disk.notes[session_id] = kept, notes
            disk.logs[session_id] = head._replace(first_id=first_id, bytes=size)
        await self._step("was cut")
        return None if head is None else disk.logs[session_id].first_id

    async def skip(self, gap: int, session_ids: list[str]) -> None:
        await self._begin("skip")
        logs = self._disk.logs
        for one in session_ids:
            logs.setdefault(one, Head(0, None))
        for one, head in logs.items():
            last_id = head.last_id + gap
            is_empty = head.first_id > head.last_id
            first_id = last_id + 1 if is_empty else head.first_id
            logs[one] = head._replace(last_id=last_id, first_id=first_id)
        await self._step("skipped")

    async def sizes(self, session_ids: list[str] | None) -> dict[str, int]:
        logs = self._disk.logs
        wanted = logs if session_ids is None else session_ids
        return {one: logs[one].bytes for one in wanted if one in logs}

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        rows = self._segments(session_id)[:limit]
        found = [Stored(row.first_id, row.last_id, row.at, len(row.body)) for row in rows]
        notes = ((row.after_id, row.stored_bytes) for row in self._notes(session_id))
        return with_notes(found, notes)

    async def _begin(self, name: str) -> None:
        await self._step(name)
        if self._epoch != self._disk.epoch:
            raise overtaken()

    async def close(self) -> None:
        """Nothing to close."""

    def _segments(self, session_id: str) -> list[SegmentRow]:
        return sorted(self._disk.segments.get(session_id, {}).values())

    def _notes(self, session_id: str) -> list[NotesRow]:
        return sorted(self._disk.notes.get(session_id, {}).values())


def _small(rows: Iterable[SegmentRow], lines_bytes_max: int) -> list[SegmentRow]:
    found: list[SegmentRow] = []
    for row in rows:
        if row.lines_bytes >= lines_bytes_max or len(found) == TAIL_ROWS:
            break
        found.append(row)
    return found
