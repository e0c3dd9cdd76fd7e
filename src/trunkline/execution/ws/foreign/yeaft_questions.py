"""What a person's answer on a Yeaft server means for the question that a session asked. Pure."""

from typing import Any

import msgspec

from trunkline.execution.json_object import Json
from trunkline.wire.answers import answer_of as meaning_of
from trunkline.wire.answers import labels_of
from trunkline.wire.events import SessionEvent, text_of


class Asked(msgspec.Struct, frozen=True):
    """A question that waits for its answer."""

    session_id: str
    is_approval: bool
    """Yes or no; any other question wants words."""
    options: tuple[str, ...] = ()
    """What may be said instead of yes and no."""

    @classmethod
    def of(cls, session_id: str, event: SessionEvent) -> "Asked":
        is_approval = event.kind not in ("input", "select")
        return cls(session_id, is_approval, tuple(labels_of(event.options)))


def answer_of(asked: Asked, request_id: str, fields: Json) -> Json:
    """The session's `approval_response`. What is no clear yes to a tool is a no."""
    words = _words(fields)
    given, more = fields.get("confirmed"), {}
    if asked.is_approval and (words in asked.options or not isinstance(given, bool)):
        meaning = meaning_of(words, "approve", list(asked.options))
        confirmed = meaning is not None and meaning.confirmed and given is not False
        if confirmed and meaning is not None and meaning.scope != "once":
            more = {"scope": meaning.scope}
    elif isinstance(given, bool):
        confirmed = given
    else:
        confirmed = bool(words)
    return {"request_id": request_id, "confirmed": confirmed, "answer": words, **more}


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
