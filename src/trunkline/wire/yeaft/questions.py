"""Questions of an agent to its user, and their answers: `ask_user_question`, `ask_user_answer`.

A question has one `prompt`, or comes as a list of `questions`, each with options of its own; its
answer goes back in the same form.
"""

from typing import Any

import msgspec

from trunkline.wire import events
from trunkline.wire.yeaft.messages import AskUserAnswer, Question

_OPTIONS_MAX = 50
_QUESTIONS_MAX = 20


class Asked(msgspec.Struct, frozen=True):
    """A question as every protocol can show it."""

    message: str
    options: list[str]
    multi_select: bool
    questions: list[str]
    """The names under which the answers are wanted; empty where one answer is."""

    @property
    def kind(self) -> str:
        return "select" if self.options else "input"


def asked(question: Question) -> Asked:
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
