"""Runs one AGP device: hands what happens to the pure `Device`, and does what that wants done.

Outlives the device's lines. Pieces of text go straight into the log.
"""

from collections.abc import Callable
from typing import Protocol

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.edges.agp.handover import Handover
from trunkline.control.edges.runner import Runner
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.secrets import Known
from trunkline.control.tuning import Tuning
from trunkline.wire import actions
from trunkline.wire.actions import Action
from trunkline.wire.agp import plain
from trunkline.wire.agp.commands import DEFAULT_APP
from trunkline.wire.agp.device import Bounds, Device
from trunkline.wire.agp.device_state import DeviceState
from trunkline.wire.agp.inward import CallBounds
from trunkline.wire.agp.messages import Downlink, PromptResponse, Update
from trunkline.wire.commands import Command
from trunkline.wire.repeats import Repeats


class Teller(Protocol):
    """The device's line, as far as it is spoken into here."""

    def tell(self, message: Downlink) -> None: ...


class AgpDevice:
    def __init__(
        self, core: Core, machine: Machine, known: Known, on_foreign: Callable[[str, str], None]
    ) -> None:
        self.machine = machine
        bounds = _bounds(core.tuning)
        repeats = Repeats(bounds.msg_ids_kept)
        state = DeviceState(known.guid, known.user_id, repeats, _default_app(known))
        self.talk = talk = Device(state, machine.core, bounds)
        self.line: Teller | None = None
        self.handover = Handover()
        self.now = core.now
        """What grace and silence are measured with."""
        self._core = core
        self._logs = machine.logs
        self._append = core.log.append
        self._clock = core.clock
        self._on_foreign = on_foreign
        """Told of a kind and an id that are not this device's to name."""
        self._runner = Runner(core.machines, core.log, core.clock, machine, talk.out, self._do)
        self._by_part, self._part_at = talk.at_work.by_part, talk.at_work.place

    def known_as(self, known: Known, apps: dict[str, str]) -> None:
        """What the records say of it, which may have changed while it was away."""
        self.talk.known_as(_default_app(known), apps)

    def texts(self, texts: list[str], start: int) -> int:
        """Pieces of text in their usual form, from `start` on, straight into the log: one tight
        loop. Where the first message stands that is anything else; the end, if there is none."""
        by_part, part_at, text_at = self._by_part, self._part_at, self.talk.text_at
        logs, is_new, to_line = self._logs, self.talk.state.repeats.is_new, plain.to_line
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
        lines = self.talk.update(message, ts)
        if lines:
            log = self._logs[message.payload.session_id]
            for line in lines:
                self._append(log, line)
        self._runner.run()
        return lines is not None

    def answer(self, message: PromptResponse) -> None:
        self.talk.answer(message, self._clock())
        self._runner.run()

    def deliver(self, command: Command) -> None:
        self.talk.deliver(command, self.now())
        self._runner.run()

    def line_up(self) -> None:
        """The core knows of it already."""
        self.talk.line_up()
        self._runner.run()

    def line_down(self, line: Teller) -> None:
        """Not that of another line which has taken over."""
        if self.line is line:
            self.line = None
            self.talk.line_down()

    def sweep(self) -> None:
        """Once a second."""
        self.talk.tick(self.now(), is_stalled=self._core.log.stalled is not None)
        self._runner.run()

    def _do(self, action: Action) -> None:
        match action:
            case actions.Send() if self.line is not None:
                self.line.tell(action.message)
            case actions.Refuse():
                self._on_foreign(action.kind, action.name)


def _default_app(known: Known) -> str:
    """The first that the device was registered with."""
    return next(iter(known.agent_apps), DEFAULT_APP)


def _bounds(tuning: Tuning) -> Bounds:
    return Bounds(
        cancel_grace_s=tuning.cancel_grace_s,
        silence_s=limits.AGP_TURN_SILENCE_S,
        returned_silence_s=tuning.agp_returned_silence_s,
        msg_ids_kept=limits.AGP_MSG_IDS_KEPT,
        cancels_kept=100,  # of a device, for when it returns
        streamed_chars_max=limits.MESSAGE_CHARS_MAX,  # for an answer that repeats no text
        tool_calls_kept=1_000,  # of a turn, whose names and ends are known
        tool_call=CallBounds(
            title_chars=500,  # every event of a call repeats it
            word_chars=40,  # a call's kind, and its status
            path_chars=4096,
            locations=100,
        ),
        attachments_max=limits.ATTACHMENTS_MAX,
        app_chars_max=limits.AGENT_APP_CHARS_MAX,
    )
