"""AsyncAPI 3.0 of every WebSocket wire, generated from the structs and names that the edges use.

What stands here is what `trunkline.wire` says; nothing is written twice.
"""

from typing import Any, NamedTuple

import msgspec

from trunkline import __version__
from trunkline.control.api import asyncapi_yeaft as yeaft
from trunkline.control.api.asyncapi_yeaft import Shape
from trunkline.wire.agp import messages as agp
from trunkline.wire.myagent import messages as myagent
from trunkline.wire.semibot.messages import DOWNLINK, UPLINK

Json = dict[str, Any]
Kind = type[msgspec.Struct]

_MYAGENT_DOWN = ("agent.", "system.", "plan.", "solver.", "pipeline.")
_REF = "#/components/schemas/{name}"


class _Message(NamedTuple):
    key: str
    """Unique among all messages."""
    name: str
    """As on the wire."""
    shape: Shape


class _Wire(NamedTuple):
    address: str
    query: dict[str, str]
    required: tuple[str, ...]
    up: tuple[_Message, ...]
    down: tuple[_Message, ...]


def _tagged(prefix: str, *kinds: Kind) -> tuple[_Message, ...]:
    """Structs that each are one message."""
    return tuple(
        _Message(prefix + kind.__name__, str(kind.__struct_config__.tag), kind) for kind in kinds
    )


def _named(prefix: str, kind: Kind, *names: str) -> tuple[_Message, ...]:
    """Messages that share one shape and differ by name."""
    return tuple(_Message(prefix + name, name, kind) for name in names)


def _shaped(prefix: str, shapes: dict[str, Shape]) -> tuple[_Message, ...]:
    """Messages that each have a shape of their own."""
    return tuple(_Message(prefix + name, name, shape) for name, shape in shapes.items())


def _events(*prefixes: str) -> list[str]:
    """The names of MyAgent's events."""
    values = [value for name, value in vars(myagent).items() if name.isupper()]
    return [one for one in values if isinstance(one, str) and one.startswith(prefixes)]


_WIRES = {
    "vm": _Wire(
        "/ws/vm",
        {
            "user_id": "Whose machine this is.",
            "ticket": "One-time, for the first connection; a reconnect has none.",
        },
        ("user_id",),
        _tagged("", *UPLINK),
        _tagged("", *DOWNLINK),
    ),
    "agp": _Wire(
        "/ws/agp",
        {
            "guid": "The device's own name.",
            "user_id": "Whose device this is.",
            "token": "The device's token; alone it is enough.",
        },
        (),
        _tagged("agp.", agp.Update, agp.PromptResponse, agp.Ping),
        _tagged("agp.", agp.Prompt, agp.Cancel, agp.Pong),
    ),
    "myagent": _Wire(
        "/ws/myagent",
        {
            "token": "A user's bearer token, where no header or cookie can carry it.",
            "shape": "`typed`: `agent.final_answer` has an object as its content.",
        },
        (),
        _named("", myagent.Uplink, *_events("user.")),
        _named("", myagent.Downlink, *_events(*_MYAGENT_DOWN)),
    ),
    "yeaft_web": _Wire(
        "/ws/yeaft",
        {
            "type": "`web`.",
            "token": "A user's bearer token, where no header or cookie can carry it.",
        },
        ("type",),
        _shaped("yeaft.client.", yeaft.FROM_WEB),
        _shaped("yeaft.server.", yeaft.TO_WEB),
    ),
    "yeaft_agent": _Wire(
        "/ws/yeaft",
        {
            "type": "`agent`.",
            "id": "The agent's id; `name` or `instanceId` may carry it instead.",
        },
        ("type",),
        _shaped("yeaft.agent.", yeaft.FROM_AGENTS),
        _shaped("yeaft.command.", yeaft.TO_AGENTS),
    ),
}


def describe() -> Json:
    """The whole document."""
    listed = [message for wire in _WIRES.values() for message in (*wire.up, *wire.down)]
    kinds = list(dict.fromkeys(one.shape for one in listed if not isinstance(one.shape, dict)))
    refs, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    schema_of = dict(zip(kinds, refs, strict=True))
    operations: Json = {}
    for key, wire in _WIRES.items():
        operations[f"{key}.up"] = _operation(key, "receive", wire.up)
        operations[f"{key}.down"] = _operation(key, "send", wire.down)
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Trunkline: every wire",
            "version": __version__,
            "description": "JSON text frames; `up` to the control plane, `down` from it.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {key: _channel(wire) for key, wire in _WIRES.items()},
        "operations": operations,
        "components": {
            "messages": {one.key: _message(one, schema_of) for one in listed},
            "schemas": schemas,
        },
    }


def _channel(wire: _Wire) -> Json:
    query = {
        "type": "object",
        "required": list(wire.required),
        "properties": {
            name: {"type": "string", "description": text} for name, text in wire.query.items()
        },
    }
    keys = [message.key for message in (*wire.up, *wire.down)]
    return {
        "address": wire.address,
        "messages": {key: {"$ref": f"#/components/messages/{key}"} for key in keys},
        "bindings": {"ws": {"method": "GET", "query": query}},
    }


def _message(message: _Message, schema_of: dict[Kind, Json]) -> Json:
    shape = message.shape
    if isinstance(shape, dict):
        summary, payload = shape["description"], shape
    else:
        summary = (shape.__doc__ or "").strip().partition("\n")[0]
        payload = schema_of[shape]
    return {
        "name": message.name,
        "title": message.key,
        "summary": summary,
        "contentType": "application/json",
        "payload": payload,
    }


def _operation(wire: str, action: str, messages: tuple[_Message, ...]) -> Json:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{wire}"},
        "messages": [{"$ref": f"#/channels/{wire}/messages/{one.key}"} for one in messages],
    }
