"""An ACP agent's questions in words (`elicitation/create`): a form, asked field by field.

No I/O: whom to ask comes in.
"""

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

import msgspec

from trunkline import limits
from trunkline.execution.approvals import Answer
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.content import items, name_of, obj, text

FIELDS_MAX = 20
OPTIONS_MAX = 100
TRIES_MAX = 3  # for a number that is none
CANCELLED: Json = {"action": "cancel"}
DECLINED: Json = {"action": "decline"}
_YES, _NO, _NOTHING = "Yes", "No", "(leave it out)"


class Ask(Protocol):
    def __call__(
        self, message: str, *, options: Sequence[str] = ..., multi_select: bool | None = ...
    ) -> Awaitable[Answer]: ...


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is asked for. `choices`: what a person sees, and the value that it means."""

    name: str
    asked: str
    kind: str
    choices: dict[str, Any]
    is_needed: bool
    count_min: int = 0
    count_max: int = OPTIONS_MAX
    """Of the choices, how many are wanted, where that may be more than one."""

    @property
    def takes_several(self) -> bool:
        return self.kind == "array" and bool(self.choices)


async def ask(params: Json, person: Ask) -> Json:
    """What the person answers. Raises ToolError for a form that cannot be asked."""
    if params.get("mode", "form") != "form":
        raise ToolError("only questions in words can be asked here")
    message = text(params.get("message"), limits.TEXT_CHARS_MAX)
    found = fields(params.get("requestedSchema"))
    content: Json = {}
    for field in found or [Field(name="", asked="", kind="", choices={}, is_needed=True)]:
        said = "\n".join(filter(None, (message, field.asked)))
        value = await _value(field, said, person)
        if value is _DECLINED:
            return DECLINED
        if value is not None and field.name:
            content[field.name] = value
    return {"action": "accept", "content": content}


def fields(schema: Any) -> list[Field]:
    """Raises ToolError."""
    properties = obj(obj(schema).get("properties"))
    if len(properties) > FIELDS_MAX:
        raise ToolError(f"a form has {FIELDS_MAX} fields at most")
    needed = items(obj(schema).get("required"))
    return [_field(name, obj(about), name in needed) for name, about in properties.items()]


def _field(name: str, about: Json, is_needed: bool) -> Field:
    words = (text(about.get(one), limits.TEXT_CHARS_MAX) for one in ("title", "description"))
    asked = ": ".join(filter(None, words)) or text(name, limits.NAME_CHARS_MAX)
    kind = str(about.get("type"))
    values = obj(about.get("items")) if kind == "array" else about
    choices = _choices(values)
    if kind == "boolean":
        choices = {_YES: True, _NO: False}
    if choices and not is_needed:
        choices[_NOTHING] = None
    found = Field(name=name, asked=asked, kind=kind, choices=choices, is_needed=is_needed)
    bounds = {"count_min": about.get("minItems"), "count_max": about.get("maxItems")}
    given = {name: value for name, value in bounds.items() if isinstance(value, int)}
    return msgspec.structs.replace(found, **given)


def _choices(about: Json) -> dict[str, Any]:
    """Of the three ways to say them."""
    named = [
        (text(obj(one).get("title"), limits.NAME_CHARS_MAX), obj(one).get("const"))
        for one in (*items(about.get("oneOf")), *items(about.get("anyOf")))
    ]
    plain = [(text(one, limits.NAME_CHARS_MAX), one) for one in items(about.get("enum"))]
    return {
        shown or str(value): value
        for shown, value in (named or plain)[:OPTIONS_MAX]
        if name_of(value, limits.NAME_CHARS_MAX)
    }


_DECLINED = object()


async def _value(field: Field, said: str, person: Ask) -> Any:
    """None: nothing was given, and nothing has to be."""
    for _ in range(TRIES_MAX):
        several = field.takes_several or None
        answer = await person(said, options=tuple(field.choices), multi_select=several)
        if not answer["confirmed"]:
            return _DECLINED
        given = answer["answer"]
        if several:
            if (found := _several(field, given)) is not None:
                return found or None
        elif field.choices:
            if given in field.choices:
                return field.choices[given]
        elif not given and not field.is_needed:
            return None
        elif (value := _plain(field.kind, given)) is not None:
            return value
        said = f"{said}\n({given[:100]!r} does not fit)"
    return _DECLINED


def _several(field: Field, given: str) -> list[Any] | None:
    """What was chosen, each once and in the order of the choices; None if that does not fit.
    Several that were chosen come as a list, or in words."""
    try:
        listed = msgspec.json.decode(given, type=list[str])
    except msgspec.MsgspecError:
        listed = [given] if given in field.choices else [one.strip() for one in given.split(",")]
    if any(one not in field.choices for one in listed):
        return None
    found = [value for one, value in field.choices.items() if one in listed and value is not None]
    if not found and not field.is_needed:
        return []
    return found if field.count_min <= len(found) <= field.count_max else None


def _plain(kind: str, given: str) -> Any:
    try:
        match kind:
            case "integer":
                return int(given)
            case "number":
                return float(given)
            case "array":
                return [one.strip() for one in given.split(",") if one.strip()]
            case _:
                return given
    except ValueError:
        return None
