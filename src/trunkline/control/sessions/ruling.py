"""Rules of sessions that run: what an answer for always becomes, and who is told of a change."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from trunkline.control.access.auth import Principal
from trunkline.control.errors import TrunklineError
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.services import Services
from trunkline.control.services.rules import NewRule, Owner, Rule, Rules
from trunkline.control.sessions.records import Session
from trunkline.control.tasks import Tasks
from trunkline.permissions import rules as written

Found = TypeVar("Found")

_log = structlog.get_logger(__name__)
_AGAIN_S: Final = 1.0
_AT_ONCE = 20  # sessions that are looked for in one go: many have no machine in memory


def always_rule(who: Principal, session: Session, request: dict[str, Any]) -> NewRule | None:
    """What an answer for always means: the rule that the question has shown, for the user's
    sessions with the same agent, or without one for those on the same machine. None: it showed
    none, or it is not theirs to say. A group asks for somebody, and answers there."""
    text = request.get("rule")
    if not isinstance(text, str) or who.user_id != session.user_id or "group" in request:
        return None
    try:
        text = written.read("allow", text).text
    except ValueError:
        return None
    if session.agent_id is not None:
        return NewRule(effect="allow", rule=text, level="agent", target=session.agent_id)
    return NewRule(effect="allow", rule=text, level="machine", target=session.machine_id)


async def add_always(services: Services, who: Principal, session: Session, rule: NewRule) -> None:
    """Where it cannot be a rule, the answer counts for the session in any case."""
    ids = {f"{rule.level}_id": rule.target}
    try:
        made = await services.rules.add(who, rule, Owner(session.org_id, who.user_id, **ids))
        details = {"id": made.id, "effect": made.effect, "rule": made.rule, "level": made.level}
        await services.audit.append(
            "rule.made",
            details,
            org_id=session.org_id,
            user_id=who.user_id,
            session_id=session.id,
        )
    except TrunklineError as error:
        _log.warning("an answer became no rule", session=session.id, reason=error.message)


class Ruling:
    def __init__(
        self, rules: Rules, machines: Machines, tasks: Tasks, again_s: float = _AGAIN_S
    ) -> None:
        """`again_s`: how long until what could not be read is read again."""
        self._rules = rules
        self._machines = machines
        self._tasks = tasks
        self._again_s = again_s
        self._reading = asyncio.Lock()
        """What was read first is told first: else an older list could be the last that is told."""
        rules.on_change.append(self._changed)

    async def _changed(self, rule: Rule) -> None:
        """In the background: a rule of an organisation is for many sessions."""
        self._tasks.spawn(self._tell(rule), "changed rules")

    async def _tell(self, rule: Rule) -> None:
        found = await self._read(lambda: self._rules.sessions_of(rule))
        for number, (session_id, machine_id) in enumerate(found):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
            machine = self._machines.holder(session_id, machine_id)
            if machine is not None:  # else nobody has needed it since the start: see `returned`
                await self._tell_session(machine, session_id)

    async def _tell_session(self, machine: Machine, session_id: str) -> None:
        async with self._reading:
            # It may be empty: the last one was removed.
            held = await self._read(lambda: self._rules.of_session(session_id))
            with machine.input() as core:
                core.rule(session_id, [one.told for one in held])

    def returned(self, machine: Machine) -> None:
        """It kept its sessions, and may have missed rules that were made while this server was not
        there to hold them for it."""
        self._tasks.spawn(self._remind(machine), "rules of a returned machine")

    async def _remind(self, machine: Machine) -> None:
        for session_id in list(machine.logs):
            await self._tell_session(machine, session_id)

    async def _read(self, look: Callable[[], Awaitable[Sequence[Found]]]) -> Sequence[Found]:
        """Whatever it takes: else a machine goes on by rules that hold no more."""
        while True:
            try:
                return await look()
            except (SQLAlchemyError, OSError) as error:
                _log.warning("rules cannot be read yet", reason=str(error))
            await asyncio.sleep(self._again_s)
