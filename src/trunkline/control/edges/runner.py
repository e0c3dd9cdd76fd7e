"""Does what the pure side of a machine's wire wants done (`wire/actions.py`), in its order.

What concerns the core or the log is the same for every wire and done here; the edge does the rest.
"""

from collections.abc import Callable

import structlog

from trunkline.control.clock import Clock
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.wire import actions
from trunkline.wire.actions import Action

_log = structlog.get_logger(__name__)


class Runner:
    """Of one machine."""

    def __init__(
        self,
        machines: Machines,
        log: Log,
        clock: Clock,
        machine: Machine,
        out: list[Action],
        own: Callable[[Action], None],
    ) -> None:
        """`out`: where the wire leaves its actions. `own`: does those that are the edge's."""
        self._machines = machines
        self._log = log
        self._clock = clock
        self._machine = machine
        self._out = out
        self._own = own
        self._is_running = False

    def run(self) -> None:
        """What an action leads to is done behind those that are there already."""
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._out:
                self._do(self._out.pop(0))
        finally:
            self._is_running = False

    def _do(self, action: Action) -> None:
        machine = self._machine
        match action:
            case actions.Write():
                log = machine.logs.get(action.session_id)
                if log is not None:
                    self._machines.write(machine, log, action.line)
            case actions.Warn():
                self._warn(action)
            case actions.Finish():
                with machine.input() as core:
                    core.finish(
                        action.session_id,
                        action.turn_id,
                        action.kind,
                        is_late=action.is_late,
                        **action.fields,
                    )
            case actions.Settled():
                with machine.input() as core:
                    core.settled(action.session_id, action.turn_id)
            case actions.Resumed():
                with machine.input() as core:
                    core.resumed(action.turns)
            case actions.NotStarted():
                _log.warning("session not started", session=action.session_id, machine=machine.id)
                with machine.input() as core:
                    core.not_started(action.session_id, action.why, action.code)
            case actions.Stopped():
                with machine.input() as core:
                    core.stopped(action.session_id)
            case _:
                self._own(action)

    def _warn(self, action: actions.Warn) -> None:
        log = self._machine.logs.get(action.session_id)
        if log is not None:
            line = events.make(
                "session_status", self._clock(), machine="online", problems=[action.problem]
            )
            self._log.append(log, line)
