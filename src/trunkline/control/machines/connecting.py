"""What is started or typed on a machine so that it connects, composed where the wires are known.

Pure. Secrets are part of it: it goes to whoever asked for them, and into no log.
"""

import shlex
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit, urlunsplit

from trunkline.control.errors import InvalidRequest

_SCHEMES = {"http": "ws", "https": "wss"}
_NODE = "trunkline node --home ~/agents"
_JOIN = "trunkline node --join"
_WITHOUT_INSTALL = "uvx --from trunkline"
_YEAFT_AGENT = "yeaft-agent"


def socket_url(base_url: str, path: str = "") -> str:
    """Where a machine connects, given where people do."""
    parts = urlsplit(base_url)
    if parts.scheme not in _SCHEMES or not parts.netloc:
        raise InvalidRequest(f"{base_url[:200]!r} is no http address")
    return urlunsplit((_SCHEMES[parts.scheme], parts.netloc, parts.path.rstrip("/") + path, "", ""))


def vm_environment(user_id: str, token: str, ticket: str, ws_url: str) -> dict[str, str]:
    """What every daemon of the Semibot wire reads, ours and others."""
    return {
        "USER_ID": user_id,
        "VM_USER_ID": user_id,
        "VM_TOKEN": token,
        "VM_TICKET": ticket,
        "CONTROL_PLANE_WS": ws_url,
    }


def node_command(environment: Mapping[str, str]) -> str:
    """A line for a shell that starts our own daemon."""
    own = {name: value for name, value in environment.items() if name != "VM_USER_ID"}
    return _command(own, _NODE)


def join_command(code: str, url: str, *, is_installed: bool = True) -> str:
    """A line for a shell with which our own daemon joins. A code in it is worth nothing as soon as
    it was used: that others of the machine can see it is no matter."""
    start = _JOIN if is_installed else f"{_WITHOUT_INSTALL} {_JOIN}"
    return f"{start} {code} --url {shlex.quote(url)}"


def device_url(base_url: str, guid: str, user_id: str, token: str) -> str:
    """Where an AGP device connects, with all three parameters that its wire knows."""
    query = urlencode({"guid": guid, "user_id": user_id, "token": token})
    return f"{socket_url(base_url, '/ws/agp')}?{query}"


def yeaft_environment(base_url: str, name: str, secret: str) -> dict[str, str]:
    """As Yeaft's own agent reads them."""
    server = socket_url(base_url)
    return {"SERVER_URL": server, "AGENT_NAME": name, "AGENT_SECRET": secret}


def yeaft_command(environment: Mapping[str, str]) -> str:
    return _command(environment, _YEAFT_AGENT)


def _command(environment: Mapping[str, str], program: str) -> str:
    # As variables: a process's arguments can be seen by other users of the machine.
    words = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
    return " ".join((*words, program))
