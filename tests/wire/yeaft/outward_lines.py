"""Log lines and what becomes of them, for the tests of the outward translation."""

import json
from collections.abc import Iterable
from typing import Any

from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

CONVERSATION = "01a1de65-0000-7000-8000-000000000001"
AGENT = "01a1de65-0000-7000-8000-0000000000aa"

Json = dict[str, Any]


def line(kind: str, /, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields}, ensure_ascii=False)


def relayed(kind: str, envelope: str, /, **fields: Any) -> str:
    """A line that a Yeaft agent's envelope became, as the agent's edge writes it."""
    head = line(kind, **fields)[:-1]
    return f'{head},"raw":{{"protocol":"yeaft","message":{envelope}}}}}'


def made_before(kind: str, /, **fields: Any) -> str:
    """A further line of the same envelope."""
    return line(kind, **fields)[:-1] + ',"raw":{"protocol":"yeaft"}}'


def bodies(lines: Iterable[str], **options: Any) -> list[bytes]:
    """What a Yeaft agent's session becomes, unless the options say otherwise."""
    state = Outward(CONVERSATION, **{"agent_id": AGENT, "relays": True, **options})
    return [
        out.body for number, one in enumerate(lines, 1) for out in from_events(state, number, one)
    ]


def messages(*lines: str, **options: Any) -> list[Json]:
    return [json.loads(body) for body in bodies(lines, **options)]


def data(*lines: str, **options: Any) -> list[Json]:
    """The `data` of the outputs among them."""
    return [one["data"] for one in messages(*lines, **options) if "data" in one]


def kinds(found: Iterable[Json]) -> list[str]:
    return [one["type"] for one in found]
