"""The folder of a session's checkpoints: what is there, what is kept, what goes.

One process writes here, so the folder is listed once and then remembered. Not for several threads.
Knows records, not what is in them.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.checkpoint.record import (
    FOLDER,
    Kind,
    Record,
    Writes,
    encode,
    line_of,
    names_in,
    path_of,
    read_record,
    read_writes,
    writes_line,
)
from trunkline.execution.checkpoint.reserve import Reserve
from trunkline.execution.errors import CheckpointError
from trunkline.execution.files import append, remove, sweep, write_atomic

CHECKPOINT_NAMESPACES_MAX = 50  # of one thread: every run of a subgraph makes a new one

# LangGraph's channel for a question to a person.
INTERRUPT = "__interrupt__"


class Line(msgspec.Struct):
    """The checkpoints of one thread and namespace."""

    key: str
    thread_id: str
    checkpoint_ns: str
    entries: dict[str, str | None] = {}
    """By id, the checkpoint before it."""
    writes: set[str] = set()
    """Ids with a file of writes; those of a checkpoint may come before itself."""
    asked: set[str] = set()
    """Ids whose writes ask a person something."""

    def newest_first(self) -> list[str]:
        # Ids begin with the time.
        return sorted(self.entries, reverse=True)

    def forget(self, checkpoint_id: str) -> None:
        self.entries.pop(checkpoint_id, None)
        self.writes.discard(checkpoint_id)
        self.asked.discard(checkpoint_id)

    def waiting(self) -> list[str]:
        """Where a person was asked and nothing has gone on from there."""
        gone_on = set(self.entries.values())
        return [one for one in self.newest_first() if one in self.asked and one not in gone_on]


class Shelf:
    """The checkpoints of one session."""

    def __init__(self, session_dir: Path, keep: int, bytes_max: int) -> None:
        self._session_dir = session_dir
        self._folder = session_dir / FOLDER
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.reserve = Reserve(self._folder)
        self.damaged = False
        """Something was here that cannot be read any more."""
        self._keep = keep
        self._bytes_max = bytes_max
        self._lines: dict[str, Line] = {}
        self._spare: str | None = None
        """Writes of a checkpoint that is gone; the next file of writes takes its place."""
        self._scan()

    def line(self, thread_id: str, checkpoint_ns: str) -> Line:
        """The line of that name, empty if nothing is there yet."""
        key = line_of(self._session_dir, thread_id, checkpoint_ns)
        return self._lines.get(key) or Line(key, thread_id, checkpoint_ns)

    def lines(self, thread_id: str | None = None, checkpoint_ns: str | None = None) -> list[Line]:
        """Every line, or those of a thread or namespace."""
        return [
            line
            for line in self._lines.values()
            if thread_id in (None, line.thread_id) and checkpoint_ns in (None, line.checkpoint_ns)
        ]

    def put(self, record: Record) -> None:
        """Writes a checkpoint, in the place of the oldest."""
        line = self.line(record.thread_id, record.checkpoint_ns)
        path = path_of(self._folder, line.key, record.checkpoint_id, Kind.RECORD)
        data = encode(record)
        if len(data) > self._bytes_max:
            raise _too_large("state of this session", self._bytes_max)
        if not line.entries:
            self._retire_lines_before(line)
        self._remember(line, record)
        spare = self._retire(line, record.checkpoint_id)
        self.reserve.need(len(data))
        self.reserve.save(lambda: write_atomic(path, data, spare=spare))

    def add_writes(self, line: Line, checkpoint_id: str, writes: Writes) -> None:
        """Adds what a task wrote after a checkpoint."""
        path = path_of(self._folder, line.key, checkpoint_id, Kind.WRITES)
        data = writes_line(writes)
        if len(data) > self._bytes_max:
            raise _too_large("writes of one step", self._bytes_max)
        if checkpoint_id not in line.writes:
            spare, self._spare = self._spare, None
            self.reserve.save(lambda: write_atomic(path, data, spare=spare))
        elif not self.reserve.save(lambda: append(path, data, bytes_max=self._bytes_max)):
            raise _too_large("writes of one step", self._bytes_max)
        self._lines.setdefault(line.key, line)
        self._remember_writes(line, checkpoint_id, [writes])

    def read(self, line: Line, checkpoint_id: str) -> Record | None:
        """None for one that is not there, or is no longer readable."""
        if checkpoint_id not in line.entries:
            return None
        record = read_record(self._folder, line.key, checkpoint_id)
        if record is None:
            del line.entries[checkpoint_id]
            self.damaged = True
        return record

    def read_writes(self, line: Line, checkpoint_id: str) -> list[Writes]:
        """What tasks wrote after a checkpoint, in the order in which it came."""
        if checkpoint_id not in line.writes:
            return []
        return read_writes(self._folder, line.key, checkpoint_id)

    def drop(self, line: Line, ids: Iterable[str]) -> None:
        """Removes checkpoints with their writes."""
        for one in ids:
            # The record first: writes without a checkpoint are harmless.
            remove(path_of(self._folder, line.key, one, Kind.RECORD))
            if one in line.writes:
                remove(path_of(self._folder, line.key, one, Kind.WRITES))
            line.forget(one)

    def drop_line(self, line: Line) -> None:
        """Removes all checkpoints of a line."""
        self.drop(line, line.entries.keys() | line.writes)
        self._lines.pop(line.key, None)
        if self._spare is not None:
            remove(self._spare)
            self._spare = None

    def _retire(self, line: Line, written: str) -> str | None:
        """Lets the oldest go; gives the file of one of them, to be written over."""
        if len(line.entries) <= self._keep:
            return None
        newest = line.newest_first()
        # The one being written stays even when a clock that was set back makes it the oldest.
        kept = {written, *newest[: self._keep], *line.waiting()[: self._keep]}
        oldest = min(kept)
        self.drop(line, [one for one in line.writes - line.entries.keys() if one < oldest])
        gone = [one for one in newest if one not in kept]
        self.drop(line, gone[1:])
        return self._reuse(line, gone[0]) if gone else None

    def _reuse(self, line: Line, checkpoint_id: str) -> str:
        if checkpoint_id in line.writes:
            path = path_of(self._folder, line.key, checkpoint_id, Kind.WRITES)
            if self._spare is not None:
                remove(path)
            else:
                self._spare = path
        line.forget(checkpoint_id)
        return path_of(self._folder, line.key, checkpoint_id, Kind.RECORD)

    def _remember(self, line: Line, record: Record) -> None:
        self._lines.setdefault(line.key, line)
        line.entries[record.checkpoint_id] = record.parent_checkpoint_id

    def _retire_lines_before(self, new: Line) -> None:
        """Every run of a subgraph has a namespace of its own; the oldest of them go. As many again
        may stay where a person was asked: older ones are of turns that were ended."""
        lines = self.lines(new.thread_id)
        inner = [line for line in lines if line.checkpoint_ns and line is not new]
        inner.sort(key=lambda line: max(line.entries, default=""), reverse=True)
        old = inner[CHECKPOINT_NAMESPACES_MAX - 1 :]
        waiting = [line for line in old if line.waiting()]
        kept = {line.key for line in waiting[:CHECKPOINT_NAMESPACES_MAX]}
        for line in old:
            if line.key not in kept:
                self.drop_line(line)

    def _remember_writes(self, line: Line, checkpoint_id: str, found: Iterable[Writes]) -> None:
        line.writes.add(checkpoint_id)
        if any(write.channel == INTERRUPT for writes in found for write in writes.writes):
            line.asked.add(checkpoint_id)

    def _scan(self) -> None:
        sweep(self._folder)
        names = sorted(names_in(self._folder))
        for name in names:
            if name.kind is Kind.RECORD:
                record = read_record(self._folder, name.line, name.checkpoint_id)
                if record:
                    self._remember(self.line(record.thread_id, record.checkpoint_ns), record)
                else:
                    self.damaged = True
        records = {name[:2] for name in names if name.kind is Kind.RECORD}
        for name in names:
            if name.kind is Kind.WRITES:
                self._take_writes(name.line, name.checkpoint_id, name[:2] in records)

    def _take_writes(self, key: str, checkpoint_id: str, has_record: bool) -> None:
        line = self._lines.get(key)
        if line and checkpoint_id in line.entries:
            found = read_writes(self._folder, key, checkpoint_id)
            self._remember_writes(line, checkpoint_id, found)
        elif not has_record:
            # Its process died before it wrote the checkpoint, which nobody will write now.
            remove(path_of(self._folder, key, checkpoint_id, Kind.WRITES))


def _too_large(what: str, bytes_max: int) -> CheckpointError:
    return CheckpointError(
        "CHECKPOINT_TOO_LARGE",
        f"The {what} is larger than {bytes_max // limits.MIB} MiB and cannot be saved.",
    )
