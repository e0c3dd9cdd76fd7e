"""How a person at a terminal answers a question: what can be said, and what was meant.

The numbers of an approval are always the same: who is used to 4 for a no must not say *always* one
day. Text in, text out, no I/O.
"""

import re
from typing import Any, NamedTuple

from trunkline import limits
from trunkline.cli.chat.questions import CUT, FIRST_OTHER, is_cut
from trunkline.cli.output import plain

_ONCE, _SESSION, _ALWAYS, _NO = 1, 2, 3, 4
_WORDS = {
    **dict.fromkeys(("y", "yes", "once"), _ONCE),
    **dict.fromkeys(("s", "session"), _SESSION),
    **dict.fromkeys(("a", "always"), _ALWAYS),
    **dict.fromkeys(("n", "no"), _NO),
}
_DECLINES = re.compile(
    r"(no|n|deny|denied|reject|rejected|refuse|refused|decline|declined|cancel|cancelled"
    r"|不|否|拒绝|取消)(?![a-z])",
    re.IGNORECASE,
)
_NONE = "/no"
_NO_LINE = "4 no; 4 and words: no, because …"


class Answer(NamedTuple):
    """Whether it is allowed and, where that was asked for, what the person said. `scope`: for how
    long it is meant; `reason`: why not, for the agent."""

    confirmed: bool
    said: str | list[str] | None = None
    scope: str = "once"
    reason: str | None = None


class NotUnderstood(Exception):
    """What was typed is no answer; its text says what is."""


def kind_of(data: dict[str, Any]) -> str:
    """`approve`, `input` or `select`."""
    kind = data.get("kind")
    if kind in ("approve", "input", "select"):
        return str(kind)
    return "select" if options_of(data) else "approve"


def options_of(data: dict[str, Any]) -> list[str]:
    """Each in words."""
    options = data.get("options")
    if not isinstance(options, list):
        return []
    return [one if isinstance(one, str) else _name(one) for one in options]


def choices(data: dict[str, Any]) -> list[str]:
    """What can be said, a line each."""
    options = [plain(one) for one in options_of(data)]
    if is_cut(data):
        others = enumerate(options, FIRST_OTHER) if kind_of(data) == "approve" else ()
        return [CUT, _NO_LINE, *(f"{n} {one}" for n, one in others if _DECLINES.match(one))]
    match kind_of(data):
        case "approve":
            lines = ["1 yes, once", "2 yes, for this session"]
            if rule := rule_of(data):
                lines.append(f"3 yes, always: allow {plain(rule)}")
            lines.append(_NO_LINE)
            return lines + [f"{n} {one}" for n, one in enumerate(options, FIRST_OTHER)]
        case "select":
            several = " (or several: 1,3)" if data.get("multi_select") is True else ""
            return [f"a number{several}, your own words, or {_NONE} and why"]
        case _:
            return [f"your answer, or {_NONE} and why"]


def understood(data: dict[str, Any], text: str) -> Answer:
    """What was meant by it. Raises NotUnderstood."""
    text = text.strip()
    if kind_of(data) == "approve" or is_cut(data):
        return _approved(data, text)
    said, _, reason = text.partition(" ")
    if said == _NONE:
        return Answer(False, reason=_reason(reason))
    if not text:
        raise NotUnderstood("an answer in words, please")
    if kind_of(data) == "input":
        return Answer(True, text)
    return _selected(data, text)


def _approved(data: dict[str, Any], text: str) -> Answer:
    said, _, reason = text.partition(" ")
    number = _WORDS.get(said.lower()) or (int(said) if _is_number(said) else 0)
    options, reason = options_of(data), reason.strip()
    if number == _NO:
        return Answer(False, reason=_reason(reason))
    cut = is_cut(data)
    if not reason and FIRST_OTHER <= number < FIRST_OTHER + len(options):
        option = options[number - FIRST_OTHER]
        if (is_no := bool(_DECLINES.match(option.strip()))) or not cut:
            return Answer(not is_no, option)
    if not reason and not cut:
        if number == _ONCE:
            return Answer(True)
        if number == _SESSION:
            return Answer(True, scope="session")
        if number == _ALWAYS and rule_of(data):
            return Answer(True, scope="always")
    raise NotUnderstood(
        f"'{plain(text)[:60]}' is none of the answers" if text else "a number, please"
    )


def _selected(data: dict[str, Any], text: str) -> Answer:
    options = options_of(data)
    is_many = data.get("multi_select") is True
    words = re.split(r"[\s,]+", text) if is_many else [text]
    if not all(map(_is_number, words)):
        return Answer(True, [text] if is_many else text)
    numbers = [int(word) for word in words]
    if wrong := next((one for one in numbers if not 1 <= one <= len(options)), None):
        raise NotUnderstood(f"there is no {wrong}")
    if 0 in numbers:
        raise NotUnderstood("the numbers begin with 1")
    chosen = [options[one - 1] for one in dict.fromkeys(numbers)]
    return Answer(True, chosen if is_many else chosen[0])


def rule_of(data: dict[str, Any]) -> str:
    """What always would mean; empty where it means the session only."""
    rule = data.get("rule")
    return rule if isinstance(rule, str) and "group" not in data else ""


def _reason(text: str) -> str | None:
    if len(text) > limits.ANSWER_REASON_CHARS_MAX:
        raise NotUnderstood(f"a reason has {limits.ANSWER_REASON_CHARS_MAX} characters at most")
    return text.strip() or None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 5


def _name(option: Any) -> str:
    if isinstance(option, dict):
        return str(option.get("label") or option.get("name") or option.get("value") or option)
    return str(option)
