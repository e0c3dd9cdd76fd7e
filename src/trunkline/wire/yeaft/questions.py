"""Questions of an agent to its user, and their answers: `ask_user_question`, `ask_user_answer`.

A question has one `prompt`, or comes as a list of `questions`, each with options of its own; its
answer goes back in the same form. Whether a tool may be used is a question too; its `kind`,
`toolName` and `toolInput` are Trunkline's addition.
"""

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from trunkline.wire import events
from trunkline.wire.yeaft.messages import AskUserAnswer, Question

YES_NO: Final = ["yes", "no"]
ASKING: Final = "AskUserQuestion"
"""The tool call at which deployed clients show a question."""

_OPTIONS_MAX = 50
_QUESTIONS_MAX = 20
_NAME_CHARS_MAX = 200


class Waiting(msgspec.Struct):
    """A question that waits for a person."""

    session_id: str
    request_id: str
    deadline_ms: int
    names: list[str]
    """Under which the agent wants its answers; empty where it wants one."""
    is_answered: bool = False
    """An answer went out. It may go out again, or be asked for again."""


class Pending(msgspec.Struct):
    """The questions of one agent that wait for a person: no after a while, because no agent gives
    up. Too many of them: no to the oldest. A value."""

    count_max: int
    timeout_ms: int
    waiting: dict[str, Waiting] = {}

    def note(self, session_id: str, request_id: str, names: list[str], now_ms: int) -> None:
        """A question was asked. Asked again, it keeps its time."""
        known = self.waiting.get(_key(session_id, request_id))
        if known is not None:
            known.is_answered = False
            return
        asked = Waiting(session_id, request_id, now_ms + self.timeout_ms, names)
        self.waiting[_key(session_id, request_id)] = asked
        if len(self.waiting) > self.count_max:
            next(iter(self.waiting.values())).deadline_ms = now_ms

    def answered(self, session_id: str, request_id: str) -> list[str]:
        """The names under which the agent wants the answer that goes out now."""
        found = self.waiting.get(_key(session_id, request_id))
        if found is None:
            return []
        found.is_answered = True
        return found.names

    def open_of(self, session_id: str) -> list[str]:
        """Those of the session to which no answer went out."""
        return [
            one.request_id
            for one in self.waiting.values()
            if one.session_id == session_id and not one.is_answered
        ]

    def overdue(self, now_ms: int) -> list[tuple[str, str]]:
        """Whose time is over. Their denial takes them out; where that fails, it is due again."""
        found = [one for one in self.waiting.values() if one.deadline_ms <= now_ms]
        for one in found:
            one.deadline_ms = now_ms + self.timeout_ms
        return [(one.session_id, one.request_id) for one in found]

    def forget(self, session_id: str, request_id: str | None = None) -> None:
        """One of the session's, or all of them."""
        for key, one in list(self.waiting.items()):
            if one.session_id == session_id and request_id in (None, one.request_id):
                del self.waiting[key]


def _key(session_id: str, request_id: str) -> str:
    return f"{session_id} {request_id}"  # no session's id has a space in it


class Asked(msgspec.Struct, frozen=True):
    """A question as every protocol can show it."""

    message: str
    options: list[str]
    multi_select: bool
    questions: list[str]
    """The names under which the answers are wanted; empty where one answer is."""
    kind: str = ""
    tool_name: str | None = None
    tool_input: dict[str, Any] | None = None
    is_cut: bool = False
    """Less is shown than was asked: it can only be denied."""


def prompt_of(message: str, kind: Any, tool_input: Any, fence: str = "") -> str:
    """A question for pages that show its text and no more: nobody may have to say yes to a tool
    without seeing what it is about to do, and within what. One that asks for words allows nothing.
    """
    if kind in ("select", "input"):
        return message
    return "\n".join(filter(None, (message, fence))) + _shown(tool_input)


def _shown(tool_input: Any) -> str:
    text = "" if tool_input in (None, {}) else events.text_of(tool_input)
    return f"\n{text}" if text else ""


def asked(question: Question) -> Asked:
    found = _asked(question)
    name, given = question.tool_name, question.tool_input
    tool_name = name[:_NAME_CHARS_MAX] if isinstance(name, str) and name else None
    tool_input = given if isinstance(given, dict) else None
    is_approval = question.kind == "approve" and found.options in ([], YES_NO)
    if not is_approval or len(found.questions) > 1:
        kind = "select" if found.options else "input"
        return replace(found, kind=kind, tool_name=tool_name, tool_input=tool_input)
    return Asked(
        found.message.removesuffix(_shown(tool_input)),  # `prompt_of` shows it again
        [],
        False,
        found.questions,
        "approve",
        tool_name,
        tool_input,
        is_cut=(tool_name or None) != (name or None) or (tool_input or None) != (given or None),
    )


def _asked(question: Question) -> Asked:
    listed = question.questions
    if question.prompt is None and isinstance(listed, list):
        return _asked_many([one for one in listed if isinstance(one, dict)][:_QUESTIONS_MAX])
    return Asked(
        events.text_of(question.prompt), _labels(question.choices), bool(question.multi_select), []
    )


def _asked_many(listed: list[dict[str, Any]]) -> Asked:
    """Several at once are shown as one text; who answers in words answers all of them."""
    names = [events.text_of(one.get("question")) for one in listed]
    if len(listed) == 1:
        (only,) = listed
        return Asked(names[0], _labels(only.get("options")), bool(only.get("multiSelect")), names)
    shown = []
    for number, (one, name) in enumerate(zip(listed, names, strict=True), 1):
        labels = _labels(one.get("options"))
        shown.append(f"{number}. {name}" + (f" ({' / '.join(labels)})" if labels else ""))
    return Asked("\n".join(shown), [], False, names)


def _labels(options: Any) -> list[str]:
    """Options are texts, or objects with a label."""
    if not isinstance(options, list):
        return []
    return [
        events.text_of(one.get("label", one.get("value")) if isinstance(one, dict) else one)
        for one in options[:_OPTIONS_MAX]
    ]


def answer_message(
    conversation_id: str, request_id: str, confirmed: bool, answer: Any, questions: list[str]
) -> AskUserAnswer:
    """An answer for the agent. A no has no words: the agent's tool gets an empty answer, and
    `confirmed` for agents that look at it."""
    message = AskUserAnswer(
        conversation_id=conversation_id, request_id=request_id, confirmed=confirmed
    )
    if not confirmed:
        message.answer, message.answers = "", {}
    elif isinstance(answer, dict):
        message.answer, message.answers = _in_words(answer), answer
    else:
        message.answer = "yes" if answer is None else answer
        message.answers = dict.fromkeys(questions, message.answer)
    if not questions and not isinstance(answer, dict):
        message.answers = msgspec.UNSET
    return message


def _in_words(answers: dict[str, Any]) -> str:
    if len(answers) == 1:
        return events.text_of(next(iter(answers.values())))
    return "\n".join(f"{name}: {events.text_of(value)}" for name, value in answers.items())
