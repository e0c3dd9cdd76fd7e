"""One AGP device: what it is at and what waits for it. Outlives its lines (source document 003).

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
    needed,
    prompt_of,
)
from trunkline.control.edges.agp.work import AtWork
from trunkline.control.edges.prompts import Prompts
from trunkline.control.errors import LimitReached
from trunkline.control.machines.commands import Cancel, Command, Configure, Say, Start, Stop
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.secrets import Known
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp import plain
from trunkline.wire.agp.inward import Logged, to_events
from trunkline.wire.agp.messages import Downlink, PromptResponse, Update
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
        self._has_ended = machine.ends.has_ended
        self._ended = machine.ends.ended
        self._on_foreign = on_foreign
        """Told of a kind and an id that are not this device's to name."""
        self._prompts = Prompts()
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
        """Nothing is at work and nothing waits: what else is known here is in the records too."""
        return self._prompts.is_empty

    # --- After a restart --------------------------------------------------------------------------

    def restore(self, say: Say) -> None:
        """An open turn of the records; in the order in which they were said."""
        try:
            if self._prompts.add(needed(say)) is not None:
                work = self._at_work.begin(say.session_id, say.turn_id)
                work.is_whole = False  # until its start is found
        except LimitReached:
            pass  # it is delivered again, and ends then

    def restore_owed(self, session_id: str, turn_id: str, app: str | None) -> None:
        """A turn that ended here, and whose end the device has not said: it may be at it still."""
        self.machine.ends.close(session_id, turn_id)  # also where the session is closed
        self._note_cancel(session_id, turn_id, app or self._default_app)

    def recall(self, session_id: str, event: Logged) -> None:
        """An event of the log that a message of this device became."""
        self._repeats.is_new(event.msg_id)
        self._at_work.recall(session_id, event)

    def recall_whole(self, session_id: str, turn_id: str | None = None) -> None:
        self._at_work.recall_whole(session_id, turn_id)

    # --- Up: what the device says -----------------------------------------------------------------

    def texts(self, texts: list[str], start: int) -> int:
        """Pieces of text in their usual form, from `start` on, straight into the log: one tight
        loop. Where the first message stands that is anything else; the end, if there is none."""
        by_part, part_at, text_at = self._by_part, self._part_at, self._text_at
        logs, ended, is_new, to_line = self._logs, self._ended, self._is_new, plain.to_line
        for at in range(start, len(texts)):
            text = texts[at]
            found = by_part.get(text[part_at])
            if found is None:
                return at
            session_id, work = found
            log = logs.get(session_id)
            if log is None or work.turn_id in ended:
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
            or self._has_ended(turn_id)
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
            or self._has_ended(work.turn_id)
        ):
            if self._is_past(message):
                self._late(session_id, message.payload.prompt_id)
        elif self._repeats.is_new(message.msg_id):
            for line in to_events(work, message, self._clock()):
                self._core.lifecycle.write(self.machine, log, line)
            current = self._prompts.current(session_id)
            if current is not None:
                self._cancels.pop(current.turn_id, None)
                self._owes_nothing(session_id)
                self._go_on(current)

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
                self._say(needed(command))
            case Cancel():
                self._cancel(command.session_id)
            case Stop():
                self._stop(command.session_id)

    def withdraw(self, turn_id: str) -> bool:
        return self._prompts.withdraw(turn_id)

    def resumed(self) -> None:
        """A line is up again: what the device was told to end may not have reached it."""
        self._silent.clear()
        for cancel in self._cancels.values():
            self._tell(cancel)

    def known_turns(self) -> list[str]:
        """Turns that need not be delivered again: the device has spoken of them, or they wait."""
        return self._at_work.heard() + [say.turn_id for say in self._prompts.waiting()]

    def sweep(self) -> None:
        """Once a second: turns that have ended here, cancels that were not heeded, turns that the
        device has lost, and sessions that were stopped."""
        now = self.now()
        for say in self._prompts.at_work():
            if self._is_over(say):
                self._leave(say)
            elif self._grace.get(say.turn_id, now) < now:
                self._end(say, "cancelled", owed=True, cancelled=True)
            elif self._is_lost(say, now):
                why = f"the device said nothing of this turn for {limits.AGP_TURN_SILENCE_S:.0f} s"
                self._end(say, "failed", owed=True, error=why, code=DEVICE_SILENT)
        for session_id in list(self.machine.stopping):
            self._core.machines.release(self.machine, session_id)

    def _is_lost(self, say: Say, now: float) -> bool:
        """An app that was restarted may never speak of its turn again, and others wait."""
        if self.line is None or self._core.log.is_stalled:
            # How long it may be away is another question; or it is we who do not listen.
            self._silent.pop(say.turn_id, None)
            return False
        work = self._work.get(say.session_id)
        if work is None:
            return False  # it is on its way
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
            self._end(say, "failed", error=error.message, code=error.code)
            return
        if now is not None and now.turn_id not in self._grace:
            work = self._at_work.begin(now.session_id, now.turn_id)
            if not work.heard:  # else the device has it, as it has shown
                self._tell_prompt(now)

    def _cancel(self, session_id: str) -> None:
        for say in list(self._prompts.waiting(session_id)):
            self._prompts.withdraw(say.turn_id)
            self._end(say, "cancelled", cancelled=True)
        current = self._prompts.current(session_id)
        if current is not None and not self._is_over(current):
            grace = self.now() + limits.MACHINE_CANCEL_GRACE_S
            self._grace.setdefault(current.turn_id, grace)
            self._tell_cancel(current)

    def _stop(self, session_id: str) -> None:
        dropped = self._prompts.drop(session_id)
        for current in dropped[:1]:
            self._forget(current)
            self._tell_cancel(current)
        for unsent in dropped[1:]:
            self._pay(session_id, unsent.turn_id)
        self.apps.pop(session_id, None)

    # --- From one prompt to the next --------------------------------------------------------------

    def _is_over(self, say: Say) -> bool:
        return self._has_ended(say.turn_id) or say.session_id not in self._logs

    def _leave(self, say: Say) -> None:
        """A turn at work has ended here: the device may still be busy with it."""
        if say.session_id not in self._work:
            self._pay(say.session_id, say.turn_id)
        elif say.turn_id not in self._cancels:
            self._tell_cancel(say)
        self._go_on(say)

    def _go_on(self, ended: Say) -> None:
        """The next prompt of the session that is not over too."""
        session_id = ended.session_id
        self._forget(ended)
        following = self._prompts.ended(session_id, ended.turn_id)
        while following is not None and self._is_over(following):
            self._pay(session_id, following.turn_id)
            following = self._prompts.ended(session_id, following.turn_id)
        if following is not None and self.line is not None:  # else it goes out on the next one
            self._at_work.begin(session_id, following.turn_id)
            self._tell_prompt(following)

    def _forget(self, say: Say) -> None:
        self._at_work.drop(say.session_id)
        self._grace.pop(say.turn_id, None)
        self._silent.pop(say.turn_id, None)

    # --- Turns that end here ----------------------------------------------------------------------

    def _end(self, say: Say, state: str, *, owed: bool = False, **fields: Any) -> None:
        """`owed`: the device has it, and may yet say its end."""
        work = self._core.lifecycle.finish(
            self.machine, say.session_id, state, say.turn_id, owed=owed, **fields
        )
        self._core.tasks.spawn(work, "prompt ended here")

    def _late(self, session_id: str, turn_id: str) -> None:
        """The device has said the end of a turn that ended here: it is not at it any more."""
        current = self._prompts.current(session_id)
        is_current = current is not None and current.turn_id == turn_id
        if self._cancels.pop(turn_id, None) is not None or is_current:
            self._pay(session_id, turn_id)
        if current is not None and is_current:
            self._go_on(current)

    def _owes_nothing(self, session_id: str) -> None:
        """It has answered a prompt of this session: it is at no earlier one either."""
        for turn_id, cancel in list(self._cancels.items()):
            if cancel.payload.session_id == session_id:
                del self._cancels[turn_id]
                self._pay(session_id, turn_id)

    def _pay(self, session_id: str, turn_id: str) -> None:
        """No end is owed of this turn: it has come, or the device never had the prompt."""
        self._core.recording.add(self.machine, session_id, self._core.turns.paid(turn_id))

    # --- Words ------------------------------------------------------------------------------------

    def _tell(self, message: Downlink) -> None:
        if self.line is not None:
            self.line.tell(message)

    def _tell_prompt(self, say: Say) -> None:
        self._tell(prompt_of(say, self.known, self._app(say.session_id)))

    def _tell_cancel(self, say: Say) -> None:
        self._tell(self._note_cancel(say.session_id, say.turn_id, self._app(say.session_id)))

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
