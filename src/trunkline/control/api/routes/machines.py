"""Routes of machines: what runs agents, whose it is, whether it is there."""

from typing import Literal

import msgspec
from aiohttp import web

from trunkline.control.access.auth import Principal
from trunkline.control.api.address import base_url
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.machines.vms import Scheduled
from trunkline.control.records.fields import Json, Name
from trunkline.control.records.machines import MachineRecord
from trunkline.control.records.page import Page, Paging

routes = Routes("machines")


class Machine(MachineRecord, kw_only=True):
    """A machine as it is now. `health` is what it last said of itself while online, with
    `degradation`: what does not work there, and why."""

    online: bool
    sessions: list[str]
    health: Json
    degradation: Json


class MachineQuery(Paging, kw_only=True):
    terminated: bool = False


class NewVm(msgspec.Struct, kw_only=True):
    """`manual`: you start the daemon. `local`: this server starts it as a child process."""

    provider: Literal["manual", "local"] = "manual"
    name: Name | None = None


@routes.post("/users/{user_id}/vm", status=201)
async def schedule_vm(
    core: Core,
    who: Principal,
    request: web.Request,
    user_id: str,
    body: NewVm = NewVm(),  # noqa: B008 - read, never changed
) -> Scheduled:
    """Schedule an execution plane for a user.

    The answer holds what its daemon needs: token, one-time ticket and address. `local` is for
    admins, as it runs on this server's host.
    """
    user = await core.records.users.get_managed(who, user_id)
    return await core.vms.schedule(
        who, user.id, body.provider, body.name, base_url=base_url(core, request)
    )


@routes.get("/machines")
async def list_machines(core: Core, who: Principal, query: MachineQuery) -> Page[Machine]:
    """List machines of every kind; those given up only with `terminated=true`."""
    page = await core.records.machines.page(who, query, terminated=query.terminated)
    return Page(await _live(core, page.items), page.next_cursor)


@routes.get("/machines/{machine_id}")
async def get_machine(core: Core, who: Principal, machine_id: str) -> Machine:
    """Show a machine."""
    record = await core.records.machines.get(who, machine_id)
    return (await _live(core, [record]))[0]


@routes.post("/machines/{machine_id}/token", status=201)
async def renew_token(
    core: Core, who: Principal, request: web.Request, machine_id: str
) -> Scheduled:
    """Issue a new token and ticket for an execution plane that is not failed or terminated.

    What it has stays good until its end; its next connection may use either.
    """
    record = await core.records.machines.get(who, machine_id)
    await core.records.users.get_managed(who, record.user_id)
    return await core.vms.renew(who, machine_id, base_url=base_url(core, request))


@routes.delete("/machines/{machine_id}")
async def terminate_machine(core: Core, who: Principal, machine_id: str) -> None:
    """Give a machine up.

    Its line is closed, its process, if it is a local one, stopped. Twice is like once.
    """
    record = await core.records.machines.get(who, machine_id)
    await core.records.users.get_managed(who, record.user_id)
    await core.vms.terminate(who, machine_id)


async def _live(core: Core, records: list[MachineRecord]) -> list[Machine]:
    sessions = await core.records.machines.sessions_of([record.id for record in records])
    machines = []
    for record in records:
        live = core.machines.find(record.id)
        online = core.machines.is_online(record.id)
        known = msgspec.structs.asdict(record)
        # The record follows a moment later, and after a crash says what was true before it.
        if record.state in ("online", "offline"):
            known["state"] = "online" if online else "offline"
        health = {} if live is None else live.health
        degradation = health.get("degradation")
        machines.append(
            Machine(
                **known,
                online=online,
                sessions=sessions.get(record.id, []),
                health=health,
                degradation=degradation if isinstance(degradation, dict) else {},
            )
        )
    return machines
