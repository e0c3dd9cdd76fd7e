"""What a person's answer on a Yeaft server means for the question that a session asked. Pure."""

from typing import Any

import msgspec

from trunkline.execution.json_object import Json
from trunkline.wire.events import SessionEvent, text_of

_YES = frozenset(
    ("yes", "y", "true", "ok", "allow", "approve", "approved", "confirm", "是", "允许")
)


class Asked(msgspec.Struct, frozen=True):
    """A question that waits for its answer."""

    session_id: str
    is_approval: bool
    """Yes or no; any other question wants words."""

    @classmethod
    def of(cls, session_id: str, event: SessionEvent) -> "Asked":
        return cls(session_id, event.kind not in ("input", "select"))


def answer_of(asked: Asked, request_id: str, fields: Json) -> Json:
    """The session's `approval_response`. What is no clear yes to a tool is a no."""
    words = _words(fields)
    given = fields.get("confirmed")
    if isinstance(given, bool):
        confirmed = given
    elif asked.is_approval:
        confirmed = words.strip().strip(".!").lower() in _YES
    else:
        confirmed = bool(words)
    return {"request_id": request_id, "confirmed": confirmed, "answer": words}


def _words(fields: Json) -> str:
    """`answer`, or `answers` by question; lists are several choices."""
    given = fields.get("answer")
    answers = fields.get("answers")
    if given is None and isinstance(answers, dict):
        if len(answers) != 1:
            return "\n".join(f"{name}: {_said(one)}" for name, one in answers.items())
        given = next(iter(answers.values()))
    return _said(given)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    return text_of(value)
