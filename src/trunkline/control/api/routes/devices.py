"""Routes that let devices (AGP) and agent hosts (Yeaft) in: their credentials."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.errors import Conflict, NotFound
from trunkline.control.records.fields import AgentApp, Name
from trunkline.wire.agp.close_codes import CloseCode

routes = Routes("machines")

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
    name: Name | None = None


class YeaftAgent(msgspec.Struct, kw_only=True):
    """`secret` is shown this once; `id` is the machine's."""

    id: str
    secret: str


@routes.post("/users/{user_id}/devices", status=201)
async def add_device(
    core: Core,
    who: Principal,
    user_id: str,
    body: NewDevice = NewDevice(),  # noqa: B008 - read, never changed
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


@routes.post("/users/{user_id}/yeaft-agents", status=201)
async def add_yeaft_agent(
    core: Core,
    who: Principal,
    user_id: str,
    body: NewYeaftAgent = NewYeaftAgent(),  # noqa: B008 - read, never changed
) -> YeaftAgent:
    """Let a Yeaft agent in."""
    user = await core.records.users.get_managed(who, user_id)
    known, secret = await core.machine_secrets.issue_agent(user.id, body.name or "yeaft agent")
    return YeaftAgent(id=known.machine_id, secret=secret)


def _end_old_line(core: Core, machine_id: str) -> None:
    """The old token is worth nothing any more; a device that was given up is expected again."""
    core.machines.close(machine_id, CloseCode.REFUSED, "the device has a new token")
    machine = core.machines.find(machine_id)
    if machine is not None:
        with machine.input() as live:
            live.revive()
