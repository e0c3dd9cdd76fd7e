"""Events as the OpenAPI document promises them to typed clients."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import jsonschema_rs

from trunkline.control.api import openapi
from trunkline.control.api.http import ROUTES

Json = dict[str, Any]


def check_events(events: Iterable[Json]) -> None:
    """Raises for the first that is not as the document says."""
    for event in events:
        validator = _validators().get(event["type"])
        assert validator is not None, f"the document knows no {event['type']}"
        validator.validate(event)


@cache
def _validators() -> dict[str, jsonschema_rs.Validator]:
    """By type: a union's own errors do not say which field it is."""
    components = openapi.describe(ROUTES)["components"]
    mapping = components["schemas"]["Event"]["discriminator"]["mapping"]
    return {
        kind: jsonschema_rs.validator_for({"$ref": ref, "components": components})
        for kind, ref in mapping.items()
    }
