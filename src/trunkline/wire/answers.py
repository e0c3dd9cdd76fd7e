"""What a person means with an answer: clients of every protocol write yes and no in many ways."""

from typing import Any, NamedTuple

from trunkline.wire.events import text_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_YES = _words(
    "yes y true ok okay sure confirm confirmed approve approved accept accepted allow allowed 1"
    " 是 是的 好 好的 确认 同意 可以 允许 批准 行 对 嗯 没问题"
)
_NO = _words(
    "no n false cancel cancelled deny denied reject rejected refuse refused decline declined 0"
    " 否 不 不是 不行 不同意 不可以 不允许 不要 不用 拒绝 取消 不批准"
)
_NO_BEGINNINGS = tuple(word for word in _NO if not word.isascii())
_ALWAYS = _words("always 总是 始终 一直允许 始终允许")
_SCOPES = ("once", "session", "always")
_VERDICTS = ("confirmed", "approved")
_ANSWERS = ("answer", "text", "value", "selected", "option", "response")


class Answer(NamedTuple):
    confirmed: bool
    answer: Any = None
    scope: str = "once"
    """For how long a yes is meant: `once`, `session` or `always`."""
    reason: str = ""


def kind_of(kind: Any, options: Any) -> str:
    """What a question asks for, by these fields of it: `approve` (yes or no), `select` or `input`.
    Options of a question that does not say so are a choice."""
    if kind in ("approve", "select", "input"):
        return str(kind)
    return "select" if isinstance(options, list) and options else "approve"


def labels_of(options: Any) -> list[str]:
    """What may be chosen, as people see it: options are texts, or objects with a label."""
    return [_label(one) for one in options] if isinstance(options, list) else []


def _label(option: Any) -> str:
    if isinstance(option, dict):
        option = option.get("label") or option.get("name") or option.get("value")
    return text_of(option)


def answer_of(content: Any, kind: str, options: Any = None) -> Answer | None:
    """The answer to a question of that kind (`approve`, `select`, `input`); None: no answer.
    `options`: those that a question of yes and no offers besides, by their names."""
    if isinstance(content, dict):
        return _of_object(content, kind, options)
    if isinstance(content, bool):
        return Answer(content)
    if kind == "approve":
        if isinstance(content, str) and content in labels_of(options):
            return Answer(not _is_refusal(content), content)
        if _word(content) in _ALWAYS:
            return Answer(True, scope="always")
        verdict = _verdict(content)
        return None if verdict is None else Answer(verdict)
    # Where the question is "which one?" or "what?", a bare "no" is an answer like any other.
    return Answer(True, content) if isinstance(content, str | list | int | float) else None


def _of_object(content: dict[str, Any], kind: str, options: Any) -> Answer | None:
    given = next((content[name] for name in _ANSWERS if content.get(name) is not None), None)
    said = next((content[name] for name in _VERDICTS if content.get(name) is not None), None)
    if said is not None:
        verdict = _verdict(said)
        return None if verdict is None else _meant(Answer(verdict, given), content)
    answer = None if given is None else answer_of(given, kind, options)
    return None if answer is None else _meant(answer, content)


def _meant(answer: Answer, content: dict[str, Any]) -> Answer:
    """With what else is said of it; what makes no sense there says nothing."""
    scope, reason = content.get("scope"), content.get("reason")
    if isinstance(scope, str) and scope in _SCOPES:
        answer = answer._replace(scope=scope)
    return answer._replace(reason=reason) if isinstance(reason, str) else answer


def _verdict(value: Any) -> bool | None:
    """Yes or no, as far as that can be told."""
    if isinstance(value, bool):
        return value
    word = _word(value)
    return True if word in _YES else False if word in _NO else None


def _is_refusal(option: str) -> bool:
    """By its beginning: `Reject`, `No, and tell it why`. Whoever offers it knows better, and is
    told its name."""
    said = option.strip().lower()
    first = said.split(maxsplit=1)[0].strip(",.!:;") if said else ""
    return first in _NO or said.startswith(_NO_BEGINNINGS)


def _word(value: Any) -> str:
    return value.strip().strip(".!。！").strip().lower() if isinstance(value, str) else ""
