"""AsyncAPI 3.0 of the Semibot wire, generated from the structs that the edge decodes.

What stands here is what `trunkline.wire.semibot.messages` says; nothing is written twice.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline import __version__
from trunkline.wire.semibot.messages import DOWNLINK, UPLINK

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"
_QUERY = {
    "type": "object",
    "required": ["user_id"],
    "properties": {
        "user_id": {"type": "string", "description": "Whose machine this is."},
        "ticket": {
            "type": "string",
            "description": "One-time, for the first connection; a reconnect has none.",
        },
    },
}


def describe() -> Json:
    """The whole document."""
    kinds: list[type[msgspec.Struct]] = [*UPLINK, *DOWNLINK]
    refs, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    messages = {kind.__name__: _message(kind, ref) for kind, ref in zip(kinds, refs, strict=True)}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Trunkline: the line of an execution plane",
            "version": __version__,
            "description": "One WebSocket per machine; JSON text frames, each with a `type`.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {
            "vm": {
                "address": "/ws/vm",
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
                "bindings": {"ws": {"method": "GET", "query": _QUERY}},
            }
        },
        "operations": {
            "fromMachine": _operation("receive", UPLINK, "What a machine sends."),
            "toMachine": _operation("send", DOWNLINK, "What the control plane sends."),
        },
        "components": {"messages": messages, "schemas": schemas},
    }


def _message(kind: type[msgspec.Struct], schema: Json) -> Json:
    return {
        "name": str(kind.__struct_config__.tag),
        "title": kind.__name__,
        "summary": (kind.__doc__ or "").strip().partition("\n")[0],
        "contentType": "application/json",
        "payload": schema,
    }


def _operation(action: str, kinds: Sequence[type[msgspec.Struct]], summary: str) -> Json:
    return {
        "action": action,
        "summary": summary,
        "channel": {"$ref": "#/channels/vm"},
        "messages": [{"$ref": f"#/channels/vm/messages/{kind.__name__}"} for kind in kinds],
    }
