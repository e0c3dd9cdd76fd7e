"""What a web client's answer to a question means (docs/protocols/yeaft.md#questions). Pure.

`answer` holds it; deployed clients send `answers`, by the question's text.
"""

from typing import Any

from trunkline.control.errors import InvalidRequest
from trunkline.wire.answers import answer_of as meaning_of
from trunkline.wire.answers import kind_of

_WITH_WORDS = ("input", "select")

Json = dict[str, Any]


def answer_of(question: Json, fields: Json) -> tuple[bool, Any]:
    """Whether it is a yes, and what was said. Nothing said means no."""
    given = fields.get("answer")
    if given is None:
        given = fields.get("answers")
        if given is not None and not isinstance(given, dict):
            raise InvalidRequest("answers must be an object of question and answer")
    kind = kind_of(question.get("kind"), question.get("options"))
    if kind in _WITH_WORDS and _is_yeafts(question):
        return given is not None, given
    only = _only(given)
    if only is None or (kind not in _WITH_WORDS and only == ""):
        return False, None
    if kind in _WITH_WORDS:
        return True, only
    meaning = meaning_of(only, "approve")
    if meaning is None:
        raise InvalidRequest("this question is answered with yes or no", code="YES_OR_NO")
    return meaning.confirmed, only if isinstance(only, str) else meaning.answer


def _is_yeafts(question: Json) -> bool:
    """A Yeaft agent's own question: its answers go back as they came."""
    raw = question.get("raw")
    return isinstance(raw, dict) and raw.get("protocol") == "yeaft"


def _only(given: Any) -> Any:
    """The answer to the only question there is."""
    if isinstance(given, dict) and len(given) == 1:
        (given,) = given.values()
    if isinstance(given, list) and len(given) == 1:
        (given,) = given
    return given
