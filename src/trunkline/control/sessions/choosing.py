"""Where a new session runs: on the machine that its creator names, else on one that can run it.

A machine that is known to lack what the session needs is refused here, before anything is written.
"""

from typing import Any, NamedTuple

from sqlalchemy import select, update

from trunkline.control.access.auth import Principal
from trunkline.control.errors import Conflict, NotFound, TrunklineError
from trunkline.control.machines import runtimes
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.traits import SINGLE
from trunkline.control.records.fields import Json
from trunkline.control.services import Services
from trunkline.control.sessions.known_names import (
    doubted_model,
    unknown_model,
    unknown_setting,
    unlisted_model,
)
from trunkline.control.sessions.picking import Candidate, Default, Placement, named, pick
from trunkline.control.sessions.records import MadeOf, NewSession, Session, SessionRecords
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


class Choice(NamedTuple):
    machine: Machine
    made_of: MadeOf
    placement: Placement


class MachineChoice:
    def __init__(
        self,
        store: Store,
        machines: Machines,
        records: SessionRecords,
        services: Services,
    ) -> None:
        self._store = store
        self._services = services
        self._machines = machines
        self._records = records

    async def of(self, who: Principal, new: NewSession, *, is_strict: bool = False) -> Choice:
        """Raises what speaks against it. `is_strict`: a setting's name that the machine is known
        not to read does too; clients of other protocols may send what others understand."""
        if new.machine_id is None:
            made_of = await self._records.made_of(who, who.org_id, who.user_id, new)
            machine, placement = await self._one_of_theirs(who, made_of)
        else:
            machine = await self.named(who, new.machine_id)
            made_of = await self._records.made_of(who, machine.org_id, machine.user_id, new)
            await self.check(machine, made_of)
            placement = named(machine.id, await self._name_of(machine))
        runtime = (machine.runtimes or {}).get(made_of.runtime_type)
        if runtime is not None:
            chosen = {**(new.agent_config or {}), **(new.session_config or {})} if is_strict else {}
            if problem := unknown_setting(runtime, chosen):
                raise problem
        model = {**made_of.agent_config, **made_of.session_config}.get("model")
        await self.check_model(machine, made_of.runtime_type, model)
        return Choice(machine, made_of, placement)

    async def check_model(self, machine: Machine, runtime_type: str, model: Any) -> None:
        """Raises what the machine, or the provider, is known to have against it."""
        runtime = (machine.runtimes or {}).get(runtime_type)
        if runtime is None or runtime.models is None or model is None:
            return
        lists = self._services.model_lists
        own = await lists.known_to(machine.user_id)
        has_base_url = bool(own.get("openai"))
        fallback = self._services.fallback_model
        if problem := unknown_model(
            runtime, model, own, has_base_url=has_base_url, fallback=fallback
        ):
            raise problem
        provider = doubted_model(model)
        if runtime.models.any or provider is None or own.get(provider):
            return
        listed = lists.of(machine.user_id)
        if provider not in listed or unlisted_model(model, listed):  # which may be a new one
            await lists.learn(machine.user_id, provider)
        if problem := unlisted_model(model, lists.of(machine.user_id)):
            raise problem

    async def drain(self, machine_id: str, is_draining: bool) -> None:
        """From now on that machine is given no session, or is given some again."""
        machine = await self._machines.get(machine_id)
        table = schema.machines
        change = update(table).where(table.c.id == machine_id).values(draining=is_draining)
        await self._store.run(change)
        self._machines.drain(machine, is_draining)

    async def named(self, who: Principal, machine_id: str) -> Machine:
        machine = await self._machines.named(machine_id)
        if not who.may_see(org_id=machine.org_id, user_id=machine.user_id):
            raise NotFound("machine", machine_id)
        return machine

    async def _one_of_theirs(self, who: Principal, made_of: MadeOf) -> tuple[Machine, Placement]:
        """One that is there, else one that is expected; those that lack the runtime never."""
        table = schema.machines
        query = select(table.c.id, table.c.name, table.c.last_seen_at).where(
            table.c.user_id == who.user_id,
            table.c.kind.in_(SINGLE),  # to talk to several is a choice
            table.c.state.in_(("pending", "online", "offline")),
        )
        rows = await self._store.all(query.order_by(table.c.id.desc()))
        names = {row.id: row.name for row in rows}
        came = {row.id for row in rows if row.last_seen_at is not None}
        machines = [await self._machines.get(one) for one in names]
        candidates = [
            Candidate(
                machine.id,
                names[machine.id],
                is_online=machine.line is not None,
                is_plane=machine.core.state.traits.starts,
                sessions=len(machine.logs),
                problem=problem_with(machine, made_of, names[machine.id]),
                has_come=machine.line is not None or machine.id in came,
            )
            for machine in machines
            if machine.line is not None or _is_expected(machine)
        ]
        default_id = await self.default_of(who.user_id)
        default = None if default_id is None else Default(default_id, names.get(default_id))
        placement = pick(candidates, default, made_of.runtime_type)
        return await self._machines.get(placement.machine_id), placement

    async def default_of(self, user_id: str) -> str | None:
        """The machine that the user has chosen for sessions that name none."""
        users = schema.users
        query = select(users.c.default_machine_id).where(users.c.id == user_id)
        found: str | None = await self._store.scalar(query)
        return found

    async def check(self, machine: Machine, made_of: MadeOf | Session) -> None:
        """Refuses what that machine cannot run, as far as that is known, by the machine's name."""
        if problem_with(machine, made_of, machine.id) is None:
            return
        if problem := problem_with(machine, made_of, await self._name_of(machine)):
            raise problem

    async def _name_of(self, machine: Machine) -> str:
        """What people call it."""
        table = schema.machines
        return str(await self._store.scalar(select(table.c.name).where(table.c.id == machine.id)))


def problem_with(machine: Machine, made_of: MadeOf | Session, name: str) -> TrunklineError | None:
    """Why that machine cannot run it, as far as that is known. `name`: what people call it."""
    if machine.is_draining:
        return Conflict(
            f"the machine {name!r} is being drained: it takes no new sessions",
            code="MACHINE_DRAINING",
        )
    config = {**made_of.agent_config, **made_of.session_config}
    return runtimes.problem(
        made_of.runtime_type, config, machine.runtimes, machine.core.state.traits, name
    ) or _problem_of_worktree(machine, config, name)


def _problem_of_worktree(machine: Machine, config: Json, name: str) -> TrunklineError | None:
    """A machine that does not know the word would work in the folder itself."""
    if config.get("worktree") is not True or machine.runtimes is None:
        return None
    if machine.line is None and machine.runtimes and not machine.health:
        return None
    if machine.health.get("worktrees") is True:
        return None
    why = "has no git" if "worktrees" in machine.health else "makes no worktrees"
    return Conflict(f"the machine {name!r} {why}", code="WORKTREE_UNSUPPORTED")


def _is_expected(machine: Machine) -> bool:
    with machine.input() as core:
        return core.is_expected
