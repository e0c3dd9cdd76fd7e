"""What a session leaves on disk for the next daemon: its turns, and how to start it again.

`turn.json`: a turn is open from its message to its terminal event, and one that waits for a person
survives a restart; ended ones are remembered for a while, so that a message that is sent again runs
once. `start.json` has no API keys: those come with the next `init`.
"""

from pathlib import Path

import msgspec

from trunkline.execution.checkpoint.reserve import check_room, disk_full, is_full
from trunkline.execution.errors import TurnError
from trunkline.execution.files import load_json, save_json
from trunkline.execution.session import ipc
from trunkline.wire.events import TERMINAL

TURNS_REMEMBERED_MAX = 50  # ended turns of a session: one that comes again is known

_TURNS = "turn.json"
_START = "start.json"


class OpenTurn(msgspec.Struct, kw_only=True):
    turn_id: str
    questions: list[str] = []
    """What a person was asked and has not answered."""
    calls: dict[str, str] = {}
    """The tool calls that these are about."""

    @property
    def waiting(self) -> bool:
        return bool(self.questions)


class _Record(msgspec.Struct, kw_only=True):
    open: list[OpenTurn] = []
    ended: list[str] = []


class _Event(msgspec.Struct):
    """As much of an event as concerns turns."""

    type: str = ""
    turn_id: str | None = None
    request_id: str | None = None
    tool_call_id: str | None = None
    parent_tool_call_id: str | None = None


_decoder = msgspec.json.Decoder(_Event)


class SavedTurns:
    """What is open, what was; every change is on disk before it is acted on."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _TURNS
        self._record = load_json(self._path, _Record, "a session's turns") or _Record()
        self._is_behind = False
        """The file is older than what is here: there was no room for it."""

    @property
    def open(self) -> list[OpenTurn]:
        return list(self._record.open)

    def has_ended(self, turn_id: str) -> bool:
        """As far as it is remembered."""
        return turn_id in self._record.ended

    @property
    def last_ended(self) -> str | None:
        return self._record.ended[-1] if self._record.ended else None

    @property
    def waiting(self) -> str | None:
        """The turn that waits for a person."""
        return next((turn.turn_id for turn in self._record.open if turn.waiting), None)

    def begin(self, turn_id: str) -> bool:
        """False for a turn that is open already. Raises TurnError: it was here before, or it could
        not be remembered, and might be run twice."""
        if self.has_ended(turn_id):
            # Nobody sends a turn again whose end has arrived: that end was lost with a daemon.
            raise TurnError(
                "MACHINE_RESTARTED",
                "the machine was restarted before the end of this turn was safe",
            )
        if any(turn.turn_id == turn_id for turn in self.open):
            return False
        folder = self._path.parent
        if folder.exists():
            check_room(folder)
        self._record.open.append(OpenTurn(turn_id=turn_id))
        problem = self._write()
        if problem is not None and is_full(problem):
            del self._record.open[-1]
            raise disk_full(folder, problem)
        return True

    def end(self, turn_id: str) -> None:
        self._record.open = [turn for turn in self._record.open if turn.turn_id != turn_id]
        if not self.has_ended(turn_id):
            self._record.ended.append(turn_id)
            del self._record.ended[:-TURNS_REMEMBERED_MAX]
        self._write()

    def saw(self, event: str) -> bool:
        """Keeps up with an event that goes to the readers; True when it ends a turn."""
        try:
            seen = _decoder.decode(event)
        except msgspec.MsgspecError:
            return False  # no event of ours; readers get it as it is
        named = [turn for turn in self._record.open if turn.turn_id == seen.turn_id]
        if seen.type in TERMINAL:
            # Without a name it is the end of the oldest: a session runs one turn at a time.
            ended = named or (self._record.open[:1] if seen.turn_id is None else [])
            for turn in ended:
                self.end(turn.turn_id)
            return bool(ended)
        for turn in named:
            questions = _questions(turn, seen)
            if questions != turn.questions:
                turn.calls = _calls(turn.calls, questions, seen)
                turn.questions = questions
                self._write()
        return False

    def settle(self) -> None:
        """Now and then: with room again, the file says what is so."""
        if self._is_behind:
            self._write()

    def _write(self) -> OSError | None:
        problem = save_json(self._path, self._record, "a session's turns")
        self._is_behind = problem is not None and is_full(problem)
        return problem


def _questions(turn: OpenTurn, event: _Event) -> list[str]:
    """What is left to be answered after that event. A call that goes on waits for nothing, and
    neither does an agent that speaks; other calls, and other agents, may run meanwhile."""
    name = event.request_id or ""
    match event.type:
        case "approval_request":
            return [*(one for one in turn.questions if one != name), name]
        case "approval_resolved":
            return [one for one in turn.questions if one != name]
        case "thinking" | "usage" | "session_status" | "steer_taken":
            return turn.questions
        case _ if call := event.tool_call_id:
            return [one for one in turn.questions if turn.calls.get(one) != call]
        case _ if event.parent_tool_call_id:
            return turn.questions
        case _:
            return []


def _calls(before: dict[str, str], questions: list[str], event: _Event) -> dict[str, str]:
    named = {**before, event.request_id or "": event.tool_call_id or ""}
    return {one: named[one] for one in questions if named.get(one)}


class _SavedStart(msgspec.Struct, kw_only=True):
    """As `start.json` has it."""

    runtime_type: str
    config: ipc.Start


def save_start(folder: Path, start: ipc.Start) -> None:
    config = msgspec.structs.replace(start, api_keys={}, turn_id=None, fork=None)
    kept = _SavedStart(runtime_type=start.runtime_type, config=config)
    save_json(folder / _START, kept, "a session's start")


def load_start(folder: Path) -> ipc.Start | None:
    saved = load_json(folder / _START, _SavedStart, "a session's start")
    if saved is None:
        return None
    return msgspec.structs.replace(saved.config, runtime_type=saved.runtime_type)
