"""A machine's line to a foreign server: everything that the wires have in common.

The daemon and its sessions see the line of a control plane (`MachineLine`); there is none, so what
needs one fails at once, as with a cut line. Each wire says how it greets, reads and speaks.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution.errors import ServerRefused
from trunkline.execution.files import sweep
from trunkline.execution.json_object import Json
from trunkline.execution.line import Handler, MachineSide
from trunkline.execution.ws.disk_queue import Journal
from trunkline.execution.ws.events import Coalescer, cut
from trunkline.execution.ws.foreign.courier import Courier, Wire
from trunkline.execution.ws.foreign.names import Names
from trunkline.execution.ws.foreign.prompts import Prompt, Prompts
from trunkline.execution.ws.foreign.unconfirmed import Unconfirmed
from trunkline.execution.ws.handlers import Handlers
from trunkline.execution.ws.messages import ForSession
from trunkline.wire import events
from trunkline.wire.events import SessionEvent

_log = structlog.get_logger(__name__)


_FULL = (
    "too many answers wait until the server reads them; this machine takes messages again when it"
    " has"
)


class ForeignClient(Wire, ABC):
    """One server, many sessions. Session ids are ours here; `names` knows the server's."""

    def __init__(
        self,
        url: URL,
        agent_config: Json,
        folder: Path,
        on_refused: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        waiting_max: int = limits.SESSION_PROMPTS_MAX,
    ) -> None:
        """`on_refused` is told, for people, that the server does not want this machine."""
        folder.mkdir(mode=0o700, exist_ok=True)
        sweep(folder)
        self.message_handlers = Handlers()
        self.machine = MachineSide()
        """The machine itself, once `connect` has named it. It is never asked, nor told of the line:
        what needs a control plane is as far away with this line as without."""
        self.names = Names(folder / "names.json")
        self.prompts = Prompts(waiting_max)
        self._agent_config = agent_config
        self._on_refused = on_refused
        self._clock = clock
        self._unconfirmed = Unconfirmed(Journal(folder / "owed.jsonl"))
        self._courier = Courier(url, self, self._unconfirmed, sleep)
        self._event_id = int(clock() * 1_000_000)  # never the same again, also after a restart
        self._coalescer = Coalescer(
            time.monotonic, lambda session_id, event: self.pass_on(session_id, event.text)
        )
        self._starting: set[str] = set()
        self._running: asyncio.Task[None] | None = None

    @abstractmethod
    def said(self, session_id: str, event_id: int, event: SessionEvent, line: str) -> list[bytes]:
        """What an event of a session becomes."""

    def started(self, session_id: str) -> None:
        """A session's start is over; it runs if it is among `active_sessions`."""

    @abstractmethod
    def begin(self, session_id: str, prompt: Prompt) -> None:
        """It is worked on from now on."""

    @property
    def online(self) -> bool:
        return self._courier.online

    def end_left(self) -> None:
        """Before the first line: prompts of an earlier process that nobody will answer."""
        return

    async def connect(self, machine: MachineSide) -> Json:
        self.machine = machine
        self.end_left()
        init: Json = {"api_keys": {}, "llm_config": {}}
        machine.initialized(init)
        self._running = asyncio.create_task(self._keep(), name="foreign line")
        return init

    def settle(self) -> None:
        self._unconfirmed.settle()

    async def close(self) -> None:
        self._coalescer.spill()
        await self._courier.flush()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        self._coalescer.spill()
        self._unconfirmed.close()

    async def _keep(self) -> None:
        try:
            await self._courier.run()
        except ServerRefused as refused:
            _log.error(str(refused))
            self._on_refused(str(refused))

    async def request(self, session_id: str, method: str, /, **params: Any) -> Any:
        raise ConnectionError("this machine works for a foreign server: there is no control plane")

    def fire_and_forget(self, session_id: str, method: str, /, **params: Any) -> None:
        """Nobody here takes reports; what a turn used is told with its end, where a wire can."""
        _log.debug("nobody takes this report", method=method, session=session_id)

    def send_sse_event(self, session_id: str, data: str) -> None:
        if len(data) > limits.EVENT_BYTES_MAX:
            data = cut(data) or ""
        self._coalescer.add(session_id, data)
        if self._coalescer.is_urgent:
            self._coalescer.spill()  # an end is safe before anybody notes that there was one

    def register_session(self, session_id: str, handlers: Mapping[str, Handler]) -> None:
        self.message_handlers[session_id] = handlers

    def unregister_session(self, session_id: str) -> None:
        self.message_handlers.forget(session_id)
        self._coalescer.spill()
        self._coalescer.forget(session_id)

    def pass_on(self, session_id: str, line: str, *, is_expected: bool = True) -> None:
        """An event, in the server's words. A turn's end makes room for the next. Not expected: the
        end of a turn that was never accepted."""
        event = events.read(line)
        if event is None:
            return
        turn_id = event.turn_id if isinstance(event.turn_id, str) else None
        is_end = event.type in events.TERMINAL
        if not (is_end and self._unconfirmed.has_end(f"{session_id}/{turn_id}")):
            self._event_id += 1
            current = self.prompts.current(session_id)
            ends = turn_id or (current.turn_id if current is not None else "")
            is_kept = is_end or event.type == "approval_request"
            bodies = self.said(session_id, self._event_id, event, line)
            for number, body in enumerate(bodies, 1):
                is_last = is_end and number == len(bodies)
                name = f"{session_id}/{ends}" if is_last else ""
                self._tell(body, is_kept=is_kept, is_expected=is_expected, ends=name)
        if is_end:
            following = self.prompts.ended(session_id, turn_id)
            if following is not None:
                # Not from here: where each is refused at once, they would nest.
                loop = asyncio.get_running_loop()
                loop.call_soon(self._work_on_next, session_id, following)

    @property
    def is_full(self) -> bool:
        """Whether the server lets so much wait that nothing more may be accepted from it."""
        return self._unconfirmed.is_full(expected=self.prompts.count)

    @property
    def unended(self) -> set[str]:
        """Sessions of whose turns an end is yet to be sent: on a new line, every one that is not
        known to have arrived."""
        return {name.rpartition("/")[0] for name in self._unconfirmed.ends_waiting}

    def reply(self, body: bytes) -> None:
        """To something that needs no turn: it arrives, now or later, while there is room."""
        self._tell(body, is_kept=True, is_expected=False)

    def _tell(self, body: bytes, *, is_kept: bool, is_expected: bool, ends: str = "") -> None:
        if is_kept and not is_expected and self.is_full:
            self.say_now(body)
        else:
            self.send(body, is_kept=is_kept, ends=ends)

    def send(self, body: bytes, *, is_kept: bool, ends: str = "") -> None:
        """A message that arrives, now or when the line is back; if it is not kept, unless there are
        too many."""
        self._unconfirmed.add(body, is_kept=is_kept, ends=ends)
        self._courier.wake()

    def say_now(self, body: bytes) -> None:
        """A message that is of use now, or not at all."""
        self._courier.say_now(body)

    def prompt(self, session_id: str, prompt: Prompt, echo: bytes | None = None) -> bool:
        """Somebody said something: it is worked on when its turn comes. False: it was refused.
        `echo` is sent before the turn speaks."""
        if self.is_full:
            self._refuse_prompt(session_id, prompt, "MACHINE_BUSY", _FULL)
            return False
        try:
            is_next = self.prompts.add(session_id, prompt)
        except OverflowError as error:
            self._refuse_prompt(session_id, prompt, "SESSION_BUSY", str(error))
            return False
        if echo is not None:
            self.send(echo, is_kept=False)
        if is_next:
            self._work_on(session_id, prompt)
        return True

    def fail(self, session_id: str, turn_id: str, code: str, why: str) -> None:
        self.pass_on(session_id, self._end("execution_error", turn_id, error=why, code=code))

    def _refuse_prompt(self, session_id: str, prompt: Prompt, code: str, why: str) -> None:
        end = self._end("execution_error", prompt.turn_id, error=why, code=code)
        self.pass_on(session_id, end, is_expected=False)

    def cancel(self, session_id: str, turn_id: str) -> None:
        """The active one is ended by its session; any other ends here."""
        current = self.prompts.current(session_id)
        if current is not None and current.turn_id == turn_id:
            self.deliver(session_id, "cancel", {"reason": "user_cancelled"})
            return
        end = self._end("execution_complete", turn_id, content="", cancelled=True)
        self.pass_on(session_id, end, is_expected=self.prompts.has(session_id, turn_id))

    def start(self, session_id: str) -> None:
        """Starts a session if it does not run; `started` is called in either case."""
        if session_id in self._starting:
            return
        if session_id in self.machine.active_sessions():
            self.started(session_id)
            return
        self._starting.add(session_id)
        data = {"session_id": session_id, **self.start_of(session_id)}
        start = self.message_handlers.dispatch(ForSession("start_session", session_id, data))
        if start is None:
            self._start_over(session_id)
        else:
            start.add_done_callback(lambda _: self._start_over(session_id))

    def start_of(self, session_id: str) -> Json:
        """What a session is started with."""
        return {"agent_config": self._agent_config}

    def stop(self, session_id: str) -> None:
        """The session is closed, and its files go."""
        self.prompts.forget(session_id)
        data = {"session_id": session_id, "reason": "user_closed"}
        self.message_handlers.dispatch(ForSession("stop_session", session_id, data))

    def deliver(self, session_id: str, kind: str, data: Json) -> None:
        """To a session, which may still be starting."""
        self.message_handlers.dispatch(ForSession(kind, session_id, data))

    def _work_on_next(self, session_id: str, prompt: Prompt) -> None:
        if self.prompts.current(session_id) is prompt:  # the session was not deleted since
            self._work_on(session_id, prompt)

    def _work_on(self, session_id: str, prompt: Prompt) -> None:
        self.begin(session_id, prompt)
        if session_id not in self.machine.active_sessions():
            self.start(session_id)
        self.deliver(session_id, "user_message", prompt.data)

    def _start_over(self, session_id: str) -> None:
        self._starting.discard(session_id)
        current = self.prompts.current(session_id)
        if session_id not in self.message_handlers and current is not None:
            why = "the session could not be started; the machine's log says why"
            self.fail(session_id, current.turn_id, "SESSION_START_FAILED", why)
        else:
            self.started(session_id)

    def _end(self, kind: str, turn_id: str, **fields: Any) -> str:
        ts = int(self._clock() * 1000)
        return events.line(kind, turn_id=turn_id, **fields, ts=ts)
