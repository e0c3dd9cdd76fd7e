"""One session on this machine: its runtime, its open turns, what travels between it and the line.

It outlives its process: when that dies or was idle for long, the next message starts another one,
whose checkpoint makes the conversation go on. Commands are taken at once, carried out in order.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import msgspec
import structlog

from trunkline import names
from trunkline.execution.errors import StartFailed, TurnError
from trunkline.execution.json_object import Json
from trunkline.execution.line import Handler, SessionLine
from trunkline.execution.process.child import Failure
from trunkline.execution.session import changed_files, grants, ipc
from trunkline.execution.session.fencing import MakeProfile, no_fence, wider
from trunkline.execution.session.grants import Grants
from trunkline.execution.session.process_requests import Local, ProcessRequests
from trunkline.execution.session.runtime_adapter import RuntimeAdapter
from trunkline.execution.session.saved import SavedTurns, save_start
from trunkline.wire import events

_log = structlog.get_logger(__name__)

PROCESS_REVIVALS_MAX = 3  # of a process that dies while its turn waits for a person
SESSION_START_TOLD_S = 3.0  # a start that takes longer is told to whoever waits
STEERS_MAX = 100  # messages to open turns of a session
SESSION_INBOX_MAX = 100  # commands that wait for a session's process to be there

MakeAdapter = Callable[[Path, Callable[[ipc.Up], None], Callable[[Failure], None]], RuntimeAdapter]
"""Of a session's folder, of who takes its messages, and of who is told its end."""

_LOST = Failure(
    code="SESSION_CRASHED", message="the session's process ended before it got the message"
)
_FAULT = Failure(code="SESSION_FAILED", message="the message could not be given to the session")


class _Rest:
    """End the process, if nothing is going on."""


_Command = (
    ipc.UserMessage
    | ipc.Steer
    | ipc.Cancel
    | ipc.ConfigUpdate
    | ipc.ApprovalResponse
    | ipc.Compact
    | _Rest
    | None
)
"""None: bring the process up again, there is something for it to wait for."""


class Session:
    """Handlers never wait; `start` and `stop` do."""

    def __init__(
        self,
        start: ipc.Start,
        folder: Path,
        make_adapter: MakeAdapter,
        line: SessionLine,
        local: dict[str, Local],
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
        fence: MakeProfile = no_fence,
        admit: Callable[["Session"], None] = lambda _session: None,
        on_turn_end: Callable[["Session"], None] = lambda _session: None,
        before_turn: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """`admit` is asked before each start of a process; it raises StartFailed. `before_turn` is
        waited for before a message is given to the process."""
        self.id = start.session_id
        self.config = start
        self.folder = folder
        self.turns = SavedTurns(folder)
        self.is_changed = False
        """Whether anything happened since somebody last set this to False."""
        self.lock = asyncio.Lock()
        """Held while it is being started or stopped."""
        self._make_adapter = make_adapter
        self._line = line
        self._clock = clock
        self._monotonic = monotonic
        self._fence = fence
        self._admit = admit
        self._on_turn_end = on_turn_end
        self._before_turn = before_turn
        self._active_at = monotonic()
        self._is_stale = False
        """The process has keys that were replaced."""
        self.is_awake = True
        """Has a process, or is about to get one; False for one that rests."""
        self._grants = Grants(lambda access: wider(self._fence, self.config, access))
        local = {**local, grants.METHOD: self._grants.run}
        self._requests = ProcessRequests(self.id, line, local, lambda one: self.adapter.send(one))
        self._inbox: asyncio.Queue[_Command] = asyncio.Queue(SESSION_INBOX_MAX)
        self._working: asyncio.Task[None] | None = None
        self._is_stopping = False
        """The process is meant to end."""
        self._given: set[str] = set()
        """The turns that the present process was given: they end with it, others do not."""
        self._steers: dict[str, ipc.SteerData] = {}
        """What was said to open turns: a process that takes such a turn over is told again."""
        self._revivals = 0
        self.adapter = self._make_adapter(self.folder, self._take, self._ended)

    def handlers(self) -> dict[str, Handler]:
        return {
            "user_message": self.user_message,
            "steer": self.steer,
            "cancel": self.cancel,
            "config_update": self.config_update,
            "approval_response": self.approval_response,
        }

    async def start(self) -> None:
        """Raises StartFailed."""
        told = asyncio.get_running_loop().call_later(SESSION_START_TOLD_S, self._tell_start)
        try:
            await self._launch()
        finally:
            told.cancel()
        self.config = msgspec.structs.replace(self.config, fork=None)
        save_start(self.folder, self.config)
        self._take_commands()

    def start_resting(self) -> None:
        """Without a process: the first message starts one."""
        self.is_awake = False
        self._take_commands()

    def _take_commands(self) -> None:
        self._working = asyncio.create_task(self._work(), name=f"session {self.id}")

    async def stop(self, reason: str, *, why: Failure) -> None:
        """Ends the process; open turns end with `why`, but for one that waits for a person."""
        self._is_stopping = True
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
        await self.adapter.stop(reason)
        self._requests.drop()
        running = {turn.turn_id for turn in self.turns.open if not turn.waiting}
        self._end_turns(why, running)

    @property
    def _is_busy(self) -> bool:
        return bool(self.turns.open) or not self._inbox.empty() or self.adapter.is_working

    def idle_s(self) -> float:
        """For how long nothing has happened; zero while a turn is open, a message
        waits, or a command runs in the background."""
        return 0.0 if self._is_busy else self._monotonic() - self._active_at

    @property
    def is_resting(self) -> bool:
        """Its process is gone, and nothing is going on."""
        is_settled = not (self._is_busy or self._is_stopping or self.lock.locked())
        return is_settled and not (self.is_awake or self.adapter.alive)

    def let_go(self) -> None:
        """One that rests is over; what it was is on disk."""
        if self._working is not None:
            self._working.cancel()

    def rest(self) -> None:
        """Ends the process, unless a turn begins first. In order with everything else."""
        self.is_awake = not self._put(_Rest())

    def rekey(self, api_keys: dict[str, str], llm_config: Json) -> None:
        """Other keys or addresses: they hold from the next process on.

        That is the next turn's, unless it waits already behind one that runs: what the present
        process was given it does with what it has.
        """
        if (api_keys, llm_config) == (self.config.api_keys, self.config.llm_config):
            return
        self.config = msgspec.structs.replace(self.config, api_keys=api_keys, llm_config=llm_config)
        self._is_stale = True
        self.rest()

    async def _end_process(self) -> None:
        busy = {turn.turn_id for turn in self.turns.open}
        if self._is_stale:
            busy &= self._given  # a message that waits behind this is for the next process
        self.is_awake = bool(busy)
        if self.is_awake:
            return
        _log.info("an idle session rests", session=self.id)
        self._is_stopping = True
        await self.adapter.stop("idle")
        self._is_stopping = False

    def _tell_start(self) -> None:
        """Whoever waits learns that it takes a moment: the runtime is being loaded."""
        self.emit("session_status", machine="online", message="the session is being started")

    async def _launch(self) -> None:
        """Raises StartFailed, whatever went wrong."""
        try:
            await self._replace_process()
        except StartFailed:
            raise
        except Exception as error:
            _log.exception("a fault ended the start of a session's process", session=self.id)
            raise StartFailed(f"a fault on this machine: {type(error).__name__}") from error

    async def _replace_process(self) -> None:
        self._admit(self)
        self.is_awake, self._is_stale = True, False
        await self.adapter.stop("replaced")
        waiting = self.turns.waiting
        self._given = {waiting} if waiting is not None else set()
        self.adapter = self._make_adapter(self.folder, self._take, self._ended)
        fence = self._fence(self.config)
        start = msgspec.structs.replace(self.config, turn_id=waiting, fence=fence)
        ready = await self.adapter.start(start)
        for problem in ready.problems:
            _log.warning("a session has to do without something", session=self.id, problem=problem)
        for said in self._steers.values():
            if said.steers == waiting:
                self.adapter.send(ipc.Steer(data=said))
        _log.info("session process ready", session=self.id)

    def _ended(self, failure: Failure) -> None:
        self._requests.drop()
        if self._is_stopping:
            return
        _log.error(
            "session process ended", session=self.id, code=failure.code, problem=failure.message
        )
        lost, waiting = set(self._given), self.turns.waiting
        if waiting is not None and self._revivals < PROCESS_REVIVALS_MAX:
            # What it waits for is in its checkpoint: a new process asks again.
            self._revivals += 1
            lost.discard(waiting)
            self._put(None)
        self._end_turns(failure, lost)

    def _end_turns(self, why: Failure, turn_ids: Collection[str]) -> None:
        for turn in self.turns.open:
            if turn.turn_id in turn_ids:
                self.emit("execution_error", turn_id=turn.turn_id, **why.fields())

    def user_message(self, data: Json) -> None:
        try:
            message = msgspec.convert(data, ipc.UserMessageData)
        except msgspec.ValidationError as error:
            _log.warning("unusable message", session=self.id, problem=str(error))
            self._refuse(data.get("turn_id"), "INVALID_MESSAGE", f"not a message: {error}")
            return
        message.turn_id = message.turn_id or secrets.token_hex(16)
        try:
            is_new = self.turns.begin(message.turn_id)
        except TurnError as error:
            self._refuse(message.turn_id, error.code, error.message)
            return
        if not is_new:
            _log.info("a message came again", session=self.id, turn=message.turn_id)
        elif not self._put(ipc.UserMessage(data=message)):
            why = f"more than {SESSION_INBOX_MAX} messages wait in this session"
            self._refuse(message.turn_id, "SESSION_BUSY", why)

    def steer(self, data: Json) -> None:
        """A message to an open turn. One that cannot be used is not acknowledged: the control plane
        sends it again as a turn, when this one has ended."""
        try:
            said = msgspec.convert(data, ipc.SteerData)
        except msgspec.ValidationError as error:
            _log.warning("unusable message to a turn", session=self.id, problem=str(error))
            return
        is_open = any(turn.turn_id == said.steers for turn in self.turns.open)
        can = is_open and self.config.runtime_type in names.STEERED_RUNTIMES
        if can and len(self._steers) < STEERS_MAX and self._put(ipc.Steer(data=said)):
            self._steers[said.message_id] = said
        else:
            _log.info("a message to a turn is not taken", session=self.id, turn=said.steers)

    def cancel(self, data: Json) -> None:
        self._grants.cancel()
        self._put(ipc.Cancel(reason=str(data.get("reason") or "user_cancelled")[:200]))

    def config_update(self, data: Json) -> None:
        settings = {name: value for name, value in data.items() if name != "rules"}
        rules = data["rules"] if isinstance(data.get("rules"), list) else self.config.rules
        self.config = msgspec.structs.replace(
            self.config, session_config=self.config.session_config | settings, rules=rules
        )
        save_start(self.folder, self.config)
        self._put(ipc.ConfigUpdate(data=data))

    def approval_response(self, data: Json) -> None:
        self._grants.answered(data)
        self._put(ipc.ApprovalResponse(data=data))

    def compact(self) -> bool:
        return self._put(ipc.Compact())

    def _put(self, command: _Command) -> bool:
        self._active_at = self._monotonic()
        try:
            self._inbox.put_nowait(command)
        except asyncio.QueueFull:
            _log.warning("a session's inbox is full", session=self.id)
            return False
        return True

    def _refuse(self, turn_id: Any, code: str, why: str) -> None:
        if isinstance(turn_id, str):
            self.emit("execution_error", turn_id=turn_id, error=why, code=code)

    async def _work(self) -> None:
        while True:
            command = await self._inbox.get()
            try:
                if isinstance(command, _Rest):
                    await self._end_process()
                    continue
                if self._needs_process(command) and not self.adapter.alive:
                    await self._launch()
                await self._carry_out(command)
            except StartFailed as error:
                self._end_turns(Failure.of(error), self._given | _turn_of(command))
            except Exception:
                _log.exception("a command could not be carried out", session=self.id)
                self._end_turns(_FAULT, _turn_of(command))

    def _needs_process(self, command: _Command) -> bool:
        match command:
            case ipc.ConfigUpdate() | ipc.Steer():
                return False  # the next process starts with it
            case ipc.Cancel() | ipc.ApprovalResponse():
                return self.turns.waiting is not None
            case _:
                return True

    async def _carry_out(self, command: _Command) -> None:
        if not self.adapter.alive:
            self._end_turns(_LOST, _turn_of(command))
            return
        match command:
            case ipc.UserMessage():
                self._revivals = 0
                if self._before_turn is not None:
                    await self._before_turn(self.id)
                self._given |= _turn_of(command)
                await self.adapter.send_message(command.data)
            case ipc.Steer() | ipc.ConfigUpdate() | ipc.Compact():
                self.adapter.send(command)
            case ipc.Cancel():
                await self.adapter.cancel(command.reason)
            case ipc.ApprovalResponse():
                self._revivals = 0
                self.adapter.send(command)

    def _take(self, message: ipc.Up) -> None:
        match message:
            case ipc.SseEvent():
                self.is_changed = True
                self._active_at = self._monotonic()
                self._relay(message.data)
            case ipc.Request():
                self._requests.take(message)
            case ipc.FireAndForget():
                self._line.fire_and_forget(self.id, message.method, **message.params)

    def _relay(self, event: str) -> None:
        # The outbox first: an end that is noted here but was never sent would be lost.
        self._line.send_sse_event(self.id, event)
        self._grants.saw(event)
        changed_files.note(self.folder, event)
        if self.turns.saw(event):
            is_open = {turn.turn_id for turn in self.turns.open}
            self._steers = {one: it for one, it in self._steers.items() if it.steers in is_open}
            self._active_at = self._monotonic()
            self._on_turn_end(self)
            if self._is_stale:
                self.rest()

    def emit(self, kind: str, **fields: Any) -> None:
        """An event of the daemon's own. That alone is no use of the session."""
        self._relay(events.line(kind, **fields, ts=int(self._clock() * 1000)))


def _turn_of(command: _Command) -> set[str]:
    """The turn that a command begins, if it does."""
    if isinstance(command, ipc.UserMessage) and command.data.turn_id is not None:
        return {command.data.turn_id}
    return set()
