"""One AGP device: what it is at and what waits for it. Outlives its lines (source document 003).

A line hands in what the device says and is told what to send; `AgpHost` wakes it once a second.
Prompts go out one at a time per session; a message is taken once, however often it comes.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from trunkline import limits
from trunkline.control.commands import Cancel, Command, Configure, Say, Start, Stop
from trunkline.control.core import Core
from trunkline.control.edges.agp_commands import (
    DEFAULT_APP,
    agent_app_of,
    cancel_of,
    checked_app,
    prompt_of,
)
from trunkline.control.edges.prompts import Prompts
from trunkline.control.errors import LimitReached
from trunkline.control.machine import Machine
from trunkline.control.machine_secrets import Known
from trunkline.wire.agp import plain
from trunkline.wire.agp.messages import Answer, Downlink, Update
from trunkline.wire.agp.repeats import Repeats
from trunkline.wire.agp.translate import CallBounds, Inward, Logged, to_events

_log = structlog.get_logger(__name__)

DEVICE_SILENT = "DEVICE_SILENT"

_CALL_BOUNDS = CallBounds(
    title_chars=limits.AGP_TOOL_TITLE_CHARS_MAX,
    word_chars=limits.AGP_TOOL_WORD_CHARS_MAX,
    path_chars=limits.AGP_TOOL_PATH_CHARS_MAX,
    locations=limits.AGP_TOOL_LOCATIONS_MAX,
)
_ANY_ID = "0" * 36  # ids of sessions and turns all have this length


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
        self._core = core
        self._logs = machine.logs
        self._append = core.log.append
        self._clock = core.clock
        self._has_ended = machine.ends.has_ended
        self._ended = machine.ends.ended
        self.now: Callable[[], float] = asyncio.get_running_loop().time
        """What grace and silence are measured with."""
        self._on_foreign = on_foreign
        """Told of a kind and an id that are not this device's to name."""
        self._prompts = Prompts()
        self._work: dict[str, Inward] = {}
        """The prompt at work in each session, and what came of it so far."""
        self._plain: dict[str, tuple[str, Inward]] = {}
        """The same with their sessions, by what their pieces of text have in common."""
        self._place = plain.place_of(self._common_part(_ANY_ID, _ANY_ID))
        self._text_at = self._place.stop
        self._repeats = Repeats(limits.AGP_MSG_IDS_KEPT)
        self._is_new = self._repeats.is_new
        self._cancelling: dict[str, float] = {}
        """Turns that the device was told to end, and until when it may take."""
        self._silent: dict[str, float] = {}
        """Turns at work, and since when the device, while here, has said nothing of them."""

    # --- After a restart --------------------------------------------------------------------------

    def restore(self, say: Say) -> None:
        """An open turn of the records; in the order in which they were said."""
        try:
            if self._prompts.add(say) is not None:
                self._begin(say)
                self._work[say.session_id].is_whole = False  # until its start is found
        except LimitReached:
            pass  # it is delivered again, and ends then

    def recall(self, session_id: str, event: Logged) -> None:
        """An event of the log that a message of this device became."""
        self._repeats.is_new(event.msg_id)
        work = self._work.get(session_id)
        if work is not None:
            if work.turn_id == event.turn_id:
                work.recall(event)
            else:
                work.is_whole = True  # one turn at a time: this one's pieces all come later

    def recall_whole(self, session_id: str, turn_id: str | None = None) -> None:
        """What follows in the log is all that there is of this turn, or of whichever it is."""
        work = self._work.get(session_id)
        if work is not None and turn_id in (None, work.turn_id):
            work.is_whole = True

    # --- Up: what the device says -----------------------------------------------------------------

    def text(self, text: str) -> bool:
        """A piece of text in its usual form, straight into the log. False: it is anything else."""
        found = self._plain.get(text[self._place])
        if found is None:
            return False
        session_id, work = found
        log = self._logs.get(session_id)
        if log is None or work.turn_id in self._ended:
            return False
        line = plain.to_line(work, text, self._text_at, self._is_new)
        if line:
            if log.pending:
                log.pending.append(line)  # the log knows already that this session has news
            else:
                self._append(log, line)
        return line is not None

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
            or self._has_ended(turn_id)
        ):
            return self._is_past(message)
        if message.msg_id not in self._repeats:
            lines = to_events(work, message, ts)
            self._repeats.is_new(message.msg_id)  # not before: a broken one may come again, whole
            for line in lines:
                self._append(log, line)
        return True

    def answer(self, message: Answer) -> None:
        """The end of a turn; the first one counts."""
        session_id = message.payload.session_id
        work = self._work.get(session_id)
        log = self._logs.get(session_id)
        if (
            work is None
            or log is None
            or work.turn_id != message.payload.prompt_id
            or self._is_anothers(message)
            or self._has_ended(work.turn_id)
        ):
            self._is_past(message)
        elif self._repeats.is_new(message.msg_id):
            for line in to_events(work, message, self._clock()):
                self._core.lifecycle.write(self.machine, log, line)
            current = self._prompts.current(session_id)
            if current is not None:
                self._go_on(current)

    def _is_anothers(self, message: Update | Answer) -> bool:
        known = self.known
        return message.guid != known.guid or message.user_id != known.user_id

    def _is_past(self, message: Update | Answer) -> bool:
        """What came is of no turn at work: of one that has ended, or not this device's at all."""
        payload = message.payload
        if self._is_anothers(message):
            kind, name = "device", message.guid
            if name == self.known.guid:
                kind, name = "user", message.user_id
        elif self._has_ended(payload.prompt_id):
            return True
        elif payload.session_id not in self._logs:
            kind, name = "session", payload.session_id
        else:
            kind, name = "turn", payload.prompt_id
        self._on_foreign(kind, name)
        return False

    # --- Down: what it is told --------------------------------------------------------------------

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

    def withdraw(self, turn_id: str) -> bool:
        return self._prompts.withdraw(turn_id)

    def resumed(self) -> None:
        """A line is up again: what the device was told to end may not have reached it."""
        self._silent.clear()
        for say in self._prompts.at_work():
            if say.turn_id in self._cancelling:
                self._tell_cancel(say)

    def known_turns(self) -> list[str]:
        """Turns that need not be delivered again: the device has spoken of them, or they wait."""
        heard = [work.turn_id for work in self._work.values() if work.heard]
        return heard + [say.turn_id for say in self._prompts.waiting()]

    def sweep(self) -> None:
        """Once a second: turns that have ended here, cancels that were not heeded, turns that the
        device has lost, and sessions that were stopped."""
        now = self.now()
        for say in self._prompts.at_work():
            if self._is_over(say):
                self._leave(say)
            elif self._cancelling.get(say.turn_id, now) < now:
                self._end_cancelled(say)
            elif self._is_lost(say, now):
                self._end_silent(say)
        for session_id in list(self.machine.stopping):
            self._core.machines.release(self.machine, session_id)

    def _is_lost(self, say: Say, now: float) -> bool:
        """An app that was restarted may never speak of its turn again, and others wait."""
        if self.line is None:
            return False  # how long it may be away is another question
        work = self._work[say.session_id]
        if work.has_news:
            work.has_news = False
            self._silent[say.turn_id] = now
        since = self._silent.setdefault(say.turn_id, now)
        return now - since > limits.AGP_TURN_SILENCE_S

    def _choose(self, session_id: str, app: str | None) -> None:
        if app is not None:
            self.apps[session_id] = app
        else:
            self.apps.pop(session_id, None)

    def _say(self, say: Say) -> None:
        try:
            now = self._prompts.add(say)
        except LimitReached as error:
            work = self._core.lifecycle.finish(
                self.machine,
                say.session_id,
                "failed",
                say.turn_id,
                error=error.message,
                code=error.code,
            )
            self._core.tasks.spawn(work, "prompt refused")
            return
        if now is not None and now.turn_id not in self._cancelling:
            self._begin(now)
            if not self._work[now.session_id].heard:  # else the device has it, as it has shown
                self._tell_prompt(now)

    def _cancel(self, session_id: str) -> None:
        for say in list(self._prompts.waiting(session_id)):
            self._prompts.withdraw(say.turn_id)
            self._end_cancelled(say)
        current = self._prompts.current(session_id)
        if current is not None and not self._is_over(current):
            self._cancelling.setdefault(current.turn_id, self.now() + limits.MACHINE_CANCEL_GRACE_S)
            self._tell_cancel(current)

    def _stop(self, session_id: str) -> None:
        for current in self._prompts.drop(session_id)[:1]:
            self._forget(current)
            self._tell_cancel(current)
        self.apps.pop(session_id, None)

    def _end_cancelled(self, say: Say) -> None:
        """Ends a turn here: one that was never sent, or that the device does not end."""
        owed = say.turn_id in self._cancelling
        work = self._core.lifecycle.finish(
            self.machine, say.session_id, "cancelled", say.turn_id, owed=owed, cancelled=True
        )
        self._core.tasks.spawn(work, "prompt cancelled")

    def _end_silent(self, say: Say) -> None:
        work = self._core.lifecycle.finish(
            self.machine,
            say.session_id,
            "failed",
            say.turn_id,
            owed=True,
            error=f"the device said nothing of this turn for {limits.AGP_TURN_SILENCE_S:.0f} s",
            code=DEVICE_SILENT,
        )
        self._core.tasks.spawn(work, "prompt lost")

    # --- From one prompt to the next --------------------------------------------------------------

    def _begin(self, say: Say) -> None:
        work = self._work.get(say.session_id)
        if work is None or work.turn_id != say.turn_id:
            self._drop_work(say.session_id)
            work = self._work[say.session_id] = Inward(
                say.turn_id,
                chars_max=limits.AGP_STREAMED_CHARS_MAX,
                calls_max=limits.AGP_TOOL_CALLS_KEPT,
                call_bounds=_CALL_BOUNDS,
            )
            self._plain[self._common_part(say.session_id, say.turn_id)] = say.session_id, work

    def _drop_work(self, session_id: str) -> None:
        work = self._work.pop(session_id, None)
        if work is not None:
            del self._plain[self._common_part(session_id, work.turn_id)]

    def _common_part(self, session_id: str, turn_id: str) -> str:
        return plain.common_part(self.known.guid, self.known.user_id, session_id, turn_id)

    def _is_over(self, say: Say) -> bool:
        return self._has_ended(say.turn_id) or say.session_id not in self._logs

    def _leave(self, say: Say) -> None:
        """A turn at work has ended here: the device may still be busy with it."""
        if self.line is not None:
            if say.turn_id not in self._cancelling:
                self._tell_cancel(say)
            self._go_on(say)

    def _go_on(self, ended: Say) -> None:
        """The next prompt of the session that is not over too."""
        session_id = ended.session_id
        self._forget(ended)
        following = self._prompts.ended(session_id, ended.turn_id)
        while following is not None and self._is_over(following):
            following = self._prompts.ended(session_id, following.turn_id)
        if following is not None:
            self._begin(following)
            self._tell_prompt(following)

    def _forget(self, say: Say) -> None:
        self._drop_work(say.session_id)
        self._cancelling.pop(say.turn_id, None)
        self._silent.pop(say.turn_id, None)

    def _tell_prompt(self, say: Say) -> None:
        if self.line is not None:
            self.line.tell(prompt_of(say, self.known, self._app(say.session_id)))

    def _tell_cancel(self, say: Say) -> None:
        if self.line is not None:
            self.line.tell(cancel_of(say, self.known, self._app(say.session_id)))

    def _app(self, session_id: str) -> str:
        """What the session's agent asks for, else the first that the device was registered
        with."""
        return self.apps.get(session_id) or next(iter(self.known.agent_apps), DEFAULT_APP)
