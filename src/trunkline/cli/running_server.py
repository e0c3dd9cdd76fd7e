"""What `trunkline doctor` says about a server that runs: what that server has and knows, which may
be something else than the environment that the doctor is called in."""

import asyncio
from pathlib import Path

import msgspec

from trunkline.cli.output import CommandFailed, Json
from trunkline.cli.remote import NoServer, failures, find_server

_MACHINES_MAX = 200
_WAIT_S = 5.0


class Running(msgspec.Struct, frozen=True):
    """A server's own words."""

    state: Json
    machines: list[Json]
    """Those on its own host."""
    vms: list[Json] = []
    """All execution planes."""


def ask(folder: Path, admin_token: str | None) -> Running | str | None:
    """The server of that data folder: what it says of itself, or why it cannot be asked; None when
    none runs there. `admin_token`: where the folder has none."""
    from trunkline.control.data_folder import is_held

    if not is_held(folder):
        return None
    try:
        with failures():
            return asyncio.run(_ask(folder, admin_token))
    except CommandFailed as error:
        return str(error)


async def _ask(folder: Path, admin_token: str | None) -> Running:
    from trunkline.client import Client

    try:
        # Whatever the environment names, this is about the server of the folder.
        where = find_server(None, admin_token, str(folder), {})
    except NoServer as error:
        raise CommandFailed("it has not said yet where it listens") from error
    async with Client(where, timeout_s=_WAIT_S) as client:
        state = await client.get("server")
        page = await client.get("machines", limit=_MACHINES_MAX)
    local = [one for one in page["items"] if one.get("provider") == "local"]
    return Running(state, local, [one for one in page["items"] if one.get("kind") == "vm"])
