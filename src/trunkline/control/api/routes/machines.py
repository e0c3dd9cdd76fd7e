"""Routes of machines: what runs agents, whose it is, whether it is there, how it is let in."""

from typing import Annotated, Literal

import msgspec
from aiohttp import web
from msgspec import UNSET, Meta, UnsetType

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes, base_url
from trunkline.control.core import Core
from trunkline.control.errors import Conflict, InvalidRequest, NotFound
from trunkline.control.machines.vms import Scheduled
from trunkline.control.records.fields import AgentApp, Id, Json, Name
from trunkline.control.records.machines import MachineRecord
from trunkline.control.records.page import Page, Paging
from trunkline.control.sessions.foreign import CURSOR_CHARS_MAX, ForeignSession
from trunkline.wire.agp.close_codes import CloseCode
from trunkline.wire.yeaft.close_codes import CloseCode as YeaftCloseCode

devices = Routes("machines")
machines = Routes("machines")


Guid = Annotated[str, Meta(min_length=1, max_length=limits.GUID_CHARS_MAX, pattern=r"^[!-~]+$")]


class NewDevice(msgspec.Struct, kw_only=True):
    """`guid`: the device's own name for itself; without one it gets one."""

    guid: Guid | None = None
    agent_apps: Annotated[list[AgentApp], Meta(max_length=20)] = []


class Device(msgspec.Struct, kw_only=True):
    """`token` is shown this once."""

    guid: str
    token: str
    machine_id: str
    user_id: str


class NewYeaftAgent(msgspec.Struct, kw_only=True):
    """`id`: of one that is there already; it gets a new secret, and the old one ends."""

    name: Name | None = None
    id: Id | None = None


class YeaftAgent(msgspec.Struct, kw_only=True):
    """`secret` is shown this once; `id` is the machine's."""

    id: str
    secret: str


@devices.post("/users/{user_id}/devices", status=201, audit="machine.registered")
async def add_device(
    core: Core, who: Principal, user_id: str, body: NewDevice = NewDevice()
) -> Device:
    """Let an AGP device in.

    A `guid` that the user has already gets a new token; the old one ends.
    """
    user = await core.records.users.get_managed(who, user_id)
    try:
        known, token = await core.machine_secrets.issue_device(user.id, body.guid, body.agent_apps)
    except Conflict:
        core.refusals.note(who, "rest", NotFound("device", body.guid or ""))  # another user's
        raise
    _end_old_line(core, known.machine_id)
    return Device(guid=known.guid, token=token, machine_id=known.machine_id, user_id=known.user_id)


@devices.post("/users/{user_id}/yeaft-agents", status=201, audit="machine.registered")
async def add_yeaft_agent(
    core: Core, who: Principal, user_id: str, body: NewYeaftAgent = NewYeaftAgent()
) -> YeaftAgent:
    """Let a Yeaft agent in."""
    user = await core.records.users.get_managed(who, user_id)
    if body.id is not None:
        known, secret = await core.machine_secrets.renew_agent(user.id, body.id)
        core.machines.close(known.machine_id, YeaftCloseCode.REFUSED, "the agent has a new secret")
    else:
        known, secret = await core.machine_secrets.issue_agent(user.id, body.name or "yeaft agent")
    return YeaftAgent(id=known.machine_id, secret=secret)


def _end_old_line(core: Core, machine_id: str) -> None:
    """The old token is worth nothing any more; a device that was given up is expected again."""
    core.machines.close(machine_id, CloseCode.REFUSED, "the device has a new token")
    machine = core.machines.find(machine_id)
    if machine is not None:
        with machine.input() as live:
            live.revive()


_FENCE_CHARS_MAX = 500


class Fence(msgspec.Struct, kw_only=True):
    """What keeps sessions of a machine to their own place, in its own words."""

    in_force: bool
    words: str


class Machine(MachineRecord, kw_only=True):
    """A machine as it is now. `health` is what it last said of itself while online, with
    `degradation`: what does not work there, and why. `fence`: null for one that says nothing."""

    online: bool
    sessions: list[str]
    health: Json
    degradation: Json
    fence: Fence | None = None


class MachineQuery(Paging, kw_only=True):
    terminated: bool = False


class ForeignQuery(msgspec.Struct, kw_only=True):
    runtime: Annotated[
        str, Meta(max_length=40, description="claude-code or acp; codex and opencode mean acp.")
    ] = ""
    preset: Annotated[str, Meta(max_length=40, description="Of acp: codex or opencode.")] = ""
    folder: Annotated[
        str, Meta(max_length=limits.FILE_PATH_CHARS_MAX, description="Only of this folder.")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT
    cursor: Annotated[
        str, Meta(max_length=CURSOR_CHARS_MAX, description="`next_cursor` of the page before.")
    ] = ""


Dialect = Literal["documented", "deployed"]


class NewVm(msgspec.Struct, kw_only=True):
    """`manual`: you start the daemon. `local`: this server starts it as a child process.
    `dialect`: how the daemon speaks the wire; without it, the daemon's habits tell."""

    provider: Literal["manual", "local"] = "manual"
    name: Name | None = None
    dialect: Dialect | None = None


class MachinePatch(msgspec.Struct, kw_only=True):
    """`dialect`, of an execution plane: null lets its habits tell anew."""

    dialect: Dialect | UnsetType | None = UNSET


@machines.post("/users/{user_id}/vm", status=201, audit="machine.scheduled")
async def schedule_vm(
    core: Core, who: Principal, request: web.Request, user_id: str, body: NewVm = NewVm()
) -> Scheduled:
    """Schedule an execution plane for a user.

    The answer holds what its daemon needs: token, one-time ticket and address. `local` is for
    admins, as it runs on this server's host.
    """
    user = await core.records.users.get_managed(who, user_id)
    return await core.vms.schedule(
        who,
        user.id,
        body.provider,
        body.name,
        base_url=base_url(core, request),
        dialect=body.dialect,
    )


@machines.get("/machines")
async def list_machines(core: Core, who: Principal, query: MachineQuery) -> Page[Machine]:
    """List machines of every kind; those given up only with `terminated=true`."""
    page = await core.records.machines.page(who, query, terminated=query.terminated)
    return Page(await _live(core, page.items), page.next_cursor)


@machines.get("/machines/{machine_id}")
async def get_machine(core: Core, who: Principal, machine_id: str) -> Machine:
    """Show a machine."""
    record = await core.records.machines.get(who, machine_id)
    return (await _live(core, [record]))[0]


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
    """Say how an execution plane speaks its wire, from its next connection on."""
    record = await _managed(core, who, machine_id)
    if body.dialect is not UNSET:
        if record.kind != "vm":
            raise InvalidRequest("only an execution plane has a dialect")
        await core.vms.set_dialect(who, machine_id, body.dialect)
    return await get_machine(core, who, machine_id)


@machines.post("/machines/{machine_id}/token", status=201, audit="machine.token_issued")
async def renew_token(
    core: Core, who: Principal, request: web.Request, machine_id: str
) -> Scheduled:
    """Issue a new token and ticket for an execution plane that is not failed or terminated.

    What it has stays good until its end; its next connection may use either.
    """
    await _managed(core, who, machine_id)
    return await core.vms.renew(who, machine_id, base_url=base_url(core, request))


@machines.delete("/machines/{machine_id}", audit="machine.terminated")
async def terminate_machine(core: Core, who: Principal, machine_id: str) -> None:
    """Give a machine up.

    Its line is closed, its process, if it is a local one, stopped. Twice is like once.
    """
    await _managed(core, who, machine_id)
    await core.vms.terminate(who, machine_id)


@machines.post("/machines/{machine_id}/revoke-token", status=204, audit="machine.token_revoked")
async def revoke_machine_token(core: Core, who: Principal, machine_id: str) -> None:
    """End what a machine may connect with, and its line. The machine and its sessions stay.

    It comes back with new credentials: `POST /machines/{id}/token` for an execution plane, `POST
    /users/{id}/devices` with the same `guid` for a device, `POST /users/{id}/yeaft-agents` with its
    `id` for a Yeaft agent.
    """
    await _managed(core, who, machine_id)
    await core.machine_secrets.revoke(machine_id)
    await core.vms.revoke_tokens(who, machine_id)


async def _managed(core: Core, who: Principal, machine_id: str) -> MachineRecord:
    record = await core.records.machines.get(who, machine_id)
    await core.records.users.get_managed(who, record.user_id)
    return record


async def _live(core: Core, records: list[MachineRecord]) -> list[Machine]:
    sessions = await core.records.machines.sessions_of([record.id for record in records])
    found = []
    for record in records:
        live = core.machines.find(record.id)
        online = core.machines.is_online(record.id)
        known = msgspec.structs.asdict(record)
        if live is not None and live.runtimes is not None:
            known["runtimes"] = live.runtimes
        # The record follows a moment later, and after a crash says what was true before it.
        if record.state in ("online", "offline"):
            known["state"] = "online" if online else "offline"
        health = {} if live is None else live.health
        degradation = health.get("degradation")
        found.append(
            Machine(
                **known,
                online=online,
                sessions=sessions.get(record.id, []),
                health=health,
                degradation=degradation if isinstance(degradation, dict) else {},
                fence=_fence(health.get("fence")),
            )
        )
    return found


def _fence(said: object) -> Fence | None:
    if not isinstance(said, dict) or not isinstance(text := said.get("words"), str):
        return None
    return Fence(in_force=said.get("in_force") is True, words=text[:_FENCE_CHARS_MAX])
