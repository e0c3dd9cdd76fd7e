"""The schema of a session's event: `Event` in the OpenAPI document, a union over its `type`.

Routes pass events on as they stand in the log; `LogEvent` says of such bytes what they are.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trunkline.wire.event_types import EVENTS, type_of

Json = dict[str, Any]

NAME = "Event"
_REF = f"#/components/schemas/{NAME}"

LogEvent = Annotated[msgspec.Raw, Meta(extra_json_schema={"$ref": _REF})]
"""An event as it stands in the log, unread."""


def union(refs: list[Json]) -> Json:
    """Of the schemas of `EVENTS`, in their order."""
    return {
        "description": (
            "An event of a session's log (docs/protocols/events.md). Types and fields that are not "
            "known here are passed on as they came: ignore them."
        ),
        "oneOf": refs,
        "discriminator": {
            "propertyName": "type",
            "mapping": {
                type_of(event): ref["$ref"] for event, ref in zip(EVENTS, refs, strict=True)
            },
        },
    }
