"""`trunkline machine add`: the one line to paste on another machine, and the waiting for it."""

import asyncio
import getpass
import shlex
import socket
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from trunkline.cli.output import CommandFailed, Json
from trunkline.cli.progress import Progress
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.client import Client

_LOOK_S = 1.0
_GONE_S = 120.0  # behind the code's end; the record follows within a minute
_SAYS_S = 5.0  # in which a machine that has come says what it can run


def instructions(made: Json) -> str:
    """What a person does next, given a fresh join code."""
    lines = [
        "Run this on the other machine:",
        "",
        f"    {made['command']}",
        "",
        "or, where trunkline is not installed there:",
        "",
        f"    {made['command_without_install']}",
        "",
        *_reached(made),
        "The code works once, for 15 minutes. The machine then has a token of its own.",
    ]
    return "\n".join(lines)


def _reached(made: Json) -> list[str]:
    parts = urlsplit(made["url"])
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if made["reach"] == "local":
        there = f"{getpass.getuser()}@{socket.gethostname()}"
        tunnel = f"ssh -N -L {port}:127.0.0.1:{port} {shlex.quote(there)}"
        return [
            f"Note: {made['url']} is known to this computer alone. For another machine, either",
            "- open a tunnel there first:",
            f"    {tunnel}",
            "- or start the server for all (unencrypted), and run this command again:",
            "    trunkline up --host 0.0.0.0",
            "- or use a TLS proxy, and run this command again:",
            "    TRUNKLINE_PUBLIC_URL=https://its.name trunkline up",
            "",
        ]
    lines = []
    if len(made["urls"]) > 1:
        others = ", ".join(made["urls"][1:])
        lines += [f"If it does not reach {made['url']}, one of these may do: {others}"]
    if parts.scheme == "http" and made["reach"] == "network":
        lines += ["What it sends is not encrypted: in a network that you do not trust, use TLS."]
    return [*lines, ""] if lines else []


async def arrival(client: "Client", made: Json) -> Json:
    """The machine's record when it is connected. Raises CommandFailed when it will not come."""
    end_s = made["expires_at"] / 1000 + _GONE_S
    came: float | None = None
    with Progress("waiting for it (Ctrl-C leaves, the code stays good)") as progress:
        while True:
            machine = await client.get("machines", made["machine_id"])
            if machine["online"]:
                came = came or time.monotonic()
                if machine["runtimes"] or time.monotonic() - came > _SAYS_S:
                    return machine
                progress.tell("it is connected, and says what it can run")
            elif machine["state"] == "terminated" or time.time() > end_s:
                why = machine["detail"] or "its join code ended"
                raise CommandFailed(f"no machine came: {one_line(why)}. Run this again for another")
            await asyncio.sleep(_LOOK_S / 4 if machine["online"] else _LOOK_S)


def left_early(name: str | None) -> str:
    """For whoever does not wait. `name`: what the machine is called; one that says that itself is
    not known by a name yet."""
    shows = "list" if name is None else f"show {shlex.quote(one_line(name))}"
    return f"The code stays good. `trunkline machine {shows}` says whether it came."


def welcome(machine: Json, can_run: str) -> str:
    name: Any = machine["name"]
    told = f"; it {can_run}" if can_run.startswith("can run") else ""
    return f"{one_line(str(name))} is connected{told.replace(': ', ' ', 1)}."
