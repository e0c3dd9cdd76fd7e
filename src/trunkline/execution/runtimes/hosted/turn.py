"""One turn of a hosted runtime, as its program's driver sees it: what was said, whom to ask, where
events go. Its end is the host's to tell."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.approvals import Answer, Approvals, Scope, can_be_shown
from trunkline.execution.attachments import Attachment, read_attachments
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.permits import Permits, call_of
from trunkline.execution.runtimes.hosted.allowed_calls import digest
from trunkline.execution.session import ipc
from trunkline.execution.texts import clipped
from trunkline.permissions.decision import Decided, decide
from trunkline.permissions.judging import Danger, Judgement, judge
from trunkline.permissions.modes import Confirm, care_of

_PLANS = frozenset(("ExitPlanMode",))
"""What a program asks that has planned."""
_TOO_LONG = "it is too long or too deep to be shown whole, so nobody can allow it"


def event_of(kind: str, fields: Json, now: float, **more: Any) -> Json:
    """An event as it is sent: what came as it was from a program (`raw`) is its last field."""
    given = {name: value for name, value in fields.items() if value is not None}
    raw = {"raw": given.pop("raw")} if "raw" in given else {}
    return {"type": kind, **given, **more, "ts": int(now * 1000), **raw}


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said to something that a program wants to do."""

    allowed: bool
    scope: Scope = "once"
    """For how long the program may remember a yes."""
    becomes_rule: bool = False
    """Meant for always, which a rule of the session is for, that may be taken back: the program
    allows this once, and asks again."""
    reason: str = ""
    """Why not, in words for the model."""
    option: str = ""
    """The one that was chosen, where options were offered and one was named."""


class Turn:
    """Lives from its message to its end; what is emitted after that goes nowhere."""

    def __init__(
        self,
        said: ipc.UserMessageData,
        *,
        settings: Settings,
        permits: Permits,
        workspace: Path,
        send: Callable[[Json], None],
        control: ControlPlane,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.turn_id = said.turn_id or uuid.uuid4().hex
        self.message = said.message
        self.history = said.history
        """What was said before, for a program that has no memory of it."""
        self.metadata = said.metadata
        self.attachments: list[Attachment] = read_attachments(said.metadata)
        self.settings = settings
        self._permits = permits
        self._workspace = workspace
        self.control = control
        self.clock = clock
        self._send = send
        self._monotonic = monotonic
        self._approvals = Approvals(self, sleep, fence=permits.fence)
        self._usage: dict[str, Json] = {}
        self._costs_usd: dict[str, float] = {}
        self._open_questions = 0
        self._waited_s = 0.0
        self._waited_from = 0.0
        self._is_over = False

    def emit(self, kind: str, /, **fields: Any) -> None:
        """An event of this turn; fields of None are left out."""
        if self._is_over:
            return
        self._send(event_of(kind, fields, self.clock(), turn_id=self.turn_id))

    async def permit(
        self,
        *,
        tool_name: str,
        tool_input: Json,
        tool_call_id: str = "",
        message: str = "",
        options: Sequence[str] = (),
        is_allowed: bool = False,
    ) -> Permission:
        """Whether the program may do this: by the session's rules and its mode, else by a person.

        `options`: names of the answers that the program offers; which one was meant is its
        driver's to find, by name, else by `allowed` and `scope`. `is_allowed`: a person has said
        yes to it for the session.
        """
        judged = self._judged(tool_name, tool_input, is_allowed=is_allowed)
        if judged.outcome == "run":
            return Permission(allowed=True)
        if judged.outcome == "refuse":
            self._audit_refusal(tool_name, tool_input, tool_call_id, judged.why)
            return Permission(allowed=False, reason=judged.why)
        if not can_be_shown(tool_input):
            return Permission(allowed=False, reason=_TOO_LONG)
        question: Json = {
            "tool_name": tool_name,
            "tool_input": tool_input,
            "tool_call_id": tool_call_id,
            "message": "\n".join(filter(None, (message or f"May I use {tool_name}?", judged.why))),
            "kind": "approve",
        }
        if judged.rule is not None:
            question["rule"] = judged.rule
        if options:
            question["options"] = list(options)
        answer = await self._ask(question)
        said, scope = answer["answer"], answer.get("scope", "once")
        rule = judged.rule if answer["confirmed"] and scope == "always" else None
        if rule is not None:
            self._permits.allow(rule)
        return Permission(
            allowed=answer["confirmed"],
            scope=scope if rule is None else "once",
            becomes_rule=rule is not None,
            reason="" if answer["confirmed"] else _why_not(answer),
            option=said if said in options else "",
        )

    async def use(
        self,
        tool_name: str,
        tool_input: Json,
        work: Callable[..., Awaitable[str]],
        tool_call_id: str = "",
    ) -> str:
        """A tool of a program that has no questions of its own: a person is asked where that is
        due, and once for the same call where they said so; then it is shown, and `work` does it,
        with the input as its arguments. What came of it, or why not, in words for the model."""
        granted = digest(tool_name, tool_input)
        call: Json = {"tool_name": tool_name, "tool_input": tool_input}
        call["tool_call_id"] = tool_call_id or uuid.uuid4().hex
        answer = await self.permit(**call, is_allowed=granted in self._permits.granted)
        if not answer.allowed:
            return answer.reason
        if answer.scope != "once":
            self._permits.granted.add(granted)
        self.emit("tool_call_start", **call)
        result, is_error = "cancelled", True
        try:
            result, is_error = await work(**tool_input), False
        except Exception as error:
            result = str(error) or type(error).__name__
        finally:
            self.emit("tool_call_complete", **call, result=result, is_error=is_error)
        return result

    def _audit_refusal(self, name: str, given: Json, call_id: str, why: str) -> None:
        details = {
            "tool_name": name,
            "tool_call_id": call_id,
            "turn_id": self.turn_id,
            "tool_input": clipped(given, limits.AUDIT_VALUE_CHARS_MAX),
            "result": why,
        }
        self.control.fire_and_forget("audit_log", event="tool_refused", details=details)

    def ruled(self, tool_name: str, tool_input: Json) -> Decided | None:
        """What the session's rules alone say of it."""
        return decide(self._permits.rules, call_of(tool_name, tool_input, self._workspace))

    def _judged(self, tool_name: str, tool_input: Json, *, is_allowed: bool) -> Judgement:
        settings = self.settings
        return judge(
            call_of(tool_name, tool_input, self._workspace),
            Danger(changes=tool_name not in _PLANS),
            self._permits.rules,
            care_of(settings.mode, settings.confirm, fenced=self._permits.fenced),
            is_allowed=is_allowed,
        )

    @property
    def asks(self) -> Confirm:
        """What the program is to ask about."""
        return self._permits.asks(self.settings)

    async def ask(
        self, message: str, *, options: Sequence[str] = (), tool_name: str = "", **more: Any
    ) -> Answer:
        """A question in words; `more` are further fields of the event."""
        question: Json = {"tool_name": tool_name, "tool_input": {}, "tool_call_id": "", **more}
        question |= {"message": message, "kind": "select" if options else "input"}
        if options:
            question["options"] = list(options)
        return await self._ask(question)

    async def _ask(self, question: Json) -> Answer:
        patience = self.settings.approval_timeout_seconds
        request_id = uuid.uuid4().hex
        asked = {
            "request_id": request_id,
            **question,
            "timeout_seconds": patience,
            "expires_at": self.clock() + patience,
        }
        if not self._open_questions:
            self._waited_from = self._monotonic()
        self._open_questions += 1
        try:
            return (await self._approvals.ask([asked]))[request_id]
        finally:
            self._open_questions -= 1
            if not self._open_questions:
                self._waited_s += self._monotonic() - self._waited_from

    def used(
        self,
        model: str,
        *,
        tokens_in: int,
        tokens_out: int,
        calls: int = 1,
        cache_read_tokens: int = 0,
        cost_usd: float | None = None,
    ) -> None:
        """Counts model calls of this turn; `cost_usd` is that of these calls alone."""
        of_model = self._usage.setdefault(model, {"calls": 0, "tokens_in": 0, "tokens_out": 0})
        counted = {"calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out}
        if cache_read_tokens:
            counted["cache_read_tokens"] = cache_read_tokens
        for name, count in counted.items():
            of_model[name] = of_model.get(name, 0) + count
        if cost_usd is not None:
            self._costs_usd[model] = self._costs_usd.get(model, 0.0) + cost_usd

    def answer(self, data: Json) -> None:
        """A person's answer came."""
        self._approvals.answer(data)

    def waited_s(self) -> float:
        """For how long it has waited for people so far."""
        now = self._monotonic() - self._waited_from if self._open_questions else 0.0
        return self._waited_s + now

    def end(self, kind: str, /, withdrawn: str | None = None, **fields: Any) -> None:
        """Told once, by the host: what it took, then its end. Open questions are `withdrawn`."""
        self._approvals.withdraw(withdrawn)
        self._tell_usage()
        self.emit(kind, **fields)
        self._is_over = True

    def _tell_usage(self) -> None:
        summed = {
            name: sum(of_model[name] for of_model in self._usage.values())
            for name in ("calls", "tokens_in", "tokens_out")
        }
        known = round(sum(self._costs_usd.values()), 9) if self._costs_usd else None
        cost = None if known is None else {"amount": known, "currency": "USD"}
        self.emit("usage", **summed, models=self._usage, cost=cost, cost_usd=known)
        for model, used in self._usage.items():
            self.control.fire_and_forget(
                "usage_report",
                model=model,
                tokens_in=used["tokens_in"],
                tokens_out=used["tokens_out"],
                **({"cost_usd": self._costs_usd[model]} if model in self._costs_usd else {}),
            )


def _why_not(answer: Answer) -> str:
    reason = answer.get("reason", "")
    if reason == "timeout":
        return "nobody answered in time"
    return reason or answer["answer"] or "the person said no"
