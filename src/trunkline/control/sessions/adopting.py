"""Going on here with a conversation that was begun elsewhere on a machine.

The session is made by `Histories`, with the state that its runtime goes on from.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import structlog
from sqlalchemy.exc import IntegrityError

from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, NotFound
from trunkline.control.ids import id_at
from trunkline.control.log import events
from trunkline.control.machines.machine import Machine
from trunkline.control.records.fields import Json
from trunkline.control.records.page import Page
from trunkline.control.services import Services
from trunkline.control.sessions.foreign import (
    PRESETS,
    RUNTIMES,
    Conversation,
    Foreign,
    ForeignSession,
)
from trunkline.control.sessions.histories import Histories
from trunkline.control.sessions.imported import lines_of
from trunkline.control.sessions.records import NewSession, Session, SessionRecords
from trunkline.control.sessions.resuming import resume_of
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.storage import Storage

_log = structlog.get_logger(__name__)


class Adopting:
    def __init__(
        self,
        sessions: Sessions,
        records: SessionRecords,
        foreign: Foreign,
        histories: Histories,
        services: Services,
        storage: Storage,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._records = records
        self._foreign = foreign
        self._histories = histories
        self._services = services
        self._storage = storage
        self._clock = clock

    async def page(self, who: Principal, machine_id: str, **wanted: Any) -> Page[ForeignSession]:
        """What may be adopted on that machine, with the sessions that go on with it already."""
        machine = await self._sessions.choice.named(who, machine_id)
        runtime, preset = runtime_of(wanted.pop("runtime", None), wanted.pop("preset", None))
        page = await self._foreign.page(machine, runtime=runtime, preset=preset, **wanted)
        adopted = await self._records.adopted_on(machine.id)
        for one in page.items:
            one.session_id = adopted.get(one.key) or await self._own(who, machine, one)
        if who.user_id != machine.user_id:
            await self._audit(who, machine, "machine.foreign_sessions_read", count=len(page.items))
        return page

    async def adopt(self, who: Principal, new: NewSession) -> Session:
        """The session that goes on with it, whether it is new or was there already."""
        who.require("talk")
        if new.adopt is None:
            raise InvalidRequest("adopt is missing")
        runtime, preset = runtime_of(new.adopt.runtime, new.adopt.preset)
        if not runtime or (runtime == "acp" and not preset):
            raise InvalidRequest(f"adopt: a preset is needed: {', '.join(PRESETS)}")
        if new.runtime_type not in (None, runtime):
            raise InvalidRequest("runtime_type is another one than that of the conversation")
        machine = (await self._sessions.choice.of(who, _run_by(new, runtime, preset))).machine
        known = (await self._records.adopted_on(machine.id)).get(
            f"{runtime} {preset} {new.adopt.id}"
        )
        if known is not None:
            return await self._sessions.get(who, known)
        self._storage.check()
        with machine.input() as core:
            core.check_room()
        found = await self._foreign.read(machine, runtime, preset, new.adopt.id)
        own = await self._own(who, machine, found.session)
        if own is not None:
            return await self._sessions.get(who, own)
        return await self._make(who, machine, new, found)

    async def _own(self, who: Principal, machine: Machine, one: ForeignSession) -> str | None:
        """The session of ours that its machine says has it, if that is so."""
        if one.session_id is None:
            return None
        try:
            session = await self._records.get(who, one.session_id)
        except NotFound:
            return None
        is_here = session.machine_id == machine.id and session.status == "active"
        return session.id if is_here else None

    async def _make(
        self, who: Principal, machine: Machine, new: NewSession, found: Conversation
    ) -> Session:
        one = found.session
        chosen = _with_choices(new, one)
        made_of = await self._records.made_of(who, machine.org_id, machine.user_id, chosen)

        async def lines() -> AsyncIterator[str]:
            latest = self._clock()
            for line in lines_of(
                found.entries, user_id=machine.user_id, id_at=id_at, latest=latest
            ):
                yield line
            yield self._status(machine, one)

        def record(session_id: str) -> Json:
            adopted = f"{machine.id} {one.key}"
            return {"adopted": adopted, "snapshot": _snapshot(session_id, one)}

        try:
            session = await self._histories.make(
                who, machine, chosen, made_of, self._histories.of(lines), record
            )
        except IntegrityError:  # somebody else did in the same moment
            known = (await self._records.adopted_on(machine.id)).get(one.key)
            if known is None:
                why = "a session goes on with this conversation that was moved or closed meanwhile"
                raise Conflict(why) from None
            return await self._sessions.get(who, known)
        _log.info("conversation adopted", session=session.id, machine=machine.id)
        return session

    def _status(self, machine: Machine, one: ForeignSession) -> str:
        """The last thing of the history: where it is from, and how it goes on there."""
        name = one.preset or one.runtime
        return events.make(
            "session_status",
            self._clock(),
            machine="online" if machine.line is not None else "offline",
            machine_id=machine.id,
            imported=True,
            message=f"This conversation was begun with {name} in {one.folder}.",
            resume=_resume(one),
        )

    async def _audit(self, who: Principal, machine: Machine, event: str, **details: Any) -> None:
        details |= {"machine_id": machine.id, "owner": machine.user_id}
        await self._services.audit.append(
            event, details, org_id=machine.org_id, user_id=who.user_id
        )


def runtime_of(runtime: str | None, preset: str | None) -> tuple[str, str]:
    """A program's name says its runtime too. Empty: all."""
    if runtime in PRESETS and not preset:
        return "acp", runtime
    if runtime and runtime not in RUNTIMES:
        known = ", ".join((*RUNTIMES, *PRESETS))
        raise InvalidRequest(f"runtime must be one of {known}")
    return runtime or "", preset or ""


def _resume(one: ForeignSession) -> Json:
    resume = resume_of(one.runtime, _snapshot("", one))
    shown: Json = msgspec.to_builtins(resume)
    return shown


def _run_by(new: NewSession, runtime: str, preset: str) -> NewSession:
    agent = {**(new.agent_config or {}), **({"acp": {"preset": preset}} if preset else {})}
    return msgspec.structs.replace(new, runtime_type=runtime, agent_config=agent)


def _with_choices(new: NewSession, one: ForeignSession) -> NewSession:
    """Where it works and what runs it follow from the conversation; the rest is free. Runtimes read
    `session_config` last: there it stands too, over what an agent's record may say."""
    run_by = _run_by(new, one.runtime, one.preset)
    where: Json = {"workspace": one.folder}
    agent = {**(run_by.agent_config or {}), **where}
    session = {**(new.session_config or {}), **where}
    if one.preset:
        session["acp"] = {"preset": one.preset}
    title = new.title or one.title.replace("\0", "").strip() or None
    return msgspec.structs.replace(
        run_by,
        agent_config=agent,
        session_config={**session, "provider": one.preset or one.runtime, "work_dir": one.folder},
        title=title,
    )


def _snapshot(session_id: str, one: ForeignSession) -> Json:
    """As if the runtime had saved it: it goes on with the program's own conversation."""
    state: Json = {"session_id": one.id, "workspace": one.folder}
    if one.preset:
        state["program"] = one.preset
    return {"runtime_type": one.runtime, "session_id": session_id, "runtime_state": state}
