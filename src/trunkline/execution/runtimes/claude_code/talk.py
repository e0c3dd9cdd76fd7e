"""What Claude Code says, passed on: as events of the turn that runs, or of none; and when a turn of
its is over.

The program ends its work with a `result`, but may go on by itself: a sub-agent in the background
reports later. It then says `running`, and `idle` when nothing is left to do.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.runtimes.claude_code import output
from trunkline.execution.runtimes.claude_code.output import Line, count_of
from trunkline.execution.runtimes.claude_code.spending import Spending
from trunkline.execution.runtimes.claude_code.translator import Translator
from trunkline.execution.runtimes.hosted.program import Emit
from trunkline.execution.runtimes.hosted.turn import Turn

_OUTPUT = "claude_output"
_NEVER_RAW = frozenset(("session_status",))
"""What the control plane knows better than any program: those lines travel by themselves."""
_RAW_BYTES_MAX = limits.EVENT_BYTES_MAX * 3 // 4
_EARLIER: Json = {"protocol": "yeaft"}
"""In the place of a line that an earlier event has."""


class Talk:
    """Of one conversation, over all the processes that it had. `emit`: for what the program says
    while no turn runs. `on_named`: the program has given the conversation another name."""

    def __init__(
        self,
        session_id: str,
        emit: Emit,
        control: ControlPlane,
        spending: Spending,
        on_named: Callable[[], None],
    ) -> None:
        self._session_id = session_id
        self._emit = emit
        self._control = control
        self._on_named = on_named
        self.spending = spending
        self.translator = Translator()
        self.turn: Turn | None = None
        self.is_heard = False
        """Whether the program has said something since the turn began."""
        self._result: Line | None = None
        self._has_states = False
        self._over: asyncio.Future[Line] = asyncio.get_running_loop().create_future()

    def begin(self, turn: Turn) -> "asyncio.Future[Line]":
        """The result that ends the turn, when it is there."""
        self.turn = turn
        self.translator.begin()
        self.is_heard = False
        self._result = None
        self._has_states = False
        self._over = asyncio.get_running_loop().create_future()
        return self._over

    def end(self) -> None:
        self.turn = None

    def take(self, line: Line, text: bytes) -> None:
        """One line of the program, which is `text`."""
        if line.subtype == "session_state_changed":
            self._state(line)
        self.is_heard = True
        if line.is_private:
            return
        name = self.translator.session_id
        self._tell(self.translator.events(line), text)
        if self.translator.session_id != name:
            self._on_named()
        if line.type == output.RESULT:
            self._done(line)

    def _tell(self, events: list[tuple[str, Json]], text: bytes) -> None:
        """Each line travels once, unchanged, with the first event that is made of it."""
        emit = self._emit if self.turn is None else self.turn.emit
        data: Any = msgspec.Raw(output.passable(text))
        message = {"type": _OUTPUT, "conversationId": self._session_id, "data": data}
        raw: Json | None = {"protocol": "yeaft", "message": message}
        if len(text) > _RAW_BYTES_MAX:
            raw = None  # its event would be cut, and be no use to anybody
        elif not events or events[0][0] in _NEVER_RAW:
            emit("foreign", protocol="yeaft", name=_OUTPUT, raw=raw)
            raw = _EARLIER
        for kind, fields in events:
            emit(kind, **fields, raw=None if kind in _NEVER_RAW else raw)
            raw = raw and _EARLIER

    def _done(self, line: Line) -> None:
        self._count(line)
        is_own = not isinstance(line.origin, dict)
        # What the program did by itself ends no turn, unless that has its own result already.
        if is_own or self._result is not None:
            self._result = line
        if not self._has_states:
            self._finish()

    def _state(self, line: Line) -> None:
        self._has_states = True
        if line.state == "idle":
            self._finish()

    def _finish(self) -> None:
        result = self._result
        if result is not None and not count_of(result.queued_turn_count) and not self._over.done():
            self._over.set_result(result)
            self.turn = None

    def _count(self, line: Line) -> None:
        calls, self.translator.calls = self.translator.calls, {}
        for spent in self.spending.share(line, self.translator.model):
            if self.turn is None:
                tokens = {"tokens_in": spent.tokens_in, "tokens_out": spent.tokens_out}
                self._control.fire_and_forget("usage_report", model=spent.model, **tokens)
                continue
            self.turn.used(
                spent.model,
                calls=calls.get(spent.model, 1),
                tokens_in=spent.tokens_in,
                tokens_out=spent.tokens_out,
                cache_read_tokens=spent.cache_read_tokens,
                cost_usd=spent.cost_usd,
            )
