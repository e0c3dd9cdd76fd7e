"""A session's log as a file: everything, or the conversation for people to read. Page by page, so
that a long one needs no more memory than a short one.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from trunkline.control.clock import Clock
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.sessions import session_file
from trunkline.control.sessions.records import Session
from trunkline.wire.errors import Malformed

_INPUT_CHARS = 300
_RESULT_CHARS = 2_000  # of what a tool said: the whole is in the other format

Json = dict[str, Any]


class Export:
    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock

    async def lines(self, session: Session, log: SessionLog) -> AsyncIterator[bytes]:
        """Everything up to now, to be kept or imported (`session_file`)."""
        upto, counts = log.last_id, session_file.Counts(events=0, notes=0)
        with log.kept():  # else there could be a hole in it, which nobody would see
            yield session_file.head(session, self._clock())
            async for page in self._log.entries(session.id, 0, 0):
                entries = [one for one in page if one.event_id <= upto]
                counts.notes += sum(1 for one in entries if one.note)
                counts.events += sum(1 for one in entries if not one.note)
                yield b"".join(map(session_file.entry, entries))
                if len(entries) < len(page):
                    break
        yield session_file.end(counts)

    async def markdown(self, session: Session, log: SessionLog) -> AsyncIterator[bytes]:
        book = _Book(session.title or "Session")
        async for page in self._log.pages(log, 0, log.last_id):
            for _, line in page:
                book.take(line)
            yield book.written().encode("utf-8", "replace")
        book.end_answer()
        yield book.written().encode("utf-8", "replace")


class _Book:
    """Takes events in their order, and writes what they say."""

    def __init__(self, title: str) -> None:
        self._out = [f"# {' '.join(title.split())}\n"]
        self._said: list[str] = []
        """Pieces of an answer that is not over."""
        self._spoke: set[str] = set()
        """The open turns that have answered in pieces."""

    def written(self) -> str:
        out, self._out = self._out, []
        return "".join(out)

    def take(self, line: str) -> None:
        try:
            event = events.object_of(line)
        except Malformed:
            return
        if "parent_tool_call_id" in event:
            return  # what a sub-agent did is in the result of the call
        match event.get("type"):
            case "text_chunk":
                self._said.append(_text(event, "content"))
                self._spoke.add(_text(event, "turn_id"))
            case "user_message":
                self._head("You", event)
                self._paragraph(_text(event, "content"))
                for one in event.get("attachments") or ():
                    if isinstance(one, dict):
                        self._paragraph(f"*Attached: {_text(one, 'name')}*")
            case "tool_call_complete":
                self._called(event)
            case "execution_complete":
                self._ended(event)
            case "execution_error":
                self._head("Error", event)
                self._paragraph(f"{_text(event, 'code')} {_text(event, 'error')}".strip())
            case "person_complete":
                person = event.get("person")
                self._head(_text(person, "name") if isinstance(person, dict) else "Person", event)
                self._paragraph(_text(event, "content"))
            case "approval_request":
                self._paragraph(f"*Asked: {' '.join(_text(event, 'message').split())}*")
            case "approval_resolved":
                self._paragraph("*Allowed*" if event.get("confirmed") is True else "*Denied*")

    def end_answer(self) -> None:
        text, self._said = "".join(self._said), []
        if text.strip():
            self._out.append(f"\n## Agent\n\n{text.strip()}\n")

    def _ended(self, event: Json) -> None:
        turn_id, has_spoken = _text(event, "turn_id"), bool(self._said)
        self.end_answer()
        answer = _text(event, "content") or _text(event, "final_response")
        if not has_spoken and turn_id not in self._spoke and answer:
            self._head("Agent", event)
            self._paragraph(answer)
        self._spoke.discard(turn_id)
        if event.get("cancelled") is True:
            self._paragraph("*Stopped*")

    def _called(self, event: Json) -> None:
        self.end_answer()
        given = msgspec.json.encode(event.get("tool_input") or {}).decode()
        failed = " (failed)" if event.get("is_error") is True else ""
        name = _text(event, "tool_name").replace("`", "'")
        self._paragraph(f"**{name}**{failed} {_code(_cut(given, _INPUT_CHARS))}")
        result = event.get("result")
        text = result if isinstance(result, str) else msgspec.json.encode(result).decode()
        if text.strip() and result is not None:
            self._paragraph(_fenced(_cut(text, _RESULT_CHARS)))

    def _head(self, name: str, event: Json) -> None:
        self.end_answer()
        self._out.append(f"\n## {' '.join(name.split())}\n")

    def _paragraph(self, text: str) -> None:
        self.end_answer()
        self._out.append(f"\n{text.strip()}\n")


def _text(event: Json, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else f"{text[:chars_max]}…"


def _ticks(text: str, least: int) -> str:
    """More of them in a row than the text has."""
    longest = run = 0
    for one in text:
        run = run + 1 if one == "`" else 0
        longest = max(longest, run)
    return "`" * max(least, longest + 1)


def _code(text: str) -> str:
    ticks = _ticks(text, 1)
    return f"{ticks} {text} {ticks}"


def _fenced(text: str) -> str:
    ticks = _ticks(text, 3)
    return f"{ticks}\n{text.rstrip()}\n{ticks}"
