"""A copy of a session that goes its own way from one of its turns.

The log up to there is copied; the machine is told whose state the agent is to have, and what of it
the log knows, should the state be gone. Nothing of the first session changes.
"""

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
import structlog
from msgspec import Meta
from sqlalchemy.exc import IntegrityError

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, NotFound
from trunkline.control.ids import id_at
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.machines.machine import Machine
from trunkline.control.records.fields import Json, Label
from trunkline.control.sessions import notes
from trunkline.control.sessions.copied import Copy, Cut, Outline
from trunkline.control.sessions.histories import Histories
from trunkline.control.sessions.records import MadeOf, NewSession, Session, SessionRecords
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.storage import Storage

_log = structlog.get_logger(__name__)

_SUFFIX = " (fork)"
_SUFFIX_CHARS_MAX = 40


class NewFork(msgspec.Struct, kw_only=True):
    """`from_turn`: the last turn that the copy has, by its id or its number from 1; without it, the
    last that has ended. `before_turn`: the first that it has not, to say that in other words;
    before the first of all, the copy has nothing but the settings. Without a `title` it is the old
    one with `title_suffix` behind it, or ` (fork)`. The same `client_id` twice makes one copy, as
    long as that is open."""

    from_turn: (
        Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]
        | Annotated[int, Meta(ge=1, le=limits.JSON_INT_MAX)]
        | None
    ) = None
    before_turn: Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)] | None = None
    title: Label | None = None
    title_suffix: Annotated[str, Meta(min_length=1, max_length=_SUFFIX_CHARS_MAX)] | None = None
    client_id: Label | None = None


class Forking:
    def __init__(
        self,
        sessions: Sessions,
        records: SessionRecords,
        histories: Histories,
        log: Log,
        storage: Storage,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._records = records
        self._histories = histories
        self._log = log
        self._storage = storage
        self._clock = clock

    async def fork(self, who: Principal, session_id: str, new: NewFork) -> Session:
        """The copy, whether it is new or was made already."""
        who.require("talk")
        source = await self._sessions.get(who, session_id)
        key = None if new.client_id is None else f"fork {source.id} {new.client_id}"
        if key is not None and (known := await self._records.having(key)) is not None:
            return await self._sessions.get(who, known)
        self._storage.check()
        machine = await self._machine_of(who, source)
        await self._records.check_room(machine.org_id, machine.user_id)
        cut = await self._cut(source.id, new)
        made_of = MadeOf(
            runtime_type=source.runtime_type,
            agent_config=source.agent_config,
            session_config=source.session_config,
            openclaw_config=source.openclaw_config,
        )
        title = new.title or (None if cut is None else _title(source, new.title_suffix or _SUFFIX))
        chosen = NewSession(agent_id=source.agent_id, title=title)
        origin = None if cut is None else {"session_id": source.id, "turn_id": cut.turn_id}

        def record(_: str) -> Json:
            return {"adopted": key, "forked_from": origin}

        def lines() -> AsyncIterator[str | notes.Note]:
            return self._lines(source.id, cut, origin, machine)

        try:
            made = await self._histories.make(
                who, machine, chosen, made_of, self._histories.of(lines), record
            )
        except IntegrityError:  # asked twice in the same moment
            known = await self._records.having(key or "")
            if known is None:
                raise Conflict("the copy that has this client_id was closed meanwhile") from None
            return await self._sessions.get(who, known)
        _log.info("session forked", session=made.id, source=source.id, machine=machine.id)
        return made

    async def _machine_of(self, who: Principal, source: Session) -> Machine:
        """Where the session is, or was; raises what speaks against a copy there."""
        if source.machine_id is None:
            raise Conflict("the machine of this session is gone", code="MACHINE_OFFLINE")
        machine = await self._sessions.choice.named(who, source.machine_id)
        if machine.core.state.traits.has_members:
            raise InvalidRequest("a group's conversation cannot be forked: fork one of its members")
        await self._sessions.choice.check(machine, source)
        with machine.input() as core:
            core.check_room()
        return machine

    async def _cut(self, session_id: str, new: NewFork) -> Cut | None:
        """None: nothing is before the turn that the copy is not to have."""
        if new.from_turn is not None and new.before_turn is not None:
            raise InvalidRequest("from_turn or before_turn, not both")
        await self._log.committed(await self._log.open(session_id))
        outline = Outline()
        async for page in self._log.entries(session_id, 0, 0):
            for entry in page:
                outline.take(entry)
        wanted = new.from_turn
        if new.before_turn is not None:
            wanted = outline.before(new.before_turn)
            if wanted is None:
                raise NotFound("turn", new.before_turn)
            if wanted == "":
                return None
        cut = outline.cut(wanted)
        if cut is None:
            raise NotFound("turn", str(wanted))
        if isinstance(cut, str):
            raise Conflict(cut, code="TURN_NOT_ENDED")
        return cut

    async def _lines(
        self, session_id: str, cut: Cut | None, origin: Json | None, machine: Machine
    ) -> AsyncIterator[str | notes.Note]:
        if cut is None:
            return
        copy = Copy(cut, id_at, latest=self._clock())
        async for page in self._log.entries(session_id, 0, 0):
            for entry in page:
                line = copy.line(entry)
                if line is not None:
                    yield line
            if page[-1].event_id > cut.last_id:
                break
        yield copy.named()
        yield events.make(
            "session_status",
            self._clock(),
            machine="online" if machine.line is not None else "offline",
            machine_id=machine.id,
            imported=True,
            message="This is a copy: what is above was said in another session.",
            forked_from=origin,
        )


def _title(source: Session, suffix: str) -> str:
    return f"{(source.title or 'Session')[: limits.NAME_CHARS_MAX - len(suffix)]}{suffix}"
