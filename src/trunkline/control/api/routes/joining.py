"""Routes by which a machine joins: its owner makes a code, and it turns that into credentials."""

from typing import Annotated, Literal

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes, base_url
from trunkline.control.core import Core
from trunkline.control.door.callers import counted_as
from trunkline.control.door.reach import own_addresses, reach
from trunkline.control.errors import TrunklineError
from trunkline.control.machines import connecting
from trunkline.control.machines.joining import Joined
from trunkline.control.records.fields import Id, Name

joining = Routes("machines")

_CODE_CHARS_MAX = 64  # ours have 14; blanks and hyphens are let through


class NewJoinCode(msgspec.Struct, kw_only=True):
    """`name`: what the machine is called; without one it says so itself. `machine_id`: of an
    execution plane that is there already and is to be let in again."""

    name: Name | None = None
    machine_id: Id | None = None


class JoinCode(msgspec.Struct, kw_only=True):
    """`code` is shown this once, works once and until `expires_at` (Unix ms). `command`: the line
    for a shell that starts our daemon there; `command_without_install`: where it is not installed.
    `url`: where the machine finds this server, `urls`: what else may do. `reach`: whether the
    operator or whoever asks `named` that address, it was found on this host's `network`, or is
    `local`: no other machine can reach it."""

    code: str
    expires_at: int
    command: str
    command_without_install: str
    machine_id: str
    url: str
    urls: list[str]
    reach: Literal["named", "network", "local"]


class Join(msgspec.Struct, kw_only=True):
    """`name`: what the machine calls itself, if its owner has not named it."""

    code: Annotated[str, Meta(min_length=1, max_length=_CODE_CHARS_MAX)]
    name: Name | None = None


class Renewal(msgspec.Struct, kw_only=True):
    secret: Annotated[str, Meta(min_length=1, max_length=limits.VM_TOKEN_CHARS_MAX)]


class Credentials(msgspec.Struct, kw_only=True):
    """What a machine connects with: `token` alone, or with the one-time `ticket` the first time.
    `secret`: fetches the next token, for as long as the machine is wanted."""

    user_id: str
    machine_id: str
    token: str
    ticket: str
    ws_url: str
    secret: str


@joining.post("/users/{user_id}/join-codes", status=201, audit="machine.code_made")
async def make_join_code(
    core: Core,
    who: Principal,
    request: web.Request,
    user_id: str,
    body: NewJoinCode = NewJoinCode(),
) -> JoinCode:
    """Make a code with which a machine joins.

    It works once, for 15 minutes. The machine's record is there at once; if nobody comes, it goes
    with the code.
    """
    user = await core.records.users.get_managed(who, user_id)
    made = await core.join_codes.make(who, user.id, name=body.name, machine_id=body.machine_id)
    core.news.changed_machine(made.machine_id, (user.org_id, user.id))
    found = reach(core.settings, base_url(core, request), _port(core, request), own_addresses)
    url = found.urls[0]
    return JoinCode(
        code=made.code,
        expires_at=made.expires_at,
        command=connecting.join_command(made.code, url),
        command_without_install=connecting.join_command(made.code, url, is_installed=False),
        machine_id=made.machine_id,
        url=url,
        urls=found.urls,
        reach=found.kind,
    )


@joining.post("/join", status=201, is_open=True)
async def join(core: Core, request: web.Request, body: Join) -> Credentials:
    """Turn a join code into what the machine connects with.

    Without a token: the code is the proof. After a few wrong ones an address has to wait longer and
    longer. A code that ended unused is told (410) from one that is wrong or was used (401).
    """
    caller = core.connections.callers.of(request.remote or "", request.headers)
    address = counted_as(caller)
    core.join_attempts.begin(address)
    try:
        joined = await core.join_codes.redeem(
            body.code, body.name, base_url=base_url(core, request)
        )
    except TrunklineError as error:
        core.trail.login_refused("join", str(caller), error.message)
        raise
    core.join_attempts.succeeded(address)
    machine_id = joined.scheduled.vm_id
    details = {"machine_id": machine_id, "address": str(caller)}
    await core.trail.own("machine.joined", details, joined.owner)
    owner = (joined.owner.org_id, joined.owner.user_id)
    core.news.changed_machine(machine_id, owner)
    return _credentials(joined)


@joining.post("/join/renew", status=201, is_open=True)
async def renew_joined(core: Core, request: web.Request, body: Renewal) -> Credentials:
    """Give a machine that joined a new token, for its secret.

    Refusals make nobody wait: no secret can be guessed, and one that was revoked is shown again
    and again by its machine, whose address may be that of others who join.
    """
    caller = core.connections.callers.of(request.remote or "", request.headers)
    try:
        joined = await core.join_codes.renew(body.secret, base_url=base_url(core, request))
    except TrunklineError as error:
        core.trail.login_refused("join", str(caller), error.message)
        raise
    details = {"machine_id": joined.scheduled.vm_id, "by": "the machine itself"}
    await core.trail.own("machine.token_issued", details, joined.owner)
    return _credentials(joined)


def _credentials(joined: Joined) -> Credentials:
    scheduled = joined.scheduled
    return Credentials(
        user_id=joined.owner.user_id,
        machine_id=scheduled.vm_id,
        token=scheduled.token,
        ticket=scheduled.ticket,
        ws_url=scheduled.ws_url,
        secret=joined.secret,
    )


def _port(core: Core, request: web.Request) -> int:
    """The one that it listens on, also where the settings leave that open."""
    name = request.transport.get_extra_info("sockname") if request.transport else None
    return int(name[1]) if isinstance(name, tuple) else core.settings.port
