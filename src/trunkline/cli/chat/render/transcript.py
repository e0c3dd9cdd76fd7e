"""A session as it is read in a terminal: what is finished goes into the scrollback and never
changes; what is not stands in the tail, which is drawn anew. Text in, text out, no I/O.

Persons of a group answer side by side: shown piece by piece, their words would run into each other,
so each answer is shown whole, under its person's name.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from trunkline.cli.chat.questions import question
from trunkline.cli.chat.render import notices
from trunkline.cli.chat.render.calls import Call
from trunkline.cli.chat.render.diff import Change, change_of, merged, shown
from trunkline.cli.chat.render.folds import Folds
from trunkline.cli.chat.render.lanes import Lane, Lanes
from trunkline.cli.chat.render.layout import Line, cells, clip, indented, safe, safe_lines, wrap
from trunkline.cli.chat.render.running import Running, name_of
from trunkline.cli.chat.render.scroll import Scroll
from trunkline.cli.chat.render.speech import Speech
from trunkline.cli.chat.render.turns import Clock, Turn, Turns
from trunkline.cli.chat.render.values import Data, mapping, text, word
from trunkline.cli.chat.render.waiting import Message, Waiting, message_of
from trunkline.cli.human import duration

if TYPE_CHECKING:
    from trunkline.client import Event

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_CHANGES_MAX = 200
"""Files whose changes are kept, the newest ones."""
_THOUGHTS = ("", "reasoning", "openclaw")
"""What comes in pieces; other stages are sentences of their own."""


class Transcript:
    """`clock`: seconds, of any beginning."""

    def __init__(
        self,
        *,
        width: Callable[[], int],
        colours: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = Clock(clock)
        self._scroll = Scroll(width, colours=colours)
        self._folds = Folds()
        self._speech = Speech(self._scroll, self._folds, self._clock, colours=colours)
        self._lanes = Lanes()
        self._calls = Running(self._clock)
        self._turns = Turns(self._clock)
        self._waiting = Waiting()
        self._plans: dict[str, notices.Plan] = {}
        self._changes: dict[str, Change] = {}
        self._questions: set[str] = set()
        self._note = ""
        self._is_away = False

    def feed(self, event: "Event") -> str:
        """What is finished by that event: whole lines; empty for most."""
        data = event.data
        kind = word(data.get("type"))
        self._clock.read(data)
        if kind != "session_status":
            self._note = ""
        match kind:
            case "user_message":
                self._user_message(data)
            case "steer_taken" | "steer_missed":
                self._steered(kind, data)
            case "execution_complete" | "execution_error":
                self._opened(data)
                self._turn_end(kind, data)
            case "foreign":
                pass
            case _:
                self._opened(data)
                self._turns.begin(data)
                self._of_lane(kind, data, self._lanes.of(data))
        return self._scroll.take()

    def end(self) -> str:
        """What is still open, as far as it came: nothing more is fed for now."""
        for lane in (*self._lanes.others, self._lanes.main):
            self._speech.interrupt(lane)
        return self._scroll.take()

    def unfold(self) -> str:
        """The last thing that was folded, whole; again, the one before it."""
        if found := self._folds.before():
            self._scroll.put("unfolded", found.unfolded(self._scroll.columns))
        return self._scroll.take()

    def diff(self) -> str:
        """What became of the files whose changes were shown, whole; empty if none did."""
        for change in self._changes.values():
            self._scroll.put("unfolded", shown(change, self._scroll.columns, is_whole=True))
        return self._scroll.take()

    def tail(self) -> str:
        """What is not finished: the open block, who speaks, thinks and works, what waits."""
        width, main = self._scroll.columns, self._lanes.main
        mark = _SPINNER[int(self._clock.seconds() * 10) % len(_SPINNER)]
        block = self._speech.open_block(main, width)
        lines = list(block)
        for lane in (*self._lanes.others, main):
            lines += self._speech.live(lane, mark, width)
        lines += self._calls.live(mark, width)
        since = self._turns.since()
        if self._note and since is not None:  # nobody waits for what is done without a turn
            lines.append(clip([(f"{mark} {safe(self._note)}", "dim")], width))
        elif not lines and not self._questions and since is not None:
            lines.append([(f"{mark} working · {duration(since)}", "dim")])
        lines += self._waiting.live(width)
        return self._scroll.below("text" if block else "call", lines)

    def _of_lane(self, kind: str, data: Data, lane: Lane) -> None:
        match kind:
            case "text_chunk":
                self._speech.say(lane, text(data.get("content")))
            case "thinking":
                self._think(lane, data)
            case "tool_call_start" | "mcp_call_start" | "skill_call_start":
                self._begin(kind, data, lane)
            case "tool_call_progress":
                self._call(data, lane).put_out(text(data.get("content")))
            case "tool_call_complete" | "mcp_call_complete" | "skill_call_complete":
                self._return(kind, data, lane)
            case "approval_request":
                self._ask(data, lane)
            case "approval_resolved":
                self._resolve(data, lane)
            case "file_created" | "file_changed":
                self._change(data, lane)
            case "plan":
                self._plan(data, lane)
            case "usage":
                self._turns.used(data)
            case "context_compacted":
                self._aside(lane, notices.compacted(data, self._scroll.columns))
            case "session_status":
                self._status(data)
            case "session_closed":
                self._aside(lane, [[("the session was closed", "dim")]])
            case "person_start":
                by = word(mapping(data.get("group")).get("by"))
                asked = f"is asked by {safe(by)}" if by else "is asked"
                self._aside(lane, wrap([(asked, "dim")], self._scroll.columns))
            case "person_complete" | "person_error":
                self._person_end(kind, data, lane)

    def _think(self, lane: Lane, data: Data) -> None:
        piece = text(data.get("content"))
        if word(data.get("stage")) in _THOUGHTS:
            self._speech.think(lane, piece)
        else:
            rows = wrap([(safe_lines(piece.strip()), "dim")], self._scroll.columns - 2)
            self._aside(lane, indented(rows, ("· ", "dim")))

    def _begin(self, kind: str, data: Data, lane: Lane) -> Call:
        within = self._calls.by_id(data)
        if within is not None:
            within.skill = safe(word(data.get("skill_name")))
            return within
        self._speech.interrupt(lane)
        return self._calls.begin(data, lane.who, is_skill=kind == "skill_call_start")

    def _call(self, data: Data, lane: Lane) -> Call:
        """One whose start was missed begins."""
        return self._calls.find(data) or self._begin("tool_call_start", data, lane)

    def _return(self, kind: str, data: Data, lane: Lane) -> None:
        call = self._call(data, lane)
        if kind == "skill_call_complete" and call.name != name_of(data):
            return  # the call around it has its own end
        for other in self._lanes.others:
            if other.parent and other.parent == data.get("tool_call_id"):
                call.agent = other.name
                self._speech.interrupt(other)
        call.returned(data)
        self._finish(call)

    def _finish(self, call: Call) -> None:
        self._calls.finish(call)
        if call.is_plan and call.state == "done":
            return
        self._folds.add(call)
        self._scroll.put("call", call.folded(self._scroll.columns))

    def _ask(self, data: Data, lane: Lane) -> None:
        name = word(data.get("request_id")) or word(data.get("approval_id"))
        if name in self._questions:
            return  # asked again after a restart
        self._questions |= {name} if name else set()
        self._speech.interrupt(lane)
        self._scroll.put("question", notices.asked(question(data), self._scroll.columns))

    def _resolve(self, data: Data, lane: Lane) -> None:
        name = word(data.get("request_id")) or word(data.get("approval_id"))
        self._questions.discard(name)
        self._aside(lane, notices.resolved(data, self._scroll.columns))

    def _change(self, data: Data, lane: Lane) -> None:
        change = change_of(data)
        call = self._calls.by_id(data)
        if change is None:
            return
        before = self._changes.pop(change.path, None)
        [self._changes[change.path]] = merged([before] if before else [], change)
        if len(self._changes) > _CHANGES_MAX:
            del self._changes[next(iter(self._changes))]
        if call is not None:
            call.changes = merged(call.changes, change)
        else:
            self._aside(lane, shown(change, self._scroll.columns, is_whole=False))

    def _plan(self, data: Data, lane: Lane) -> None:
        if call := self._calls.by_id(data):
            call.is_plan = True
        plan = self._plans.setdefault(lane.name, notices.Plan())
        if lines := plan.lines(data, self._scroll.columns):
            self._speech.interrupt(lane)
            self._scroll.put("plan", self._named(lane, lines))

    def _status(self, data: Data) -> None:
        if data.get("lost_events"):
            self._speech.interrupt(self._lanes.main)
        if lines := notices.status(data, self._scroll.columns):
            self._scroll.put("note", lines)
        elif data.get("message"):
            self._note = text(data["message"])
        self._turns.is_lost |= bool(data.get("lost_events"))
        was_away, machine = self._is_away, data.get("machine")
        if machine in ("online", "offline"):
            self._is_away = machine == "offline"
        if self._is_away != was_away and not lines:
            said = "the machine is offline" if self._is_away else "the machine is back"
            self._scroll.put("note", [[(said, "yellow" if self._is_away else "dim")]])

    def _user_message(self, data: Data) -> None:
        message = message_of(data)
        name = word(data.get("message_id")) if message.steers else word(data.get("turn_id"))
        is_idle = self._turns.since() is None
        if name and (message.steers or not is_idle):
            self._waiting.add(name, message)
            return
        if name:
            self._turns.begin(data)
        self._said(message)

    def _opened(self, data: Data) -> None:
        """The first event of a turn: its message has been read."""
        if message := self._waiting.take(word(data.get("turn_id"))):
            self._turns.begin(data)
            self._said(message)

    def _steered(self, kind: str, data: Data) -> None:
        message = self._waiting.take(word(data.get("message_id")))
        if message is None:
            return
        if kind == "steer_taken":
            self._said(message)
        else:
            turn = word(data.get("turn_id"))
            self._waiting.add(turn, Message(message.said, turn))

    def _said(self, message: Message, after: str = "") -> None:
        self._speech.interrupt(self._lanes.main)
        self._scroll.put("user", message.lines(self._scroll.columns, after))

    def _person_end(self, kind: str, data: Data, lane: Lane) -> None:
        self._speech.say(lane, lane.missing(text(data.get("content")), is_lost=self._turns.is_lost))
        self._speech.interrupt(lane)
        if kind == "person_error":
            self._aside(lane, notices.failure(data, self._scroll.columns))
        elif data.get("cancelled"):
            self._aside(lane, [[("stopped", "yellow")]])

    def _turn_end(self, kind: str, data: Data) -> None:
        turn = self._turns.end(data)
        if turn is None:
            return
        for call in self._calls.of_turn(turn.name):
            self._finish(call)
        others = self._lanes.end(turn.name)
        for lane in others:
            self._speech.interrupt(lane)
        main = self._lanes.main
        if kind == "execution_complete" and all(lane.is_agent for lane in others):
            answer = text(data.get("final_response", data.get("content")))
            self._speech.say(main, main.missing(answer, is_lost=self._turns.is_lost))
        self._speech.interrupt(main)
        main.said, self._turns.is_lost = "", False
        if kind == "execution_error" or data.get("cancelled"):
            for message in self._waiting.dropped(turn.name):
                self._said(message, "not read: it ended before")
        self._summary(kind, data, turn)

    def _summary(self, kind: str, data: Data, turn: Turn) -> None:
        if kind == "execution_error":
            self._scroll.put("error", notices.failure(data, self._scroll.columns))
        is_over = kind == "execution_complete"
        facts = turn.usage.facts(self._turns.seconds(turn)) if is_over or turn.usage else ""
        if data.get("cancelled"):
            self._scroll.put(
                "end", [[("stopped", "yellow"), (f" · {facts}" if facts else "", "dim")]]
            )
        elif facts:
            self._scroll.put("end", wrap([(facts, "dim")], self._scroll.columns))

    def _aside(self, lane: Lane, lines: list[Line]) -> None:
        if lines:
            self._speech.interrupt(lane)
            self._scroll.put("note", self._named(lane, lines))

    def _named(self, lane: Lane, lines: list[Line]) -> list[Line]:
        """With whose they are before them, or above where that would be too wide."""
        first = [*lane.who, *lines[0]]
        fits = cells(first) <= self._scroll.columns
        return [first, *lines[1:]] if fits else [lane.who, *lines]
