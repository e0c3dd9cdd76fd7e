"""Questions to people: asking, waiting, and the answers as they come.

The same for every runtime that runs in Python. What a question is about, and what an answer means,
is the runtime's; readers see `approval_request` and `approval_resolved`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, Protocol, TypedDict, get_args

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.texts import clipped

_log = structlog.get_logger(__name__)

SHOWN_BYTES_MAX = 200_000  # of a call that a person is asked about; all of it is shown

Scope = Literal["once", "session", "always"]

_OURS = ("expires_at", "above")


class Answer(TypedDict):
    """What came of a question. `reason`: why nobody answered (`timeout`), or why it is a no.
    `scope`: for how long a yes is meant."""

    confirmed: bool
    answer: str
    reason: NotRequired[str]
    scope: NotRequired[Scope]


class Asker(Protocol):
    """Whose questions these are: a session with its running turn."""

    @property
    def clock(self) -> Callable[[], float]: ...

    @property
    def control(self) -> ControlPlane: ...

    @property
    def turn_id(self) -> str: ...

    def emit(self, kind: str, /, **fields: Any) -> None: ...


class _Given(msgspec.Struct):
    request_id: str
    confirmed: bool
    answer: Any = None
    scope: Any = None
    reason: Any = None


class Approvals:
    """The questions of the running turn."""

    def __init__(
        self, asker: Asker, sleep: Callable[[float], Awaitable[None]], *, fence: str = ""
    ) -> None:
        """`fence`: what keeps the session to its own place; whoever is asked is told."""
        self._asker = asker
        self._fence = {"fence": fence} if fence else {}
        self._sleep = sleep
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._shown: set[str] = set()

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def expect(self, questions: Sequence[Mapping[str, Any]]) -> None:
        """Takes answers from now on, those that come before `ask` as well."""
        loop = asyncio.get_running_loop()
        for question in questions:
            self._waiting.setdefault(question["request_id"], loop.create_future())

    def show(self, questions: Sequence[Mapping[str, Any]]) -> None:
        """Tells people what they are asked, once; who needs the answers calls `ask`."""
        self.expect(questions)
        for question in questions:
            if question["request_id"] in self._shown:
                continue
            self._shown.add(question["request_id"])
            shown: Json = {name: value for name, value in question.items() if name not in _OURS}
            self._asker.emit("approval_request", **shown, **self._fence)

    async def ask(
        self, questions: Sequence[Mapping[str, Any]], least_s: float = 0.0
    ) -> dict[str, Answer]:
        """Answers by request id, when there is one for each. Asked again after a restart, a
        question keeps its id and its time, but waits for `least_s`: who answered it while nobody
        listened says so again."""
        self.show(questions)
        # Kept when the turn is cancelled here: `withdraw` tells readers about them.
        waits = (self._answer_to(question, least_s) for question in questions)
        answers = await asyncio.gather(*waits)
        for question in questions:
            self._waiting.pop(question["request_id"], None)
            self._shown.discard(question["request_id"])
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
        # A scope that is not known here is meant for longer than once, and taken for less.
        scope: Scope = given.scope if given.scope in get_args(Scope) else "once"
        answer = Answer(confirmed=given.confirmed, answer=_text(given.answer), scope=scope)
        if reason := _text(given.reason):
            answer["reason"] = reason[: limits.ANSWER_REASON_CHARS_MAX]
        future.set_result(answer)

    def withdraw(self, reason: str | None) -> None:
        """Nobody waits any more; with a reason, readers are told."""
        for request_id, future in self._waiting.items():
            if reason and not future.done():
                self._resolved(request_id, reason)
        self._waiting.clear()
        self._shown.clear()

    async def _answer_to(self, question: Mapping[str, Any], least_s: float) -> Answer:
        answered = self._waiting[question["request_id"]]
        left = max(least_s, question["expires_at"] - self._asker.clock())
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
        self._asker.emit("approval_resolved", request_id=request_id, confirmed=False, reason=reason)

    def _audit(self, question: Mapping[str, Any], answer: Answer) -> None:
        details = {
            "request_id": question["request_id"],
            "tool_name": question["tool_name"],
            "tool_call_id": question["tool_call_id"],
            "turn_id": self._asker.turn_id,
            "confirmed": answer["confirmed"],
            "answer": answer["answer"][: limits.AUDIT_VALUE_CHARS_MAX],
            "reason": answer.get("reason", "answered")[: limits.AUDIT_VALUE_CHARS_MAX],
            "scope": answer.get("scope", "once"),
        }
        self._asker.control.fire_and_forget("audit_log", event="approval_answered", details=details)


def can_be_shown(arguments: Json) -> bool:
    """Whether a person can be shown all of it: nobody says yes to the half of a command."""
    if clipped(arguments, SHOWN_BYTES_MAX) != arguments:
        return False
    return len(msgspec.json.encode(arguments)) <= SHOWN_BYTES_MAX


def _text(answer: Any) -> str:
    """People answer in words; a client may send something with more shape."""
    if answer is None:
        return ""
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
    return text[: limits.ANSWER_CHARS_MAX]
