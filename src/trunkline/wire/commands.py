"""What a machine can be told, in no protocol's words. Machine edges turn these into messages."""

import sys
from typing import Any

import msgspec

Json = dict[str, Any]

DEFAULT_RUNTIME = "semigraph"
"""Our own: what runs a session where nobody chose anything else."""


class Start(msgspec.Struct, frozen=True):
    """Start this session: what every runtime needs to know of it. An MCP server has its record's
    `id`, which not every machine is told."""

    session_id: str
    runtime_type: str
    agent_config: Json
    skill_index: list[Json]
    mcp_servers: list[Json]
    sub_agents: list[Json]
    session_config: Json
    openclaw_config: Json | None = None
    rules: list[Json] = []
    """What it may do; for a machine that holds to them."""
    snapshot: Json | None = None
    fork: Json | None = None
    """Of a copy that has not run yet: the `session_id` and `turn_id` that it is of, and what is
    known of its `history`."""


class Say(msgspec.Struct, frozen=True, tag="say"):
    """A user's message: it opens a turn."""

    session_id: str
    turn_id: str
    message: str
    history: list[Json]
    metadata: Json


class Steer(msgspec.Struct, frozen=True):
    """A user's message to a turn that runs."""

    session_id: str
    message_id: str
    turn_id: str
    message: str
    metadata: Json


class Cancel(msgspec.Struct, frozen=True):
    session_id: str
    reason: str


class Configure(msgspec.Struct, frozen=True, tag="configure"):
    """`agent_config`: all of it, with the patch."""

    session_id: str
    patch: Json
    agent_config: Json = {}


class Answer(msgspec.Struct, frozen=True):
    """A person's answer to a question of the session. `scope`: for how long a yes is meant, `once`,
    `session` or `always`; `reason`: the person's own words for it."""

    session_id: str
    request_id: str
    confirmed: bool
    answer: Any = None
    scope: str = "once"
    """For how long it is meant: `once`, `session` or `always`."""
    reason: str = ""


class Stop(msgspec.Struct, frozen=True):
    """End this session: `user_closed`, `timeout` or `admin`."""

    session_id: str
    reason: str


class Forward(msgspec.Struct, frozen=True, tag="forward"):
    """A client's message in a protocol that the machine speaks too: passed on unread."""

    session_id: str
    """Empty: it is of no session."""
    protocol: str
    text: str


class Query(msgspec.Struct, frozen=True):
    """Something that only the machine knows; it answers by the id, or not at all."""

    id: str
    method: str
    params: Json
    session_id: str = ""
    """It is of no session."""


MOVED = "timeout"
"""The reason for a session that goes on elsewhere: with this one, machines keep its files."""

Command = Start | Say | Steer | Cancel | Configure | Answer | Stop | Forward | Query


def size_of(value: Any) -> int:
    """About what it takes in memory: a command, a message, or any part of one."""
    size, left = 0, [value]
    while left:
        one = left.pop()
        size += sys.getsizeof(one)
        if isinstance(one, dict):
            left += one
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
        elif isinstance(one, msgspec.Struct):
            left += (getattr(one, name) for name in one.__struct_fields__)
    return size
