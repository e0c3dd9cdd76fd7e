"""One AGP device: its active turns, what it is told, and when a turn ends without it. Pure.

Outlives the device's lines (docs/protocols/agp.md). One prompt at a time in each session; a message
is taken once, however often it comes. Inputs are methods; what they want done is left in `out`.
"""

from typing import Any

import msgspec

from trunkline.wire import actions
from trunkline.wire.actions import Action, Turns
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp import plain
from trunkline.wire.agp.commands import (
    agent_app_of,
    cancel_of,
    checked_app,
    prompt_of,
)
from trunkline.wire.agp.device_state import DeviceState
from trunkline.wire.agp.inward import CallBounds, Inward, Logged, to_events
from trunkline.wire.agp.messages import PromptResponse, Update
from trunkline.wire.agp.work import AtWork
from trunkline.wire.commands import Cancel, Command, Configure, Say, Start, Stop
from trunkline.wire.events import keep

DEVICE_SILENT = "DEVICE_SILENT"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    cancel_grace_s: float
    """A turn that the device does not end when it is stopped, is ended here after so long."""
    silence_s: float
    """So is one of which the connected device says nothing for so long."""
    returned_silence_s: float
    """The same for one that the device had before its line broke and came back."""
    msg_ids_kept: int
    cancels_kept: int
    streamed_chars_max: int
    tool_calls_kept: int
    tool_call: CallBounds
    attachments_max: int
    app_chars_max: int


class Device:
    def __init__(self, state: DeviceState, turns: Turns, bounds: Bounds) -> None:
        self.out: list[Action] = []
        self.at_work = AtWork(
            state.guid,
            state.user_id,
            chars_max=bounds.streamed_chars_max,
            calls_max=bounds.tool_calls_kept,
            call_bounds=bounds.tool_call,
        )
        self.text_at = plain.text_after(self.at_work.place)
        """Where a piece of text stands in its message."""
        self._turns = turns
        self._bounds = bounds
        self.load(state)

    def load(self, state: DeviceState) -> None:
        """Goes on from there."""
        self.state = state
        self.at_work.load(state.work, self._turns)

    @property
    def is_idle(self) -> bool:
        """No turn is active: what else is known here is in the log too."""
        return not self.state.current

    # Inputs: what records and log say, after a restart

    def known_as(self, default_app: str, apps: dict[str, str]) -> None:
        """Which app its turns are of, by session, and where nothing is said of one."""
        self.state.default_app, self.state.apps = default_app, apps

    def restore(self, session_id: str, turn_id: str) -> None:
        """A turn that the device was told of."""
        work = self._begin(session_id, turn_id)
        if work is not None:
            work.is_whole = False  # until its start is found

    def restore_late(self, session_id: str, turn_id: str, app: str | None) -> None:
        """A turn that ended here, and whose end the device has not said: it may still run it."""
        self._note_cancel(session_id, turn_id, app or self.state.default_app)

    def recall(self, session_id: str, event: Logged) -> None:
        """An event of the log that a message of this device became."""
        self.state.repeats.is_new(event.msg_id)
        self.at_work.recall(session_id, event)

    # Inputs: what the device says. Plain pieces of text go past this: see `plain.to_line`.

    def update(self, message: Update, ts: int) -> list[str] | None:
        """A piece of a turn, as lines of the log. None: it is none of this device's."""
        work = self._active(message)
        if work is None:
            return [] if self._is_past(message) else None
        if message.msg_id in self.state.repeats:
            return []
        lines = to_events(work, message, ts)
        self.state.repeats.is_new(message.msg_id)  # not before: a broken one may come again, whole
        return lines

    def answer(self, message: PromptResponse, ts: int) -> None:
        """The end of a turn; the first one counts."""
        session_id, turn_id = message.payload.session_id, message.payload.prompt_id
        work = self._active(message)
        if work is None:
            if self._is_past(message):
                self._ended_late(session_id, turn_id)
        elif self.state.repeats.is_new(message.msg_id):
            self.out += [actions.Write(session_id, line) for line in to_events(work, message, ts)]
            self.state.cancels.pop(turn_id, None)
            self._settle_all(session_id)
            self._forget(session_id, turn_id)

    def _active(self, message: Update | PromptResponse) -> Inward | None:
        """The active turn that the message is of. An empty `guid` or `user_id` is the line's."""
        payload = message.payload
        work = self.state.work.get(payload.session_id)
        if (
            work is None
            or work.turn_id != payload.prompt_id
            or message.guid not in ("", self.state.guid)
            or message.user_id not in ("", self.state.user_id)
            or self._turns.has_ended(payload.session_id, payload.prompt_id)
        ):
            return None
        return work

    def _is_past(self, message: Update | PromptResponse) -> bool:
        """Of no active turn: it is of one that has ended, or not this device's at all."""
        session_id, turn_id = message.payload.session_id, message.payload.prompt_id
        if message.guid not in ("", self.state.guid):
            kind, name = "device", message.guid or ""
        elif message.user_id not in ("", self.state.user_id):
            kind, name = "user", message.user_id or ""
        elif (
            turn_id in self.state.cancels
            or session_id in self.state.stopped
            or self._turns.is_past(session_id, turn_id)
        ):
            return True
        elif self._turns.open_turns(session_id) is None:
            kind, name = "session", session_id
        else:
            kind, name = "turn", turn_id
        self.out.append(actions.Refuse(kind, name))
        return False

    # Inputs: its line, and time

    def line_up(self) -> None:
        """What the device was told to end may not have reached it. What it has not spoken of goes
        out again: it has the same id then. An app that has lost the answer speaks of neither."""
        self.state.is_up = True
        self.state.silent.clear()
        self.state.returned = set(self.state.current.values())
        for work in self.state.work.values():
            work.has_news = False  # what it said before the break is no news of this line
        for cancel in self.state.cancels.values():
            self._send(cancel)
        self.out.append(actions.Resumed(self.at_work.heard()))

    def line_down(self) -> None:
        self.state.is_up = False

    def tick(self, now_s: float, *, is_stalled: bool = False) -> None:
        """Once a second: turns that have ended here, cancels that were not heeded, and turns that
        the device has lost. `is_stalled`: it is we who do not listen."""
        for session_id, turn_id in list(self.state.current.items()):
            if self._turns.has_ended(session_id, turn_id):
                self._leave(session_id, turn_id)
            elif self.state.grace.get(turn_id, now_s) < now_s:
                self._end(session_id, turn_id, "execution_complete", cancelled=True)
            elif not self.state.is_up or is_stalled:
                self.state.silent.pop(turn_id, None)  # how long it may be away is another question
            elif self._is_lost(session_id, turn_id, now_s):
                why = f"the device said nothing of this turn for {self._patience_s(turn_id):.0f} s"
                if turn_id in self.state.returned:
                    why += " after its line came back: its answer is lost"
                self._end(session_id, turn_id, "execution_error", error=why, code=DEVICE_SILENT)

    def _is_lost(self, session_id: str, turn_id: str, now_s: float) -> bool:
        """An app that was restarted, or whose answer went into a broken line, never speaks of its
        turn again, and others wait."""
        work = self.state.work[session_id]
        if work.has_news:
            work.has_news = False
            self.state.silent[turn_id] = now_s
            self.state.returned.discard(turn_id)
        return now_s - self.state.silent.setdefault(turn_id, now_s) > self._patience_s(turn_id)

    def _patience_s(self, turn_id: str) -> float:
        bounds = self._bounds
        return bounds.returned_silence_s if turn_id in self.state.returned else bounds.silence_s

    def _end(self, session_id: str, turn_id: str, kind: str, **fields: Any) -> None:
        """The device has it, and may yet say its end."""
        self.out.append(actions.Finish(session_id, turn_id, kind, fields, is_late=True))

    # Inputs: what it is to be told

    def deliver(self, command: Command, now_s: float) -> None:
        """What AGP has no words for (`Answer`, `Forward`, most of `Configure`) is left out."""
        match command:
            case Start():
                self._choose(
                    command.session_id,
                    agent_app_of(
                        command.agent_config,
                        command.runtime_type,
                        is_openclaw=command.openclaw_config is not None,
                        chars_max=self._bounds.app_chars_max,
                    ),
                )
            case Configure():
                if "agent_app" in command.patch:
                    app = checked_app(command.patch["agent_app"], self._bounds.app_chars_max)
                    self._choose(command.session_id, app)
            case Say():
                self._say(command)
            case Cancel():
                self._cancel(command.session_id, now_s)
            case Stop():
                self._stop(command.session_id)

    def _choose(self, session_id: str, app: str | None) -> None:
        if app is not None:
            self.state.apps[session_id] = app
        else:
            self.state.apps.pop(session_id, None)

    def _say(self, say: Say) -> None:
        session_id, turn_id = say.session_id, say.turn_id
        before = self.state.current.get(session_id)
        if before not in (None, turn_id):
            self._leave(session_id, str(before))
        work = self._begin(session_id, turn_id)
        self.state.cancels.pop(turn_id, None)
        if work is not None and not work.heard and turn_id not in self.state.grace:
            self._send(
                prompt_of(
                    say,
                    self.state.guid,
                    self.state.user_id,
                    self._app(session_id),
                    attachments_max=self._bounds.attachments_max,
                )
            )

    def _cancel(self, session_id: str, now_s: float) -> None:
        turn_id = self.state.current.get(session_id)
        if turn_id is not None and not self._turns.has_ended(session_id, turn_id):
            self.state.grace.setdefault(turn_id, now_s + self._bounds.cancel_grace_s)
            self._send_cancel(session_id, turn_id)

    def _stop(self, session_id: str) -> None:
        turn_id = self.state.current.get(session_id)
        if turn_id is not None:
            self._leave(session_id, turn_id)
        for late in self._turns.late_turns(session_id):
            # The core may not have heard yet that the device has said its end.
            if late not in self.state.cancels and late not in self.state.settled:
                self._send_cancel(session_id, late)
        self.state.apps.pop(session_id, None)
        keep(self.state.stopped, session_id, None, self._bounds.cancels_kept)
        self.out.append(actions.Stopped(session_id))

    # From one prompt to the next

    def _begin(self, session_id: str, turn_id: str) -> Inward | None:
        """The turn is the active one; None if its session is not this device's any more."""
        open_turns = self._turns.open_turns(session_id)
        if open_turns is None:
            return None
        self.state.stopped.pop(session_id, None)
        self.state.current[session_id] = turn_id
        return self.at_work.begin(session_id, turn_id, open_turns)

    def _leave(self, session_id: str, turn_id: str) -> None:
        """An active turn has ended here: the device may still be busy with it."""
        if turn_id not in self.state.cancels:
            self._send_cancel(session_id, turn_id)
        self._forget(session_id, turn_id)

    def _forget(self, session_id: str, turn_id: str) -> None:
        if self.state.current.get(session_id) == turn_id:
            del self.state.current[session_id]
        self.at_work.drop(session_id)
        self.state.grace.pop(turn_id, None)
        self.state.silent.pop(turn_id, None)
        self.state.returned.discard(turn_id)

    def _ended_late(self, session_id: str, turn_id: str) -> None:
        """The device has said the end of a turn that ended here: it does not run it any more."""
        self.state.cancels.pop(turn_id, None)
        keep(self.state.settled, turn_id, None, self._bounds.cancels_kept)
        self.out.append(actions.Settled(session_id, turn_id))
        if self.state.current.get(session_id) == turn_id:
            self._forget(session_id, turn_id)

    def _settle_all(self, session_id: str) -> None:
        """It has answered a prompt of this session: it runs no earlier one either."""
        for turn_id, cancel in list(self.state.cancels.items()):
            if cancel.payload.session_id == session_id:
                del self.state.cancels[turn_id]
                self.out.append(actions.Settled(session_id, turn_id))

    # Words

    def _send(self, message: agp.Prompt | agp.Cancel) -> None:
        if self.state.is_up:
            self.out.append(actions.Send(message))

    def _send_cancel(self, session_id: str, turn_id: str) -> None:
        self._send(self._note_cancel(session_id, turn_id, self._app(session_id)))

    def _note_cancel(self, session_id: str, turn_id: str, app: str) -> agp.Cancel:
        cancel = cancel_of(session_id, turn_id, self.state.guid, self.state.user_id, app)
        keep(self.state.cancels, turn_id, cancel, self._bounds.cancels_kept)
        return cancel

    def _app(self, session_id: str) -> str:
        """What the session's agent asks for, else the first that the device was registered
        with."""
        return self.state.apps.get(session_id) or self.state.default_app
