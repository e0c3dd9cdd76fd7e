"""What a session's bridge is told at its start: skills that can be used here, servers that it can
start or reach. Pure; what is left out is said in words for people.
"""

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.mcp.servers import LocalServer, parse_servers
from trunkline.execution.runtimes.openclaw.guard import FENCE
from trunkline.execution.session import ipc
from trunkline.execution.skills.index import check_skill_requirements, lacks

# No module in the workspace is taken for one of ours, and the server's PYTHONPATH and the like are
# for the server's own Python.
_SERVER = ("-E", "-P", "-m", "trunkline.execution.runtimes.openclaw.server")


def prepared(start: ipc.Start, env: Mapping[str, str]) -> tuple[ipc.Start, list[str]]:
    """`env`: what the programs of its skills will find."""
    problems: list[str] = []
    skills: list[Json] = []
    for skill in start.skill_index:
        satisfied, missing = check_skill_requirements(skill, env)
        if satisfied:
            skills.append(skill)
        else:
            problems.append(lacks(skill, missing))
    servers = [
        _confined(one, start) if isinstance(one, LocalServer) else _told("remote", one)
        for one in parse_servers(start.mcp_servers, problems)
    ]
    return msgspec.structs.replace(start, skill_index=skills, mcp_servers=servers), problems


def _confined(server: LocalServer, start: ipc.Start) -> Json:
    """Behind a fence like that of a program of another maker; it ends with the bridge."""
    fence = {} if start.fence is None else {FENCE: msgspec.json.encode(start.fence).decode()}
    started = msgspec.structs.replace(
        server,
        command=sys.executable,
        args=[*_SERVER, server.command, *server.args],
        env={**server.env, **fence},
    )
    return _told("local", started)


def _told(kind: str, server: Any) -> Json:
    return {"type": kind, **msgspec.to_builtins(server)}
