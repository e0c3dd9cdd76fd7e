"""Sessions on somebody else's machine: administrators may, and the machine's owner is told and has
the say about which tools ask first."""

from typing import Any, get_args

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.access.auth import Principal
from trunkline.control.errors import Forbidden
from trunkline.control.store.schema import agents
from trunkline.permissions.modes import Care, Confirm, Mode, care_of

Json = dict[str, Any]

_RANKS = {"never": 0, "dangerous": 1, "always": 2}
_LEAST = "dangerous"
_MODES = ("mode", "permission_mode")
"""Names by which a program is told when to ask: in some modes it asks nobody."""
_CAREFUL_MODES = (None, "", "default", "ask", "plan")
_ASKING_NO_LESS = (None, "", "default", "plan")
"""Whatever `confirm` says besides."""
_OWN_NAMES: dict[Any, str | None] = {"default": None, "acceptEdits": "accept_edits"}


def stricter(one: str, other: str) -> str:
    return max(one, other, key=lambda rule: _RANKS.get(rule, 0))


def is_weaker(config: Json, before: Json) -> bool:
    """Whether less is asked with this configuration of an agent than with that one, or may be (of
    a program's own modes nobody knows what they ask), or its network is wider."""
    one, other = _care(config), _care(before)
    if one < other or _reaches_more(config, before):
        return True
    changed = [config.get(name) for name in _MODES if config.get(name) != before.get(name)]
    return one > 0 and any(mode not in _CAREFUL_MODES for mode in changed)


def _reaches_more(config: Json, before: Json) -> bool:
    """Hosts that are not said are those of the machine."""
    widths = ("off", "list")  # and everything else, as records of an earlier version may say
    now, then = (one.get("network") or "open" for one in (config, before))
    if now != then or now != "list":
        wide = [widths.index(one) if one in widths else len(widths) for one in (now, then)]
        return wide[0] > wide[1]
    hosts, known = config.get("network_hosts"), before.get("network_hosts")
    return hosts != known and (hosts is None or any(one not in (known or ()) for one in hosts))


def _care(config: Json) -> int:
    """How much is asked; a mode that only its program knows counts as none."""
    named: Any = config.get("permission_mode")
    mode: Any = _OWN_NAMES.get(named, named)
    confirm: Any = config.get("confirm")
    known = mode if mode in get_args(Mode) else None
    said: Confirm = confirm if confirm in get_args(Confirm) else "never"
    return get_args(Care).index(care_of(known, said, fenced=True))


async def owners_rule(connection: AsyncConnection, user_id: str) -> str:
    """The strictest `confirm` among the agents of a machine's owner, and at least `dangerous`."""
    query = select(agents.c.confirm).where(agents.c.user_id == user_id).distinct()
    rule = _LEAST
    for confirm in await connection.scalars(query):
        rule = stricter(rule, confirm)
    return rule


def under(rule: str, config: Json) -> Json:
    """The configuration of an agent, with no less asked than that."""
    return {**modeless(config), "confirm": stricter(rule, config.get("confirm") or "never")}


def modeless(config: Json) -> Json:
    """Without a mode of the program, in which it may ask nobody."""
    return {
        name: value
        for name, value in config.items()
        if name not in _MODES or value in _ASKING_NO_LESS
    }


def check_program(
    who: Principal, config: Json, of_agent: Json, owner: str, agent_owner: str | None
) -> None:
    """A command that a session is to run on a machine runs unasked: its agent's record may say it,
    and else whoever may answer questions; on somebody else's machine, nobody but its owner."""
    acp = config.get("acp")
    if not isinstance(acp, dict) or not (acp.get("command") or acp.get("env")):
        return
    is_agents = acp == of_agent.get("acp")
    if not is_agents:
        who.require("approve")
    said_by = agent_owner if is_agents else who.user_id
    if said_by != owner:
        raise Forbidden("a command of your own can run on your own machines only")
