"""What `trunkline node` connects with: a code that it turns into credentials, or those it has kept.

Whoever gives credentials by flags or variables, as the wire's documents have it, gets those.
"""

import asyncio
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.cli.output import CommandFailed, say

if TYPE_CHECKING:
    from trunkline.execution.home import Home
    from trunkline.execution.joining import Joined

USUAL_HOME = "~/agents"
"""Of a machine that joins by a code."""
_GIVEN = {
    "user_id": ("USER_ID", "VM_USER_ID"),
    "token": ("VM_TOKEN",),
    "control_plane_url": ("CONTROL_PLANE_WS",),
}


def home_of(home: Path | None, env: Mapping[str, str]) -> "Home":
    """The home of a machine that joins, or has."""
    from trunkline.execution.home import Home

    chosen = home or Path(env.get("TRUNKLINE_NODE_HOME") or USUAL_HOME)
    return Home(Path(os.path.abspath(chosen.expanduser())))  # noqa: PTH100 - links stay as they are


def credentials(
    code: str | None, url: str | None, flags: dict[str, Any], env: Mapping[str, str]
) -> "Joined | None":
    """Puts what a machine connects with among the flags, unless they are given; what it joined
    with, if it did. Raises SettingsError, HomeBusy, OSError, CommandFailed."""
    from trunkline.execution import joining
    from trunkline.execution.errors import SettingsError

    is_foreign = (flags.get("wire") or env.get("TRUNKLINE_WIRE") or "semibot") != "semibot"
    is_given = any(flags.get(field) or any(map(env.get, names)) for field, names in _GIVEN.items())
    if code is None and url is not None:
        raise SettingsError("--url goes with --join: a machine that joined knows its server")
    if code is not None and (is_foreign or flags.get("token") or flags.get("control_plane_url")):
        raise SettingsError("--join fetches what the machine connects with: give no other")
    if code is None and (is_foreign or is_given):
        return None
    home = home_of(flags.get("home"), env)
    ticket = None
    if code is None:
        joined = joining.read(home)
        if joined is None:
            raise SettingsError(
                f"this machine has not joined a server (its home would be {home.root}):"
                f" {joining.AGAIN}"
            )
    else:
        joined, ticket = _join(home, code, url or env.get("TRUNKLINE_URL"))
    flags |= {"user_id": joined.user_id, "token": joined.token, "ticket": ticket}
    flags |= {"control_plane_url": joined.ws_url, "home": home.root}
    return joined


def _join(home: "Home", code: str, url: str | None) -> "tuple[Joined, str | None]":
    from trunkline.execution import joining
    from trunkline.execution.errors import NoLine, ServerRefused, SettingsError

    if not url:
        raise SettingsError("--join needs --url: where the server is")
    checked = joining.checked_url(url)
    home.make()
    os.close(home.claim())  # a code must not be used up for a home that is taken
    before = joining.read(home)
    if before is not None and joining.is_of_code(before, code, checked):
        say(f"This machine has joined {checked} with this code already, and connects again.")
        return before, None
    try:
        joined, ticket = asyncio.run(joining.redeem(checked, code))
    except NoLine as error:
        raise CommandFailed(f"{checked} was not reached: {error.end.reason}") from error
    except ServerRefused as error:
        raise CommandFailed(f"{error.message}. {joining.AGAIN}") from error
    joining.keep(home, joined)
    usual = Path(os.path.abspath(Path(USUAL_HOME).expanduser()))  # noqa: PTH100
    there = "" if home.root == usual else f" --home {shlex.quote(str(home.root))}"
    say(f"Joined {checked}. What this machine connects with is kept in {home.root}.")
    say(
        "Ctrl-C stops it. This starts it again, without a code:\n"
        f"    trunkline node{there}\n"
        "and this keeps it running, also after a reboot:\n"
        f"    trunkline node install{there}"
    )
    return joined, ticket
