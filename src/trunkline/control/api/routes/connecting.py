"""Routes that let machines in: what each kind connects with, its renewal and its end."""

from typing import Annotated, Literal

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes, base_url
from trunkline.control.core import Core
from trunkline.control.errors import Conflict, InvalidRequest, NotFound
from trunkline.control.machines import connecting
from trunkline.control.machines.machine import LineEnd
from trunkline.control.machines.vms import Scheduled
from trunkline.control.records.fields import AgentApp, Id, Name
from trunkline.control.records.machines import MachineRecord

devices = Routes("machines")
vms = Routes("machines")

_CONNECT_S_MAX = 24 * 3600

Guid = Annotated[str, Meta(min_length=1, max_length=limits.GUID_CHARS_MAX, pattern=r"^[!-~]+$")]


class NewDevice(msgspec.Struct, kw_only=True):
    """`guid`: the device's own name for itself; without one it gets one. `id`: of a machine that is
    there already, in place of its `guid`."""

    guid: Guid | None = None
    id: Id | None = None
    agent_apps: Annotated[list[AgentApp], Meta(max_length=20)] = []


class Device(msgspec.Struct, kw_only=True):
    """`token` is shown this once. `connect_url`: where the device connects, with all that its wire
    wants; it holds the token."""

    guid: str
    token: str
    machine_id: str
    user_id: str
    connect_url: str


class NewYeaftAgent(msgspec.Struct, kw_only=True):
    """`id`: of one that is there already; it gets a new secret, and the old one ends."""

    name: Name | None = None
    id: Id | None = None


class YeaftAgent(msgspec.Struct, kw_only=True):
    """`secret` is shown this once; `id` is the machine's. `environment`: what Yeaft's own agent
    reads; `start_command`: the line for a shell that starts it. Both hold the secret."""

    id: str
    secret: str
    environment: dict[str, str]
    start_command: str


@devices.post("/users/{user_id}/devices", status=201, audit="machine.registered")
async def add_device(
    core: Core, who: Principal, request: web.Request, user_id: str, body: NewDevice = NewDevice()
) -> Device:
    """Let an AGP device in.

    A `guid` that the user has already gets a new token; the old one ends.
    """
    user = await core.records.users.get_managed(who, user_id)
    if body.guid is not None and body.id is not None:
        raise InvalidRequest("either guid or id")
    secrets, guid = core.machine_secrets, body.guid
    if body.id is not None:
        guid = await secrets.guid_of(user.id, body.id)
    try:
        known, token = await secrets.issue_device(user.id, guid, body.agent_apps)
    except Conflict:
        core.refusals.note(who, "rest", NotFound("device", guid or ""))  # another user's
        raise
    _end_old_line(core, known.machine_id)
    core.news.changed_machine(known.machine_id, (user.org_id, user.id))
    url = connecting.device_url(base_url(core, request), known.guid, known.user_id, token)
    return Device(
        guid=known.guid,
        token=token,
        machine_id=known.machine_id,
        user_id=known.user_id,
        connect_url=url,
    )


@devices.post("/users/{user_id}/yeaft-agents", status=201, audit="machine.registered")
async def add_yeaft_agent(
    core: Core,
    who: Principal,
    request: web.Request,
    user_id: str,
    body: NewYeaftAgent = NewYeaftAgent(),
) -> YeaftAgent:
    """Let a Yeaft agent in."""
    user = await core.records.users.get_managed(who, user_id)
    if body.id is not None:
        known, secret = await core.machine_secrets.renew_agent(user.id, body.id)
        core.machines.end_line(known.machine_id, LineEnd.RENEWED)
    else:
        known, secret = await core.machine_secrets.issue_agent(user.id, body.name or "yeaft agent")
    core.news.changed_machine(known.machine_id, (user.org_id, user.id))
    name = (await core.records.machines.get(who, known.machine_id)).name
    environment = connecting.yeaft_environment(base_url(core, request), name, secret)
    return YeaftAgent(
        id=known.machine_id,
        secret=secret,
        environment=environment,
        start_command=connecting.yeaft_command(environment),
    )


def _end_old_line(core: Core, machine_id: str) -> None:
    """The old token is worth nothing any more; a device that was given up is expected again."""
    core.machines.end_line(machine_id, LineEnd.RENEWED)
    machine = core.machines.find(machine_id)
    if machine is not None:
        with machine.input() as live:
            live.revive()


Dialect = Literal["documented", "deployed"]


class NewVm(msgspec.Struct, kw_only=True):
    """`manual`: you start the daemon. `local`: this server starts it as a child process.
    `dialect`: how the daemon speaks the wire; without it, the daemon's habits tell.
    `connect_within_s`: how long you may take to start it, before it counts as failed; without it,
    the setting `vm_connect_timeout_s` counts."""

    provider: Literal["manual", "local"] = "manual"
    name: Name | None = None
    dialect: Dialect | None = None
    connect_within_s: Annotated[int, Meta(ge=1, le=_CONNECT_S_MAX)] | None = None


@vms.post("/users/{user_id}/vm", status=201, audit="machine.scheduled")
async def schedule_vm(
    core: Core, who: Principal, request: web.Request, user_id: str, body: NewVm = NewVm()
) -> Scheduled:
    """Schedule an execution plane for a user.

    The answer holds what its daemon needs: token, one-time ticket and address. `local` is for
    admins, as it runs on this server's host.
    """
    user = await core.records.users.get_managed(who, user_id)
    scheduled = await core.vms.schedule(
        who,
        user.id,
        body.provider,
        body.name,
        base_url=base_url(core, request),
        dialect=body.dialect,
        connect_within_s=body.connect_within_s,
    )
    core.news.changed_machine(scheduled.vm_id, (user.org_id, user.id))
    return scheduled


@vms.post("/machines/{machine_id}/token", status=201, audit="machine.token_issued")
async def renew_machine_token(
    core: Core, who: Principal, request: web.Request, machine_id: str
) -> Scheduled:
    """Issue a new token and ticket for an execution plane that is not failed or terminated.

    What it has stays good until its end; its next connection may use either.
    """
    await managed(core, who, machine_id)
    return await core.vms.renew(who, machine_id, base_url=base_url(core, request))


@vms.post("/machines/{machine_id}/revoke-token", status=204, audit="machine.token_revoked")
async def revoke_machine_token(core: Core, who: Principal, machine_id: str) -> None:
    """End what a machine may connect with, and its line. The machine and its sessions stay.

    It comes back with new credentials: `POST /machines/{id}/token` for an execution plane, `POST
    /users/{id}/devices` with its `id` for a device, `POST /users/{id}/yeaft-agents` with its `id`
    for a Yeaft agent.
    """
    await managed(core, who, machine_id)
    await core.machine_secrets.revoke(machine_id)
    await core.vms.revoke_tokens(who, machine_id)


async def managed(core: Core, who: Principal, machine_id: str) -> MachineRecord:
    """The record of a machine whose owner the person may act for."""
    record = await core.records.machines.get(who, machine_id)
    await core.records.users.get_managed(who, record.user_id)
    return record
