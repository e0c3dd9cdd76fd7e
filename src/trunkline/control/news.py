"""What changes in people's lists, told to those who look at them: sessions, questions, machines.

Nothing is read while nobody listens, and nothing per event: a session is news when its record is
different. Many changes in a short while are one look at the records. What is missed is not told
again: whoever comes back reads the lists.
"""

import asyncio
from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

import msgspec
import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions import state as states
from trunkline.control.sessions.approvals import Approvals
from trunkline.control.sessions.projection import Step
from trunkline.control.sessions.records import SessionRecords
from trunkline.control.signals import Signals
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import DEFAULT
from trunkline.wire import sse

_log = structlog.get_logger(__name__)

_PAUSE_S = 0.05  # between two looks at the records
_OF_SESSIONS = (
    states.TurnOpened,
    states.Steered,
    states.SteerMissed,
    states.TurnEnded,
    states.Asked,
    states.Resolved,
    states.SessionClosed,
    states.SessionMoved,
)
"""The changes that show in a list of sessions."""
_OF_APPROVALS = (states.Asked, states.Resolved, states.AnswerNoted)

_encode = msgspec.json.Encoder().encode

T = TypeVar("T")
Kind = Literal["session", "machine"]
Owner = tuple[str, str | None]
"""The org and the user that a record is of."""


class MachineNews(msgspec.Struct, frozen=True):
    """A machine is different; so may its sessions be."""

    id: str
    online: bool


class Gone(msgspec.Struct, frozen=True):
    """A record is in no list any more, or cannot be followed."""

    kind: Kind
    id: str


class Listener(Protocol):
    who: Principal

    def tell(self, news: bytes) -> None:
        """A frame of its stream. Neither raises nor waits."""


class News:
    def __init__(
        self,
        sessions: SessionRecords,
        approvals: Approvals,
        tasks: Tasks,
        signals: Signals,
        retry_s: float = DEFAULT.retry_s,
    ) -> None:
        self._sessions = sessions
        self._approvals = approvals
        self._tasks = tasks
        self._retry_s = retry_s
        self._listeners: tuple[Listener, ...] = ()
        self._machines: dict[str, object] = {}
        """What was last told of each, while somebody listens."""
        self._changed: dict[str, None] = {}
        self._asked: dict[tuple[str, str], None] = {}
        self._gone: set[str] = set()
        """What went while the records were looked at."""
        self._is_running = False
        signals.sessions.watch(self.session)
        signals.titles.watch(lambda one: self.session(one.session_id))
        signals.records.watch(self.written)
        signals.machines.watch(self.machine)
        signals.erased.watch(lambda one: self.gone("session", one.id, (one.org_id, one.user_id)))

    def listen(self, listener: Listener) -> None:
        self._listeners = (*self._listeners, listener)

    def leave(self, listener: Listener) -> None:
        self._listeners = tuple(one for one in self._listeners if one is not listener)
        if not self._listeners:
            self._machines.clear()

    def session(self, session_id: str) -> None:
        """Its record is different."""
        if self._listeners:
            self._changed[session_id] = None
            self._start()

    def written(self, steps: Sequence[Step]) -> None:
        """The records of turns and questions have caught up with these."""
        if not self._listeners:
            return
        for step in steps:
            for change in step.changes:
                if isinstance(change, _OF_SESSIONS):
                    self._changed[step.session_id] = None
                if isinstance(change, _OF_APPROVALS):
                    self._asked[step.session_id, change.request_id] = None
        if self._changed or self._asked:
            self._start()

    def machine(self, machine: Machine) -> None:
        """It came, went or said something; news only if that shows."""
        if not self._listeners:
            return
        core, online = machine.core, machine.line is not None
        says = machine.detail, machine.runtimes, machine.health.get("state")
        shown = online, core.state.status, machine.is_draining, *says
        if self._machines.get(machine.id) != shown:
            self._machines[machine.id] = shown
            self.changed_machine(machine.id, (machine.org_id, machine.user_id), online=online)

    def changed_machine(self, machine_id: str, owner: Owner, *, online: bool = False) -> None:
        self._tell(owner, "machine", MachineNews(machine_id, online))

    def gone(self, kind: Kind, record_id: str, owner: Owner) -> None:
        """A record is no longer in any list."""
        if self._is_running:
            self._gone.add(record_id)
        self._tell(owner, "gone", Gone(kind, record_id))

    def _tell(self, owner: Owner, name: str, record: object) -> None:
        org_id, user_id = owner
        frame: bytes | None = None
        for listener in self._listeners:
            if listener.who.may_see(org_id=org_id, user_id=user_id):
                frame = frame or sse.named(name, _encode(record))
                listener.tell(frame)

    def _start(self) -> None:
        if not self._is_running:
            self._is_running = True
            self._tasks.spawn(self._run(), "news")

    async def _run(self) -> None:
        try:
            while self._listeners and (self._changed or self._asked):
                is_told = await self._look()
                await asyncio.sleep(_PAUSE_S if is_told else self._retry_s)
        finally:
            self._is_running = False
            self._changed.clear()
            self._asked.clear()
            self._gone.clear()

    async def _look(self) -> bool:
        """False: the records cannot be read now, and all of it has still to be told."""
        changed, asked = _taken(self._changed), _taken(self._asked)
        self._gone.clear()
        try:
            approvals = await self._approvals.named(asked) if asked else []
            sessions = await self._sessions.some(changed) if changed else []
        except Exception:
            _log.exception("the records of what has changed cannot be read; trying again")
            self._changed.update(dict.fromkeys(changed))
            self._asked.update(dict.fromkeys(asked))
            return False
        for approval, org_id in approvals:
            if approval.session_id not in self._gone:
                self._tell((org_id, approval.user_id), "approval", approval)
        for session in sessions:
            if session.id not in self._gone:  # nobody would take it off a list again
                self._tell((session.org_id, session.user_id), "session", session)
        return True


def _taken(waiting: dict[T, None]) -> list[T]:
    """The first page of them."""
    taken = list(waiting)[: limits.PAGE_MAX]
    for one in taken:
        del waiting[one]
    return taken
