"""Questions to people: which calls need one, asking and waiting, and what the answers mean.

`plan` reviews calls, `approve` reads the verdicts, the turn calls `Approvals.ask`, the session's
process `Approvals.answer`. What is asked is in the checkpoint; this is only the waiting.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import ToolCall
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.state import Answer, Question, Verdict
from trunkline.execution.texts import clipped
from trunkline.execution.tools.asking import AskUser
from trunkline.execution.tools.base import Tool

SHOWN_BYTES_MAX = 200_000  # of a call that a person is asked about; all of it is shown
_TOO_LONG = (
    "not run: a person has to allow it, and it is too long or too deep to be shown whole. "
    "Do it in smaller parts."
)


def review(
    context: Context, calls: Sequence[ToolCall], used: int
) -> tuple[dict[str, Verdict], list[Question]]:
    """`used`: tool calls that this turn has made before."""
    verdicts: dict[str, Verdict] = {}
    questions: list[Question] = []
    room = context.settings.max_tool_calls - used
    for number, call in enumerate(calls):
        tool = context.tool(call["name"])
        if number >= room:
            verdicts[call["id"]] = Verdict(refused=_spent(context.settings.max_tool_calls))
        elif tool is None:
            verdicts[call["id"]] = Verdict(refused=f"there is no tool named {call['name']!r}")
        elif problem := context.toolbox.check(tool, call["arguments"]):
            verdicts[call["id"]] = Verdict(refused=problem)
        elif _needs_a_person(context, tool, call):
            if _can_be_shown(call):
                questions.append(_question(context, call))
            else:
                verdicts[call["id"]] = Verdict(refused=_TOO_LONG)
    return verdicts, questions


def verdicts_of(questions: Sequence[Question], answers: Mapping[str, Answer]) -> dict[str, Verdict]:
    """What the answers mean for the calls; a question without an answer is a no."""
    verdicts: dict[str, Verdict] = {}
    for question in questions:
        answer = answers.get(question["request_id"]) or Answer(confirmed=False, answer="")
        verdict = _verdict(question, answer)
        if verdict:
            verdicts[question["tool_call_id"]] = verdict
    return verdicts


def _verdict(question: Question, answer: Answer) -> Verdict:
    said = answer["answer"]
    if not answer["confirmed"]:
        if answer.get("reason") == "timeout":
            return Verdict(refused="nobody answered in time, so it was not done")
        return Verdict(refused=f"the person said no: {said}" if said else "the person said no")
    if question["kind"] == "approve":
        return Verdict()
    return Verdict(answer=said or "(the person confirmed without words)")


def _needs_a_person(context: Context, tool: Tool, call: ToolCall) -> bool:
    if isinstance(tool, AskUser):
        return True
    match context.confirm:
        case "always":
            return True
        case "dangerous":
            return tool.is_dangerous(call["arguments"])
        case _:
            return False


def _question(context: Context, call: ToolCall) -> Question:
    patience = context.settings.approval_timeout_seconds
    asking = call["name"] == AskUser.name
    options = call["arguments"].get("options") if asking else None
    question = Question(
        request_id=uuid.uuid4().hex,
        tool_call_id=call["id"],
        tool_name=call["name"],
        tool_input=call["arguments"],
        message=call["arguments"]["question"] if asking else f"May I use {call['name']}?",
        kind=("select" if options else "input") if asking else "approve",
        timeout_seconds=patience,
        expires_at=context.clock() + patience,
    )
    if options:
        question["options"] = options
    if context.agent:
        question["agent"] = context.agent
        question["above"] = list(context.above)
    return question


def _can_be_shown(call: ToolCall) -> bool:
    """Whether a person can be shown all of it: nobody says yes to the half of a command."""
    arguments = call["arguments"]
    if clipped(arguments, SHOWN_BYTES_MAX) != arguments:
        return False
    return len(msgspec.json.encode(arguments)) <= SHOWN_BYTES_MAX


def _spent(budget: int) -> str:
    return (
        f"not run: a turn has at most {budget} tool calls. "
        "Answer with what you have; the person can ask you to go on."
    )


_log = structlog.get_logger(__name__)

_OURS = ("expires_at", "above")


class _Given(msgspec.Struct):
    request_id: str
    confirmed: bool
    answer: Any = None


class Approvals:
    """The questions of the running turn."""

    def __init__(self, context: Context, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._context = context
        self._sleep = sleep
        self._waiting: dict[str, asyncio.Future[Answer]] = {}

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def expect(self, questions: Sequence[Question]) -> None:
        """Takes answers from now on, those that come before `ask` as well."""
        loop = asyncio.get_running_loop()
        for question in questions:
            self._waiting.setdefault(question["request_id"], loop.create_future())

    async def ask(self, questions: Sequence[Question], least_s: float = 0.0) -> dict[str, Answer]:
        """Answers by request id, when there is one for each. Asked again after a restart, a
        question keeps its id and its time, but waits for `least_s`: who answered it while nobody
        listened says so again."""
        self.expect(questions)
        for question in questions:
            shown: Json = {name: value for name, value in question.items() if name not in _OURS}
            self._context.emit("approval_request", **shown)
        # Kept when the turn is cancelled here: `withdraw` tells readers about them.
        waits = (self._answer_to(question, least_s) for question in questions)
        answers = await asyncio.gather(*waits)
        self._waiting.clear()
        return {one["request_id"]: answer for one, answer in zip(questions, answers, strict=True)}

    def answer(self, data: Json) -> None:
        """A person's answer. One that fits no question, or comes late, changes nothing."""
        try:
            given = msgspec.convert(data, _Given)
        except msgspec.ValidationError as error:
            _log.warning("answer not understood", reason=str(error))
            return
        future = self._waiting.get(given.request_id)
        if future is None or future.done():
            _log.info("answer to no open question", request_id=given.request_id[:100])
            return
        future.set_result(Answer(confirmed=given.confirmed, answer=_text(given.answer)))

    def withdraw(self, reason: str | None) -> None:
        """Nobody waits any more; with a reason, readers are told."""
        for request_id, future in self._waiting.items():
            if reason and not future.done():
                self._resolved(request_id, reason)
        self._waiting.clear()

    async def _answer_to(self, question: Question, least_s: float) -> Answer:
        answered = self._waiting[question["request_id"]]
        left = max(least_s, question["expires_at"] - self._context.clock())
        patience = asyncio.ensure_future(self._sleep(left))
        either: set[asyncio.Future[Any]] = {answered, patience}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            patience.cancel()
        if answered.done():
            answer = answered.result()
        else:
            answer = Answer(confirmed=False, answer="", reason="timeout")
            answered.set_result(answer)
            self._resolved(question["request_id"], "timeout")
        self._audit(question, answer)
        return answer

    def _resolved(self, request_id: str, reason: str) -> None:
        self._context.emit(
            "approval_resolved", request_id=request_id, confirmed=False, reason=reason
        )

    def _audit(self, question: Question, answer: Answer) -> None:
        details = {
            "request_id": question["request_id"],
            "tool_name": question["tool_name"],
            "tool_call_id": question["tool_call_id"],
            "turn_id": self._context.turn.turn_id,
            "confirmed": answer["confirmed"],
            "answer": answer["answer"][: limits.AUDIT_VALUE_CHARS_MAX],
            "reason": answer.get("reason", "answered"),
        }
        self._context.control.fire_and_forget(
            "audit_log", event="approval_answered", details=details
        )


def _text(answer: Any) -> str:
    """People answer in words; a client may send something with more shape."""
    if answer is None:
        return ""
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
    return text[: limits.ANSWER_CHARS_MAX]
