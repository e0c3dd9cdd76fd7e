"""What survives the control plane: its log and its records, in memory."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

import msgspec

from tests.support.memory_tables import MemoryTables, TablesDisk, inline
from trunkline.control.access.auth import Principal
from trunkline.control.errors import NotFound
from trunkline.control.log.journal import Journal
from trunkline.control.log.packing import Entry, JournalRow, unpack_row
from trunkline.control.log.store import Logged
from trunkline.control.log.tables import Tail
from trunkline.control.machines.recorded import MachineNow, MachineRow
from trunkline.control.sessions import state as states
from trunkline.control.sessions.approvals import Approval
from trunkline.control.sessions.projection import Position, Saved, Step
from trunkline.control.sessions.records import Session
from trunkline.control.sessions.rows import approval_id
from trunkline.control.sessions.state import SessionState
from trunkline.control.sessions.turns import Turn
from trunkline.control.tuning import Tuning
from trunkline.wire.commands import Say, Start

Row = dict[str, Any]
USER, ORG = "user", "org"
_TUNING = Tuning(fold_bytes=4_096)  # so some folds are in the middle of talk


class Disk:
    """Everything that is on it. Changed at once or not at all."""

    def __init__(self) -> None:
        self.tables = TablesDisk()
        self.events: dict[str, list[tuple[str, int]]] = {}
        """Of each session, its events with the time of their commit: what `tables` are to hold."""
        self.seqs: dict[str, int | None] = {}
        self.notes: dict[str, list[Logged]] = {}
        self.sessions: dict[str, Row] = {}
        self.turns: dict[str, Row] = {}
        self.approvals: dict[tuple[str, str], Row] = {}
        self.machines: dict[str, Row] = {}
        self.is_slow = False
        """Some commits take so long that machines are not read meanwhile."""

    def take(self, entries: list[Entry]) -> None:
        """A commit."""
        for one in entries:
            events = self.events.setdefault(one.session_id, [])
            assert one.first_id == len(events) + 1, "two writers of one log"
            events += [(line, one.at) for line in (one.body or "").split("\n") if one.body]
            self.seqs[one.session_id] = one.machine_seq
            notes = self.notes.setdefault(one.session_id, [])
            for note in one.notes:
                assert note.number == len(notes) + 1, "two writers of one log's notes"
                notes.append(Logged(note.after_id, note.number, one.at, note.body))

    def entries(self, session_id: str, after_id: int = 0, after_note: int = 0) -> list[Logged]:
        found = [
            Logged(number, 0, at, line)
            for number, (line, at) in enumerate(self.events.get(session_id, ()), 1)
            if number > after_id
        ]
        found += [one for one in self.notes.get(session_id, ()) if one.note > after_note]
        return sorted(found, key=lambda one: (one.event_id, one.note))


class LogTables(MemoryTables):
    """The log's tables, under the real journal. `step` is where the control plane may die."""

    def __init__(self, disk: Disk, random: Random, step: Callable[[], None]) -> None:
        super().__init__(disk.tables, self._die)
        self._whole = disk
        self._random = random
        self._may_die = step

    async def _die(self, name: str) -> None:
        self._may_die()

    async def append(self, rows: list[JournalRow], *, again: bool) -> None:
        is_stalling = self._whole.is_slow and self._random.random() < 0.05
        delays_s = (1.5, 5.0, 40.0) if is_stalling else (0.0, 0.001, 0.02)
        await asyncio.sleep(self._random.choice(delays_s))
        await super().append(rows, again=again)

    def committed(self, row: JournalRow) -> None:
        self._whole.take(unpack_row(row)[0])

    async def tails(self, session_ids: list[str], lines_bytes_max: int) -> dict[str, Tail]:
        await asyncio.sleep(self._random.choice((0.0, 0.001, 0.02)))
        return await super().tails(session_ids, lines_bytes_max)


def journal(disk: Disk, random: Random, step: Callable[[], None]) -> Journal:
    return Journal(LogTables(disk, random, step), _TUNING, inline)


class MemoryRows:
    """The projection's rows (`projection.Rows`), as `SqlRows` writes them."""

    def __init__(self, disk: Disk, random: Random, step: Callable[[], None]) -> None:
        self._disk = disk
        self._random = random
        self._step = step

    async def write(self, steps: Sequence[Step]) -> None:
        await asyncio.sleep(self._random.choice((0.0, 0.001, 0.05)))
        self._step()
        for step in steps:
            for change in step.changes:
                self.apply(step.session_id, step.at, change)
        for step in {one.session_id: one for one in steps}.values():
            row = self._disk.sessions[step.session_id]
            row["state"], row["position"] = step.state, step.position
        self._step()

    def apply(self, session_id: str, at: int, change: states.Change) -> None:
        disk = self._disk
        session = disk.sessions[session_id]
        match change:
            case states.TurnOpened():
                assert change.turn_id not in disk.turns, "a turn was opened twice"
                disk.turns[change.turn_id] = {
                    "session_id": session_id,
                    "state": "queued",
                    "message": change.message,
                    "metadata": {},
                    "client_message_id": change.client_message_id,
                    "steers": None,
                    "answer": None,
                    "created_at": at,
                    "finished_at": None,
                }
            case states.Steered():
                assert change.message_id not in disk.turns, "a message was taken in twice"
                disk.turns[change.message_id] = {
                    "session_id": session_id,
                    "state": "steering",
                    "message": change.message,
                    "metadata": {},
                    "client_message_id": change.client_message_id,
                    "steers": change.turn_id,
                    "answer": None,
                    "created_at": at,
                    "finished_at": None,
                }
            case states.SteerTaken():
                state = "steered" if change.is_taken else "steering"
                disk.turns[change.message_id]["state"] = state
            case states.SteerMissed():
                disk.turns[change.message_id] |= {"state": "queued", "steers": None}
            case states.SteerDropped():
                disk.turns[change.message_id] |= {"state": "cancelled", "finished_at": at}
            case states.TurnNoted():
                disk.turns[change.turn_id]["metadata"] = change.metadata
            case states.TurnTold():
                disk.turns[change.turn_id]["state"] = "sent" if change.is_told else "queued"
            case states.TurnEnded():
                ended = {"state": change.state, "answer": change.answer, "finished_at": at}
                disk.turns[change.turn_id] |= ended
            case states.Asked():
                disk.approvals[session_id, change.request_id] = {
                    "id": approval_id(session_id, change.request_id, at),
                    "state": "pending",
                    "request": change.request,
                    "answer": None,
                    "answered_by": None,
                    "answered_at": None,
                    "created_at": at,
                }
            case states.Resolved():
                state = "confirmed" if change.is_confirmed else "denied"
                row = disk.approvals[session_id, change.request_id]
                row["state"], row["answered_at"] = state, at
            case states.AnswerNoted():
                row = disk.approvals[session_id, change.request_id]
                row["answer"], row["answered_by"] = change.answer, change.by
            case states.SessionClosed():
                session["status"], session["unsettled"] = "closed", True
            case states.SessionSettled():
                session["unsettled"] = False
            case states.SessionMoved():
                session["left"] = [*session["left"], session["machine_id"]]
                session["machine_id"] = change.machine_id

    async def read(self, session_ids: Sequence[str]) -> dict[str, Saved]:
        rows = {one: self._disk.sessions[one] for one in session_ids if one in self._disk.sessions}
        return {
            one: Saved(states.decode(row["state"]), row["position"]) for one, row in rows.items()
        }

    async def open_sessions(self) -> list[str]:
        rows = self._disk.sessions.items()
        return [one for one, row in rows if row["status"] == "active" or row["unsettled"]]


class Records:
    """All other records: sessions, turns, approvals and machines, as the real classes read them."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    # sessions.records.SessionRecords

    def insert(self, session_id: str, machine_id: str) -> None:
        self._disk.sessions[session_id] = {
            "machine_id": machine_id,
            "status": "active",
            "unsettled": False,
            "left": [],
            "config": {},
            "rules": [],
            "state": SessionState(machine_id).encode(),
            "position": Position(),
        }

    async def check_turn(self, user_id: str) -> None:
        """There is room."""

    async def get(self, who: Principal, session_id: str) -> Session:
        row = self._disk.sessions.get(session_id)
        if row is None:
            raise NotFound("session", session_id)
        return Session(
            id=session_id,
            org_id=ORG,
            user_id=USER,
            agent_id=None,
            machine_id=row["machine_id"],
            title=None,
            runtime_type="semigraph",
            agent_config=row["config"],
            session_config={},
            openclaw_config=None,
            status=row["status"],
            last_activity_at=0,
            created_at=0,
            updated_at=0,
        )

    async def hosted_by(self, machine_id: str) -> list[str]:
        rows = self._disk.sessions.items()
        return [
            one
            for one, row in rows
            if row["machine_id"] == machine_id and (row["status"] == "active" or row["unsettled"])
        ]

    async def unsettled(self, machine_id: str) -> list[str]:
        rows = self._disk.sessions.items()
        return [one for one, row in rows if row["machine_id"] == machine_id and row["unsettled"]]

    async def gone_from(self, machine_id: str, session_ids: Iterable[str]) -> dict[str, str]:
        rows = {one: self._disk.sessions[one] for one in session_ids}
        return {
            one: row["status"]
            for one, row in rows.items()
            if (row["machine_id"] == machine_id and row["status"] == "closed")
            or (row["machine_id"] != machine_id and machine_id in row["left"])
        }

    async def departed(self, machine_id: str) -> dict[str, str]:
        return {
            one: row["status"]
            for one, row in self._disk.sessions.items()
            if row["machine_id"] != machine_id and machine_id in row["left"]
        }

    async def update(self, session_id: str, **fields: Any) -> None:
        await asyncio.sleep(0.001)
        self._disk.sessions[session_id] |= fields

    async def reconfigure(self, session_id: str, patch: Row) -> Row:
        await asyncio.sleep(0.001)
        row = self._disk.sessions[session_id]
        row["config"] = merged = {**row["config"], **patch}
        await asyncio.sleep(0.001)
        return merged

    async def build(self, session_id: str) -> Start | None:
        await asyncio.sleep(0.001)
        start = self.start_of(session_id)
        await asyncio.sleep(0.02)  # what changes meanwhile, it does not have
        return start

    def start_of(self, session_id: str) -> Start | None:
        row = self._disk.sessions[session_id]
        if row["status"] != "active":
            return None
        return Start(session_id, "semigraph", row["config"], [], [], [], {}, rules=row["rules"])

    # sessions.turns.Turns

    def _turns(self, session_id: str) -> list[Turn]:
        names = [one for one in Turn.__struct_fields__ if one not in ("id", "session_id")]
        return [
            Turn(turn_id, session_id, *(row[name] for name in names))
            for turn_id, row in sorted(self._disk.turns.items())
            if row["session_id"] == session_id
        ]

    async def named(self, session_id: str, client_id: str) -> Turn | None:
        for turn in self._turns(session_id):
            if self._disk.turns[turn.id]["client_message_id"] == client_id:
                return turn
        return None

    async def recent(self, session_id: str, limit: int = 20) -> list[Turn]:
        return self._turns(session_id)[-limit:]

    async def say(self, session_id: str, turn_id: str) -> Say | None:
        await asyncio.sleep(0.001)
        row = self._disk.turns.get(turn_id)
        return (
            None if row is None else Say(session_id, turn_id, row["message"], [], row["metadata"])
        )

    # machines.rows.SqlMachineRows

    async def machine(self, machine_id: str) -> MachineRow:
        row = self._disk.machines[machine_id]
        return MachineRow(machine_id, USER, ORG, row["kind"], row["state"], row["last_seen_at"])


class Approvals:
    """sessions.approvals.Approvals."""

    def __init__(self, disk: Disk, settled: Callable[[str], Any]) -> None:
        self._disk = disk
        self._settled = settled

    async def find(self, who: Principal, name: str, session_id: str | None = None) -> Approval:
        assert session_id is not None
        await self._settled(session_id)
        for (session, request_id), row in self._disk.approvals.items():
            if session == session_id and name in (request_id, row["id"]):
                return self._made(session, request_id, row)
        raise NotFound("approval", name)

    async def page(
        self, who: Principal, state: str, limit: int, cursor: str | None
    ) -> list[Approval]:
        """All of them at once."""
        return [
            self._made(session, request_id, row)
            for (session, request_id), row in self._disk.approvals.items()
            if row["state"] == state
        ]

    def _made(self, session_id: str, request_id: str, row: Row) -> Approval:
        given = {"session_id": session_id, "user_id": USER, "request_id": request_id}
        return msgspec.convert({**row, **given}, Approval)


class MachineRows:
    """machines.machines.Rows."""

    def __init__(self, disk: Disk, records: Records) -> None:
        self._disk = disk
        self._records = records

    async def get(self, machine_id: str) -> MachineRow:
        return await self._records.machine(machine_id)

    async def by_guid(self, guid: str) -> str | None:
        return None

    async def save(self, states: Sequence[MachineNow]) -> None:
        await asyncio.sleep(0.001)
        for one in states:
            self._disk.machines[one.id] |= {"state": one.state, "last_seen_at": one.last_seen_ms}
