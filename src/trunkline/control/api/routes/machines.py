"""Routes of machines: what runs agents, whose it is, whether it is there and how it is."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.routes.connecting import Dialect, managed
from trunkline.control.core import Core
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.fields import Json, Name
from trunkline.control.records.machines import MachineRecord
from trunkline.control.records.page import Page, Paging
from trunkline.control.sessions.foreign import CURSOR_CHARS_MAX, ForeignSession

machines = Routes("machines")

_WORDS_CHARS_MAX = 500
_FEATURE_CHARS_MAX = 60
_FEATURES_MAX = 50
_COUNT_MAX = 2**53  # what every reader of JSON can hold


class Fence(msgspec.Struct, kw_only=True):
    """What keeps sessions of a machine to their own place, in its own words."""

    in_force: bool
    words: str


class Load(msgspec.Struct, kw_only=True):
    """How busy a machine is, as it said last. `running`: sessions with a process; `resting`:
    without one until they are spoken to. `cpu`: how many processes want one of its `cpus`, over a
    minute."""

    running: int = 0
    resting: int = 0
    sessions_max: int | None = None
    cpu: float | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    memory_bytes_max: int | None = None


class Machine(MachineRecord, kw_only=True):
    """A machine as it is now. `health` is what it last said of itself while online, with
    `degradation`: what does not work there, and why. `fence` and `load`: null for one that says
    nothing of them. `without_line`: what does not work as usual there while its line is down, each
    in its own words."""

    online: bool
    sessions: list[str]
    health: Json
    degradation: Json
    fence: Fence | None = None
    load: Load | None = None
    without_line: dict[str, str] = msgspec.field(default_factory=dict)


class MachineQuery(Paging, kw_only=True):
    terminated: Annotated[bool, Meta(description="Also those that were given up.")] = False


class ForeignQuery(msgspec.Struct, kw_only=True):
    runtime: Annotated[
        str, Meta(max_length=40, description="claude-code or acp; codex and opencode mean acp.")
    ] = ""
    preset: Annotated[str, Meta(max_length=40, description="Of acp: codex or opencode.")] = ""
    folder: Annotated[
        str, Meta(max_length=limits.FILE_PATH_CHARS_MAX, description="Only of this folder.")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX, description="How many at most.")] = (
        limits.PAGE_DEFAULT
    )
    cursor: Annotated[
        str, Meta(max_length=CURSOR_CHARS_MAX, description="`next_cursor` of the page before.")
    ] = ""


class MachinePatch(msgspec.Struct, kw_only=True):
    """`dialect`, of an execution plane: null lets its habits tell anew."""

    name: Name | UnsetType = UNSET
    dialect: Dialect | UnsetType | None = UNSET


class Drain(msgspec.Struct, kw_only=True):
    drain: bool


@machines.get("/machines")
async def list_machines(core: Core, who: Principal, query: MachineQuery) -> Page[Machine]:
    """List machines of every kind; those given up only with `terminated=true`."""
    page = await core.records.machines.page(who, query, terminated=query.terminated)
    return Page(await live(core, page.items), page.next_cursor)


@machines.get("/machines/{machine_id}")
async def get_machine(core: Core, who: Principal, machine_id: str) -> Machine:
    """Show a machine."""
    record = await core.records.machines.get(who, machine_id)
    return (await live(core, [record]))[0]


@machines.get("/machines/{machine_id}/foreign-sessions")
async def list_foreign_sessions(
    core: Core, who: Principal, machine_id: str, query: ForeignQuery
) -> Page[ForeignSession]:
    """List conversations that other programs have on a machine, newest first.

    Those that Claude Code, Codex and opencode keep, in folders where the machine's sessions may
    work. The machine is asked; it has to be online. `POST /sessions` with `adopt` goes on with one.
    """
    return await core.adopting.page(
        who,
        machine_id,
        runtime=query.runtime,
        preset=query.preset,
        folder=query.folder,
        limit=query.limit,
        cursor=query.cursor,
    )


@machines.patch("/machines/{machine_id}", audit="machine.changed")
async def change_machine(
    core: Core, who: Principal, machine_id: str, body: MachinePatch
) -> Machine:
    """Rename a machine, or say how an execution plane speaks its wire.

    The latter counts from its next connection on.
    """
    record = await managed(core, who, machine_id)
    if body.dialect is not UNSET and record.kind != "vm":
        raise InvalidRequest("only an execution plane has a dialect")
    if body.name is not UNSET:
        if record.kind == "group":
            raise InvalidRequest("a group is renamed by PATCH /groups")
        await core.vms.rename(who, machine_id, body.name)
        owner = (record.org_id, record.user_id)
        online = core.machines.is_online(machine_id)
        core.news.changed_machine(machine_id, owner, online=online)
    if body.dialect is not UNSET:
        await core.vms.set_dialect(who, machine_id, body.dialect)
    return await get_machine(core, who, machine_id)


@machines.post("/machines/{machine_id}/drain", audit="machine.drained")
async def drain_machine(core: Core, who: Principal, machine_id: str, body: Drain) -> Machine:
    """Give a machine no new sessions, or give it some again.

    Its sessions stay, and what runs goes on; move or close them to empty it. It lasts until it is
    taken back, over restarts too.
    """
    record = await managed(core, who, machine_id)
    if record.kind == "group" or record.state == "terminated":
        raise InvalidRequest("a group, or a machine that was given up, cannot be drained")
    await core.sessions.choice.drain(machine_id, body.drain)
    return await get_machine(core, who, machine_id)


@machines.delete("/machines/{machine_id}", audit="machine.terminated")
async def terminate_machine(core: Core, who: Principal, machine_id: str) -> None:
    """Give a machine up.

    Its line is closed, its process, if it is a local one, stopped. Twice is like once.
    """
    record = await managed(core, who, machine_id)
    await core.vms.terminate(who, machine_id)
    core.news.gone("machine", machine_id, (record.org_id, record.user_id))


async def live(core: Core, records: list[MachineRecord]) -> list[Machine]:
    """The machines of these records as they are now."""
    sessions = await core.records.machines.sessions_of([record.id for record in records])
    found = []
    for record in records:
        there = core.machines.find(record.id)
        online = core.machines.is_online(record.id)
        known = msgspec.structs.asdict(record)
        if there is not None and there.runtimes is not None:
            known["runtimes"] = there.runtimes
        # The record follows a moment later, and after a crash says what was true before it.
        if record.state in ("online", "offline"):
            known["state"] = "online" if online else "offline"
        health = {} if there is None else there.health
        said = health.get("degradation")
        degradation = said if isinstance(said, dict) else {}
        found.append(
            Machine(
                **known,
                online=online,
                sessions=sessions.get(record.id, []),
                health=health,
                degradation=degradation,
                fence=_fence(health.get("fence")),
                load=_load(health.get("sessions"), health.get("load")),
                without_line=_without_line(degradation.get("without_line")),
            )
        )
    return found


def _fence(said: object) -> Fence | None:
    if not isinstance(said, dict) or not isinstance(text := said.get("words"), str):
        return None
    return Fence(in_force=said.get("in_force") is True, words=text[:_WORDS_CHARS_MAX])


def _load(sessions: object, load: object) -> Load | None:
    """Of what a machine says, what makes sense."""
    counts = sessions if isinstance(sessions, dict) else {}
    use = load if isinstance(load, dict) else {}
    if not counts and not use:
        return None
    cpu = use.get("cpu")
    return Load(
        running=_count(counts.get("running")) or 0,
        resting=_count(counts.get("resting")) or 0,
        sessions_max=_count(counts.get("max")),
        cpu=float(cpu) if isinstance(cpu, int | float) and 0 <= cpu <= _COUNT_MAX else None,
        cpus=_count(use.get("cpus")),
        memory_bytes=_count(use.get("memory_bytes")),
        memory_bytes_max=_count(use.get("memory_bytes_max")),
    )


def _count(said: object) -> int | None:
    if not isinstance(said, int) or isinstance(said, bool):
        return None
    return said if 0 <= said <= _COUNT_MAX else None


def _without_line(said: object) -> dict[str, str]:
    degraded = said.get("degraded") if isinstance(said, dict) else None
    if not isinstance(degraded, dict):
        return {}
    return {
        str(name)[:_FEATURE_CHARS_MAX]: words[:_WORDS_CHARS_MAX]
        for name, words in list(degraded.items())[:_FEATURES_MAX]
        if isinstance(words, str)
    }
