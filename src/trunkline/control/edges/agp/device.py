"""One AGP device: what it is at and what waits for it. Outlives its lines (docs/protocols/agp.md).

A line hands in what the device says and is told what to send; `AgpHost` wakes it once a second.
Prompts go out one at a time per session; a message is taken once, however often it comes.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.edges.agp.commands import (
    DEFAULT_APP,
    agent_app_of,
    cancel_of,
    checked_app,
    prompt_of,
)
from trunkline.control.edges.agp.work import AtWork
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.secrets import Known
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp import plain
from trunkline.wire.agp.inward import Inward, Logged, to_events
from trunkline.wire.agp.messages import Downlink, PromptResponse, Update
from trunkline.wire.commands import Cancel, Command, Configure, Say, Start, Stop
from trunkline.wire.repeats import Repeats

DEVICE_SILENT = "DEVICE_SILENT"


class Teller(Protocol):
    """The device's line, as far as it is spoken into here."""

    def tell(self, message: Downlink) -> None: ...


class AgpDevice:
    def __init__(
        self, core: Core, machine: Machine, known: Known, on_foreign: Callable[[str, str], None]
    ) -> None:
        self.machine = machine
        self.known = known
        self.line: Teller | None = None
        self.apps: dict[str, str] = {}
        """The app that a session's agent asks for, where it asks for one."""
        self.now: Callable[[], float] = asyncio.get_running_loop().time
        """What grace and silence are measured with."""
        self._core = core
        self._logs = machine.logs
        self._append = core.log.append
        self._clock = core.clock
        self._on_foreign = on_foreign
        """Told of a kind and an id that are not this device's to name."""
        self._current: dict[str, str] = {}
        """The turn that each session is at."""
        self._at_work = AtWork(known)
        self._work = self._at_work.by_session
        self._by_part, self._part_at = self._at_work.by_part, self._at_work.place
        self._text_at = plain.text_after(self._part_at)
        self._repeats = Repeats(limits.AGP_MSG_IDS_KEPT)
        self._is_new = self._repeats.is_new
        self._cancels: dict[str, agp.Cancel] = {}
        """What the device is to end, by turn, until it has: it is told again when it returns."""
        self._grace: dict[str, float] = {}
        """Until when it may take to end a turn that a person has stopped."""
        self._silent: dict[str, float] = {}
        """Turns at work, and since when the device, while here, has said nothing of them."""

    @property
    def is_idle(self) -> bool:
        """Nothing is at work: what else is known here is in the log too."""
        return not self._current

    def _has_ended(self, session_id: str, turn_id: str) -> bool:
        return self.machine.core.has_ended(session_id, turn_id)

    # After a restart

    def restore(self, session_id: str, turn_id: str) -> None:
        """A turn that the device was told of."""
        self._current[session_id] = turn_id
        self._begin(session_id, turn_id).is_whole = False  # until its start is found

    def restore_late(self, session_id: str, turn_id: str, app: str | None) -> None:
        """A turn that ended here, and whose end the device has not said: it may be at it still."""
        self._note_cancel(session_id, turn_id, app or self._default_app)

    def recall(self, session_id: str, event: Logged) -> None:
        """An event of the log that a message of this device became."""
        self._repeats.is_new(event.msg_id)
        self._at_work.recall(session_id, event)

    def recall_whole(self, session_id: str, turn_id: str | None = None) -> None:
        self._at_work.recall_whole(session_id, turn_id)

    def _begin(self, session_id: str, turn_id: str) -> Inward:
        open_turns = self.machine.core.sessions[session_id].session.state.turns
        return self._at_work.begin(session_id, turn_id, open_turns)

    # Up: what the device says

    def texts(self, texts: list[str], start: int) -> int:
        """Pieces of text in their usual form, from `start` on, straight into the log: one tight
        loop. Where the first message stands that is anything else; the end, if there is none."""
        by_part, part_at, text_at = self._by_part, self._part_at, self._text_at
        logs, is_new, to_line = self._logs, self._is_new, plain.to_line
        for at in range(start, len(texts)):
            text = texts[at]
            found = by_part.get(text[part_at])
            if found is None:
                return at
            session_id, work, open_turns = found
            log = logs.get(session_id)
            if log is None or work.turn_id not in open_turns:
                return at
            line = to_line(work, text, text_at, is_new)
            if line is None:
                return at
            if line:
                if log.pending:
                    log.pending.append(line)  # the log knows already that this session has news
                else:
                    self._append(log, line)
        return len(texts)

    def update(self, message: Update, ts: int) -> bool:
        """A piece of a turn, straight into the log. False: it is none of this device's."""
        payload, known = message.payload, self.known
        session_id, turn_id = payload.session_id, payload.prompt_id
        work = self._work.get(session_id)
        log = self._logs.get(session_id)
        if (
            work is None
            or log is None
            or work.turn_id != turn_id
            or message.guid != known.guid
            or message.user_id != known.user_id
            or self._has_ended(session_id, turn_id)
        ):
            return self._is_past(message)
        if message.msg_id not in self._repeats:
            lines = to_events(work, message, ts)
            self._repeats.is_new(message.msg_id)  # not before: a broken one may come again, whole
            for line in lines:
                self._append(log, line)
        return True

    def answer(self, message: PromptResponse) -> None:
        """The end of a turn; the first one counts."""
        session_id = message.payload.session_id
        work = self._work.get(session_id)
        log = self._logs.get(session_id)
        if (
            work is None
            or log is None
            or work.turn_id != message.payload.prompt_id
            or self._is_anothers(message)
            or self._has_ended(session_id, work.turn_id)
        ):
            if self._is_past(message):
                self._late(session_id, message.payload.prompt_id)
        elif self._repeats.is_new(message.msg_id):
            for line in to_events(work, message, self._clock()):
                self._core.machines.write(self.machine, log, line)
            self._cancels.pop(work.turn_id, None)
            self._settle_all(session_id)
            self._forget(session_id, work.turn_id)

    def _is_anothers(self, message: Update | PromptResponse) -> bool:
        known = self.known
        return message.guid != known.guid or message.user_id != known.user_id

    def _is_past(self, message: Update | PromptResponse) -> bool:
        """What came is of no turn at work: of one that has ended, or not this device's at all."""
        payload = message.payload
        if self._is_anothers(message):
            kind, name = "device", message.guid
            if name == self.known.guid:
                kind, name = "user", message.user_id
        elif payload.prompt_id in self._cancels or self.machine.core.is_past(
            payload.session_id, payload.prompt_id
        ):
            return True
        elif payload.session_id not in self._logs:
            kind, name = "session", payload.session_id
        else:
            kind, name = "turn", payload.prompt_id
        self._on_foreign(kind, name)
        return False

    # Down: what it is told

    def deliver(self, command: Command) -> None:
        """What AGP has no words for (`Answer`, `Forward`, most of `Configure`) is left out."""
        match command:
            case Start():
                is_openclaw = command.openclaw_config is not None
                app = agent_app_of(
                    command.agent_config, command.runtime_type, is_openclaw=is_openclaw
                )
                self._choose(command.session_id, app)
            case Configure():
                if "agent_app" in command.patch:
                    self._choose(command.session_id, checked_app(command.patch["agent_app"]))
            case Say():
                self._say(command)
            case Cancel():
                self._cancel(command.session_id)
            case Stop():
                self._stop(command.session_id)

    def resumed(self) -> None:
        """A line is up again: what the device was told to end may not have reached it."""
        self._silent.clear()
        for cancel in self._cancels.values():
            self._tell(cancel)

    def known_turns(self) -> list[str]:
        """Turns that need not be told again: the device has spoken of them."""
        return self._at_work.heard()

    def sweep(self) -> None:
        """Once a second: turns that have ended here, cancels that were not heeded, and turns that
        the device has lost."""
        now = self.now()
        for session_id, turn_id in list(self._current.items()):
            if self._has_ended(session_id, turn_id):
                self._leave(session_id, turn_id)
            elif self._grace.get(turn_id, now) < now:
                self._end(session_id, turn_id, "execution_complete", cancelled=True)
            elif self._is_lost(session_id, turn_id, now):
                why = f"the device said nothing of this turn for {limits.AGP_TURN_SILENCE_S:.0f} s"
                self._end(session_id, turn_id, "execution_error", error=why, code=DEVICE_SILENT)

    def _is_lost(self, session_id: str, turn_id: str, now: float) -> bool:
        """An app that was restarted may never speak of its turn again, and others wait."""
        if self.line is None or self._core.log.is_stalled:
            # How long it may be away is another question; or it is we who do not listen.
            self._silent.pop(turn_id, None)
            return False
        work = self._work[session_id]
        if work.has_news:
            work.has_news = False
            self._silent[turn_id] = now
        since = self._silent.setdefault(turn_id, now)
        return now - since > limits.AGP_TURN_SILENCE_S

    def _choose(self, session_id: str, app: str | None) -> None:
        if app is not None:
            self.apps[session_id] = app
        else:
            self.apps.pop(session_id, None)

    def _say(self, say: Say) -> None:
        session_id, turn_id = say.session_id, say.turn_id
        before = self._current.get(session_id)
        if before not in (None, turn_id):
            self._leave(session_id, str(before))
        self._current[session_id] = turn_id
        work = self._begin(session_id, turn_id)
        self._cancels.pop(turn_id, None)
        if not work.heard and turn_id not in self._grace:
            self._tell(prompt_of(say, self.known, self._app(session_id)))

    def _cancel(self, session_id: str) -> None:
        turn_id = self._current.get(session_id)
        if turn_id is not None and not self._has_ended(session_id, turn_id):
            self._grace.setdefault(turn_id, self.now() + limits.MACHINE_CANCEL_GRACE_S)
            self._tell_cancel(session_id, turn_id)

    def _stop(self, session_id: str) -> None:
        turn_id = self._current.get(session_id)
        if turn_id is not None:
            self._leave(session_id, turn_id)
        hosted = self.machine.core.sessions.get(session_id)
        for late in hosted.session.state.late if hosted is not None else ():
            if late not in self._cancels:
                self._tell_cancel(session_id, late)
        self.apps.pop(session_id, None)
        with self.machine.input() as core:
            core.stopped(session_id)

    # From one prompt to the next

    def _leave(self, session_id: str, turn_id: str) -> None:
        """A turn at work has ended here: the device may still be busy with it."""
        if turn_id not in self._cancels:
            self._tell_cancel(session_id, turn_id)
        self._forget(session_id, turn_id)

    def _forget(self, session_id: str, turn_id: str) -> None:
        if self._current.get(session_id) == turn_id:
            del self._current[session_id]
        self._at_work.drop(session_id)
        self._grace.pop(turn_id, None)
        self._silent.pop(turn_id, None)

    # Turns that end here

    def _end(self, session_id: str, turn_id: str, kind: str, **fields: Any) -> None:
        """The device has it, and may yet say its end."""
        with self.machine.input() as core:
            core.finish(session_id, turn_id, kind, is_late=True, **fields)

    def _late(self, session_id: str, turn_id: str) -> None:
        """The device has said the end of a turn that ended here: it is not at it any more."""
        self._cancels.pop(turn_id, None)
        self._settled(session_id, turn_id)
        if self._current.get(session_id) == turn_id:
            self._forget(session_id, turn_id)

    def _settle_all(self, session_id: str) -> None:
        """It has answered a prompt of this session: it is at no earlier one either."""
        for turn_id, cancel in list(self._cancels.items()):
            if cancel.payload.session_id == session_id:
                del self._cancels[turn_id]
                self._settled(session_id, turn_id)

    def _settled(self, session_id: str, turn_id: str) -> None:
        """No late terminal event of this turn is expected: it has come."""
        with self.machine.input() as core:
            core.settled(session_id, turn_id)

    # Words

    def _tell(self, message: Downlink) -> None:
        if self.line is not None:
            self.line.tell(message)

    def _tell_cancel(self, session_id: str, turn_id: str) -> None:
        self._tell(self._note_cancel(session_id, turn_id, self._app(session_id)))

    def _note_cancel(self, session_id: str, turn_id: str, app: str) -> agp.Cancel:
        cancel = self._cancels[turn_id] = cancel_of(session_id, turn_id, self.known, app)
        if len(self._cancels) > limits.AGP_CANCELS_KEPT:
            del self._cancels[next(iter(self._cancels))]
        return cancel

    def _app(self, session_id: str) -> str:
        """What the session's agent asks for, else the first that the device was registered
        with."""
        return self.apps.get(session_id) or self._default_app

    @property
    def _default_app(self) -> str:
        return next(iter(self.known.agent_apps), DEFAULT_APP)
