"""What browsers are told, and when: a question that waits, a turn that ended while nobody looked.

Hears of both behind their records (`Signals.records`), and holds up nothing: what cannot be sent
is dropped, with the reason in the subscription's record.
"""

import ipaddress
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import structlog

from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock
from trunkline.control.errors import InvalidRequest, Unavailable
from trunkline.control.log.log import Log
from trunkline.control.push.crypto import Receiver, Vapid, receiver
from trunkline.control.push.sender import Message, Outcome, Sender
from trunkline.control.push.subscriptions import (
    NewSubscription,
    PushSubscription,
    Subscriptions,
    Target,
    Told,
)
from trunkline.control.redaction import redact
from trunkline.control.services.address_guard import AddressGuard
from trunkline.control.sessions import state as states
from trunkline.control.sessions.projection import Step
from trunkline.control.sessions.rows import approval_id
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Serial, Tasks
from trunkline.control.tuning import Tuning
from trunkline.control.watchers import Watchers

_log = structlog.get_logger(__name__)

_TITLE_CHARS = 100
_TEXT_CHARS = 300
_NEEDED_TTL_S = 24 * 3600
_DONE_TTL_S = 4 * 3600
_SENDING_MAX = 1_000
_QUESTIONS_MAX = 5_000  # that are remembered, to take their notifications back
_HELD_SHOWN_MAX = 3  # of one device at the end of its quiet hours; more are told as a number
_HELD_LOOK_S = 30
_HELD_MAX = 500  # of one device
_NOBODY = "mailto:nobody@trunkline.invalid"
_ALWAYS_SHOWS = ("push.apple.com",)
"""Services whose browsers give a subscription up that shows nothing: no notification is taken back
there."""

Moment = tuple[Step, states.Asked | states.Resolved | states.TurnEnded]


class Payload(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What the page's worker reads. `closed`: take the notification with this tag away."""

    kind: Literal["needs_you", "done", "closed", "test"]
    tag: str
    session_id: str | None = None
    approval_id: str | None = None
    title: str = ""
    text: str = ""
    status: str = ""
    count: int = 1
    """How many questions wait, where it is about more than one."""

    def message(self, ttl_s: int, urgency: Literal["low", "normal", "high"]) -> Message:
        return Message(msgspec.json.encode(self), self.tag, ttl_s, urgency)


class _Question(msgspec.Struct):
    """One that somebody was told of, or will be when their quiet hours are over."""

    payload: Payload
    is_open: bool = True
    shown_on: dict[str, Target] = {}
    """The subscriptions that have it, by id."""


class Push:
    def __init__(
        self,
        store: Store,
        keys: Keys,
        settings: Settings,
        log: Log,
        clock: Clock,
        tuning: Tuning,
        written: Watchers[Sequence[Step]],
    ) -> None:
        url = settings.public_url or ""
        contact = settings.push_contact or (url if url.startswith("https:") else _NOBODY)
        self._vapid = Vapid(keys.push, contact)
        self._guard = AddressGuard(
            settings.push_allowed_hosts, "push_allowed_hosts", "PUSH_ADDRESS_REFUSED"
        )
        self._sender = Sender(self._vapid, self._guard, clock, tuning.retry_s)
        self.subscriptions = Subscriptions(store, keys, clock)
        self._log = log
        self._clock = clock
        # Its own: nobody waits at the end for a service that takes its time.
        self._tasks = Tasks()
        self._moments = Serial(self._tasks)
        self._questions: dict[tuple[str, str], _Question] = {}
        self._held: dict[str, list[_Question]] = {}
        """What waits for the end of a subscription's quiet hours."""
        self._next_look_ms = 0
        written.watch(self.written)

    @property
    def public_key(self) -> str:
        return self._vapid.public_key

    async def close(self) -> None:
        await self._tasks.cancel()
        await self._sender.close()

    # What people do

    async def subscribe(self, who: Principal, new: NewSubscription) -> PushSubscription:
        to = receiver(new.endpoint, new.keys.p256dh, new.keys.auth)
        self._check(to)
        return await self.subscriptions.add(who, new, to)

    def _check(self, to: Receiver) -> None:
        """What can be said of the address before anybody connects to it."""
        if self._guard.is_named(to.host):
            return
        if not to.url.startswith("https:"):
            raise InvalidRequest("endpoint must begin with https://")
        if _is_address(to.host) and not self._guard.allows(to.host, to.host):
            raise self._guard.refused(to.host)

    async def test(self, who: Principal, subscription_id: str) -> None:
        """Sends one now, in quiet hours too. Unavailable where it is not taken, with the reason."""
        target = await self.subscriptions.target(who, subscription_id)
        payload = Payload(kind="test", tag=f"test-{target.id}")
        outcome = await self._sender.send(target.receiver, payload.message(60, "high"))
        await self._note(target, outcome)
        if outcome.problem is not None:
            raise Unavailable(outcome.problem, code="PUSH_FAILED")

    # What happens in sessions

    def written(self, steps: Sequence[Step]) -> None:
        """The records of questions and turns have caught up with these."""
        of_interest = (states.Asked, states.Resolved, states.TurnEnded)
        moments = [
            (step, change)
            for step in steps
            for change in step.changes
            if isinstance(change, of_interest)
        ]
        if moments:
            self._moments.add(self._tell(moments), "push")

    async def _tell(self, moments: list[Moment]) -> None:
        asked = {
            (step.session_id, change.request_id): (step, change)
            for step, change in moments
            if isinstance(change, states.Asked)
        }
        ended: dict[str, states.TurnEnded] = {}
        for step, change in moments:
            if isinstance(change, states.Resolved):
                key = step.session_id, change.request_id
                if asked.pop(key, None) is None:
                    self._resolved(key)
            elif isinstance(change, states.TurnEnded) and change.state != "cancelled":
                ended[step.session_id] = change
        ended = {one: end for one, end in ended.items() if not self._log.is_followed(one)}
        sessions = {session_id for session_id, _ in asked} | set(ended)
        if not sessions:
            return
        told = await self.subscriptions.of_sessions(sessions)
        for key, (step, question) in asked.items():
            if key[0] in told:
                self._asked(key, told[key[0]], step, question)
        for session_id, end in ended.items():
            if session_id in told:
                self._ended(session_id, told[session_id], end)

    def _asked(self, key: tuple[str, str], told: Told, step: Step, question: states.Asked) -> None:
        approval = approval_id(key[0], question.request_id, step.at)
        payload = Payload(
            kind="needs_you",
            tag=f"question-{approval}",
            session_id=key[0],
            approval_id=approval,
            title=_short(told.title, _TITLE_CHARS),
            text=_short(question.request.get("message"), _TEXT_CHARS),
        )
        known = self._questions[key] = _Question(payload)
        while len(self._questions) > _QUESTIONS_MAX:
            del self._questions[next(iter(self._questions))]
        for target in told.targets:
            if "needs_you" not in target.kinds:
                continue
            if target.quiet is not None and target.quiet.holds(self._clock()):
                held = self._held.setdefault(target.id, [])
                del held[: len(held) - _HELD_MAX + 1]
                held.append(known)
            else:
                self._send(target, payload.message(_NEEDED_TTL_S, "high"), known)

    def _resolved(self, key: tuple[str, str]) -> None:
        question = self._questions.pop(key, None)
        if question is not None:
            question.is_open = False
            for target in question.shown_on.values():
                self._take_back(target, question)

    def _take_back(self, target: Target, question: _Question) -> None:
        if not target.receiver.host.endswith(_ALWAYS_SHOWS):
            closed = Payload(kind="closed", tag=question.payload.tag)
            self._send(target, closed.message(_NEEDED_TTL_S, "normal"))

    def _ended(self, session_id: str, told: Told, end: states.TurnEnded) -> None:
        payload = Payload(
            kind="done",
            tag=f"done-{session_id}",
            session_id=session_id,
            title=_short(told.title, _TITLE_CHARS),
            status=end.state,
        )
        for target in told.targets:
            is_quiet = target.quiet is not None and target.quiet.holds(self._clock())
            if "done" in target.kinds and not is_quiet:
                self._send(target, payload.message(_DONE_TTL_S, "normal"))

    # Quiet hours

    def sweep(self) -> None:
        """Once a second: whether somebody's quiet hours are over."""
        if self._held and self._clock() >= self._next_look_ms:
            self._next_look_ms = self._clock() + _HELD_LOOK_S * 1000
            self._moments.add(self._wake(), "push")

    async def _wake(self) -> None:
        targets = {one.id: one for one in await self.subscriptions.named(self._held)}
        for subscription_id in list(self._held):
            target = targets.get(subscription_id)
            if target is not None and target.quiet and target.quiet.holds(self._clock()):
                continue
            waiting = [one for one in self._held.pop(subscription_id) if one.is_open]
            if target is None or "needs_you" not in target.kinds:
                continue
            if len(waiting) > _HELD_SHOWN_MAX:
                summed = Payload(kind="needs_you", tag="inbox", count=len(waiting))
                self._send(target, summed.message(_NEEDED_TTL_S, "high"))
                continue
            for one in waiting:
                self._send(target, one.payload.message(_NEEDED_TTL_S, "high"), one)

    # Sending

    def _send(self, target: Target, message: Message, question: _Question | None = None) -> None:
        if len(self._tasks) >= _SENDING_MAX:
            _log.warning("a push message was dropped: too many are on their way")
            return
        self._tasks.spawn(self._deliver(target, message, question), "push")

    async def _deliver(self, target: Target, message: Message, question: _Question | None) -> None:
        is_wanted = (lambda: True) if question is None else (lambda: question.is_open)
        outcome = await self._sender.send(target.receiver, message, is_wanted)
        await self._note(target, outcome)
        if question is not None and outcome.is_taken:
            if question.is_open:
                question.shown_on[target.id] = target
            else:
                self._take_back(target, question)

    async def _note(self, target: Target, outcome: Outcome) -> None:
        if outcome.is_gone:
            await self.subscriptions.forget(target.id)
        elif not outcome.is_dropped:
            await self.subscriptions.note(target.id, outcome.problem)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _short(text: Any, chars_max: int) -> str:
    """For a lock screen: without secrets, in one line, cut."""
    plain = " ".join(redact(text[: 4 * chars_max]).split()) if isinstance(text, str) else ""
    return plain if len(plain) <= chars_max else plain[: chars_max - 1].rstrip() + "…"
