"""A person's own session: made when it is first needed, kept as its record says, closed with the
conversation. Goes through `Sessions`, as the group's owner, like any client.
"""

from typing import Any

import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import NotFound, TrunklineError
from trunkline.control.groups.parts import Parts
from trunkline.control.groups.persons import Person
from trunkline.control.groups.records import Group
from trunkline.control.groups.seats import SeatRecord
from trunkline.control.sessions.records import NewSession, Session

_log = structlog.get_logger(__name__)


class Membership:
    """The sessions of one conversation's persons."""

    def __init__(self, parts: Parts, owner: Principal, session_id: str) -> None:
        self._parts = parts
        self._owner = owner
        self._session_id = session_id

    async def seat(
        self, person: Person, group: Group, record: SeatRecord | None
    ) -> tuple[SeatRecord, str]:
        """The person's seat, whose session runs as the person's record says, and what the person
        must be told before anything else."""
        wanted = _config(person, group)
        session = (
            None
            if record is None
            else await self._parts.sessions.get(self._owner, record.member_session_id)
        )
        if record is None or session is None or not await self._fits(session, person):
            if record is not None:
                await close(self._parts, self._owner, record.member_session_id)
            record, session = await self._make(person, group, wanted)
        elif {name: session.agent_config.get(name) for name in wanted} != wanted:
            await self._parts.sessions.configure(self._owner, session.id, wanted)
        return record, await self._introduction(session, record, wanted)

    async def _make(
        self, person: Person, group: Group, config: dict[str, Any]
    ) -> tuple[SeatRecord, Session]:
        session = await self._parts.sessions.create(
            self._owner,
            NewSession(
                agent_config=config,
                machine_id=person.machine_id,
                runtime_type=person.runtime_type,
                title=f"@{person.name} in {group.name}"[: limits.NAME_CHARS_MAX],
                session_config={
                    "group": {
                        "group_id": group.id,
                        "session_id": self._session_id,
                        "person_id": person.id,
                    }
                },
            ),
        )
        record = SeatRecord(self._session_id, person.id, session.id, 0, 0)
        try:
            await self._parts.seats.put(record)
        except NotFound:  # it was removed in this moment, and nobody would close the session
            await close(self._parts, self._owner, session.id)
            raise
        return record, session

    async def _fits(self, session: Session, person: Person) -> bool:
        """Whether the person can go on there: its machine may have changed, or be gone."""
        if session.status != "active" or session.machine_id is None:
            return False
        if person.runtime_type not in (None, session.runtime_type):
            return False
        if person.model is None and session.agent_config.get("model") is not None:
            return False
        if person.machine_id is not None:
            return person.machine_id == session.machine_id
        machine = await self._parts.machines.get(session.machine_id)
        with machine.input() as core:
            return core.is_expected

    async def _introduction(
        self, session: Session, record: SeatRecord, config: dict[str, Any]
    ) -> str:
        """Devices have no word for a prompt, and agent hosts need not look at it: there it comes
        with the first message."""
        assert session.machine_id is not None
        machine = await self._parts.machines.get(session.machine_id)
        is_told = machine.core.traits.is_introduced or record.heard_id > 0
        return "" if is_told else str(config["system_prompt"])


async def close(parts: Parts, owner: Principal, session_id: str) -> None:
    """Closes a person's session; one that is gone already is none to care about."""
    try:
        await parts.sessions.close(owner, session_id)
    except TrunklineError as error:
        _log.info("a person's session was not closed", session=session_id, problem=error.message)


def _config(person: Person, group: Group) -> dict[str, Any]:
    config = {"name": person.name, "system_prompt": _prompt(person, group)}
    return config if person.model is None else {**config, "model": person.model}


def _prompt(person: Person, group: Group) -> str:
    """The person's own prompt, and who is there to talk to."""
    others = [f"@{one.name}" for one in group.persons if one.id != person.id]
    where = f"You are {person.name} in the group {group.name}."
    if others:
        where += (
            f" With you are {', '.join(others)}. To hand something to one of them,"
            " write their name with the @ in your answer."
        )
    return f"{person.prompt}\n\n{where}" if person.prompt else where
