"""Whether the arguments of a call are what its tool asks for, in words that a model can use.

Schemas come from strangers too (MCP servers). So a schema is first reduced to the keywords that
are checked in time proportional to schema and arguments: no references, no patterns. What is left
out is never stricter than the original; the server checks the rest itself.
"""

import json
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.texts import shortened

TOOL_ARGUMENTS_BYTES_MAX = 12 * limits.MIB  # of one call, as JSON

_PLAIN = frozenset(
    {
        *("type", "enum", "const", "required", "minimum", "maximum", "multipleOf"),
        *("exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems"),
        *("maxItems", "minProperties", "maxProperties"),
    }
)
_ERRORS_SHOWN = 3


class ArgumentCheck:
    """A schema, made ready once."""

    def __init__(self, schema: Json) -> None:
        reduced = _reduced(schema, limits.JSON_DEPTH_MAX)
        self._validator = Draft202012Validator(reduced if is_schema(reduced) else {})

    def problem(self, arguments: Any) -> str | None:
        """What is wrong, or None. The graph calls a tool only when this says None."""
        if isinstance(arguments, dict) and set(arguments) == {"_malformed"}:
            text = shortened(str(arguments["_malformed"]), limits.TOOL_ERROR_CHARS_MAX)
            return f"The arguments are not valid JSON. Send them again, complete. They were: {text}"
        if (reason := _unbearable(arguments)) is not None:
            return reason
        errors = []
        for error in self._validator.iter_errors(arguments):
            place = ".".join(str(part) for part in error.absolute_path)
            text = shortened(error.message, limits.TOOL_ERROR_CHARS_MAX)
            errors.append(f"{place}: {text}" if place else text)
            if len(errors) == _ERRORS_SHOWN:
                break
        return "The arguments are not what the tool needs. " + "; ".join(errors) if errors else None


def is_schema(schema: Json) -> bool:
    """Whether a schema is sound, as far as its keywords go; references are not followed."""
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True


def _unbearable(arguments: Any) -> str | None:
    """Why these arguments cannot be handled at all, whatever the tool."""
    try:
        size = len(json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode())
    except RecursionError:
        return "The arguments are nested too deeply."
    except UnicodeEncodeError:
        return "The arguments hold text that is not valid Unicode."
    except ValueError:
        return "The arguments hold a number that is not finite."
    if size > TOOL_ARGUMENTS_BYTES_MAX:
        return f"The arguments are over {TOOL_ARGUMENTS_BYTES_MAX} bytes."
    return None


def _reduced(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or not depth:
        return schema if isinstance(schema, bool) else {}
    kept: Json = {key: value for key, value in schema.items() if key in _PLAIN}

    def inner(value: Any) -> Any:
        return _reduced(value, depth - 1)

    properties = schema.get("properties")
    if isinstance(properties, dict):
        kept["properties"] = {name: inner(value) for name, value in properties.items()}
    if "additionalProperties" in schema and "patternProperties" not in schema:
        kept["additionalProperties"] = inner(schema["additionalProperties"])
    if "prefixItems" not in schema and not isinstance(schema.get("items", []), list):
        kept["items"] = inner(schema["items"])
    parts: list[Json] = []
    for key in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and branches:
            # Reduced, two branches may both hold where the originals exclude each other.
            joined = "anyOf" if key == "oneOf" else key
            parts.append({joined: [inner(branch) for branch in branches]})
    return {**kept, "allOf": parts} if parts else kept
