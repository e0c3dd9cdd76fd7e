"""Where a new session runs: on the machine that its creator names, else on one that can run it.

A machine that is known to lack what the session needs is refused here, before anything is written.
"""

from sqlalchemy import case, select

from trunkline.control.access.auth import Principal
from trunkline.control.errors import Conflict, NotFound, TrunklineError, Unavailable
from trunkline.control.machines import runtimes
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.runtimes import Runtime
from trunkline.control.records.fields import Json
from trunkline.control.sessions.known_names import unknown_model, unknown_setting
from trunkline.control.sessions.records import MadeOf, NewSession, Session, SessionRecords
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


class MachineChoice:
    def __init__(self, store: Store, machines: Machines, records: SessionRecords) -> None:
        self._store = store
        self._machines = machines
        self._records = records

    async def of(
        self, who: Principal, new: NewSession, *, is_strict: bool = False
    ) -> tuple[Machine, MadeOf]:
        """Raises what speaks against it. `is_strict`: a setting's name that the machine is known
        not to read does too; clients of other protocols may send what others understand."""
        if new.machine_id is None:
            made_of = await self._records.made_of(who, who.org_id, who.user_id, new)
            machine = await self._one_of_theirs(who, made_of)
        else:
            machine = await self.named(who, new.machine_id)
            made_of = await self._records.made_of(who, machine.org_id, machine.user_id, new)
            if problem := problem_with(machine, made_of):
                raise problem
        runtime = (machine.runtimes or {}).get(made_of.runtime_type)
        if runtime is not None:
            chosen = {**(new.agent_config or {}), **(new.session_config or {})} if is_strict else {}
            if problem := unknown_setting(runtime, chosen):
                raise problem
            await self._check_model(machine, runtime, made_of)
        return machine, made_of

    async def _check_model(self, machine: Machine, runtime: Runtime, made_of: MadeOf) -> None:
        model = {**made_of.agent_config, **made_of.session_config}.get("model")
        if runtime.models is None or model is None:
            return
        table = schema.credentials
        query = select(table.c.provider, table.c.base_url).where(table.c.user_id == machine.user_id)
        own = {row.provider: row.base_url for row in await self._store.all(query)}
        has_base_url = bool(own.get("openai"))
        if problem := unknown_model(runtime, model, own, has_base_url=has_base_url):
            raise problem

    async def named(self, who: Principal, machine_id: str) -> Machine:
        machine = await self._machines.named(machine_id)
        if not who.may_see(org_id=machine.org_id, user_id=machine.user_id):
            raise NotFound("machine", machine_id)
        return machine

    async def _one_of_theirs(self, who: Principal, made_of: MadeOf) -> Machine:
        """One that is there, else one that is expected; those that lack the runtime never."""
        table = schema.machines
        async with self._store.read() as connection:
            ids = await connection.scalars(
                select(table.c.id)
                .where(
                    table.c.user_id == who.user_id,
                    table.c.kind != "group",  # to talk to one is a choice
                    table.c.state.in_(("pending", "online", "offline")),
                )
                # An execution plane, if there is one: it can do the most.
                .order_by(case((table.c.kind == "vm", 0), else_=1), table.c.id.desc())
            )
            machine_ids = list(ids)
        candidates = [await self._machines.get(one) for one in machine_ids]
        there = [machine for machine in candidates if machine.line is not None]
        there += [
            machine for machine in candidates if machine.line is None and _is_expected(machine)
        ]
        refusals = []
        for machine in there:
            problem = problem_with(machine, made_of)
            if problem is None:
                return machine
            refusals.append(problem)
        if refusals:
            raise refusals[0]
        raise Unavailable("no machine of yours is online", code="NO_MACHINE")


def problem_with(machine: Machine, made_of: MadeOf | Session) -> TrunklineError | None:
    """Why that machine cannot run it, as far as that is known."""
    config = {**made_of.agent_config, **made_of.session_config}
    return runtimes.problem(
        made_of.runtime_type, config, machine.runtimes, machine.core.traits, machine.id
    ) or _problem_of_worktree(machine, config)


def _problem_of_worktree(machine: Machine, config: Json) -> TrunklineError | None:
    """A machine that does not know the word would work in the folder itself."""
    if config.get("worktree") is not True or machine.runtimes is None:
        return None
    if machine.line is None and machine.runtimes and not machine.health:
        return None
    if machine.health.get("worktrees") is True:
        return None
    why = "has no git" if "worktrees" in machine.health else "makes no worktrees"
    return Conflict(f"the machine {machine.id!r} {why}", code="WORKTREE_UNSUPPORTED")


def _is_expected(machine: Machine) -> bool:
    with machine.input() as core:
        return core.is_expected
