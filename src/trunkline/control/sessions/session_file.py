"""A session as a file: JSON Lines, complete, to be kept or to be read into another system. Pure.

The first line says what it is and has the session's record; then comes the log in its order, one
event or note a line; the last line says how many there were, so that a file that was cut off is
told from a whole one. docs/guide/export.md has the form.
"""

import json
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from trunkline import limits
from trunkline.control.errors import InvalidRequest, TooLarge
from trunkline.control.log import events
from trunkline.control.log.store import Logged
from trunkline.control.redaction import is_secret_name, redact
from trunkline.control.sessions.records import Session
from trunkline.wire.errors import Malformed

Json = dict[str, Any]

FORMAT = "trunkline-session"
VERSION = 1
LINE_BYTES_MAX = 32 * limits.MIB  # an event is a frame at most; a note has what was attached
_ID_MAX = 2**53 - 1  # what every JSON reader can tell from its neighbours
_DEPTH_MAX = 20
_SECRETS = ("env", "headers")
_RECORD = (
    *("id", "title", "runtime_type", "agent_config", "session_config", "openclaw_config"),
    *("status", "pinned", "archived", "created_at", "updated_at", "last_activity_at"),
    *("forked_from", "user_id"),
)

_Id = Annotated[int, Meta(ge=1, le=_ID_MAX)]
_Ms = Annotated[int, Meta(ge=0, le=_ID_MAX)]
_Count = Annotated[int, Meta(ge=0, le=_ID_MAX)]


class Record(msgspec.Struct, kw_only=True):
    """What is read of a session's record; the rest is for people."""

    id: Annotated[str, Meta(max_length=limits.ID_CHARS_MAX)] = ""
    title: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)] | None = None
    runtime_type: Annotated[str, Meta(max_length=40)] | None = None
    agent_config: Json = {}
    session_config: Json = {}


class Counts(msgspec.Struct, kw_only=True):
    events: _Count
    notes: _Count


class _Line(msgspec.Struct, kw_only=True):
    format: str | UnsetType = UNSET
    version: Any = None
    session: Record | UnsetType = UNSET
    id: _Id | UnsetType = UNSET
    at: _Ms | UnsetType = UNSET
    event: msgspec.Raw | UnsetType = UNSET
    note: _Id | UnsetType = UNSET
    after: _Count | UnsetType = UNSET
    end: Counts | UnsetType = UNSET


class Event(msgspec.Struct, frozen=True):
    """An event of the file: `text` as its log had it."""

    at: int
    text: str


# Writing


def head(session: Session, exported_at: int) -> bytes:
    """The first line. What may be secret in a configuration is left out."""
    record = {name: getattr(session, name) for name in _RECORD}
    for name in ("agent_config", "session_config", "openclaw_config"):
        record[name] = without_secrets(record[name])
    known = {"format": FORMAT, "version": VERSION, "exported_at": exported_at}
    return _line({**known, "session": record})


def entry(one: Logged) -> bytes:
    if one.note:
        shown = f'"note":{one.note},"after":{one.event_id},"at":{one.at},"body":{one.text}'
    else:
        shown = f'"id":{one.event_id},"at":{one.at},"event":{_written(one.text)}'
    return f"{{{shown}}}\n".encode("utf-8", "replace")


def end(counts: Counts) -> bytes:
    return _line({"end": counts})


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _written(line: str) -> str:
    """An object as it is; whatever else a machine has logged, as a JSON string."""
    try:
        events.object_of(line)
    except Malformed:
        return msgspec.json.encode(line.encode("utf-8", "replace").decode()).decode()
    return line


def without_secrets(value: Any, depth: int = 0) -> Any:
    """A configuration as it may leave the system."""
    if depth > _DEPTH_MAX:
        return None
    if isinstance(value, dict):
        return {
            name: without_secrets(one, depth + 1)
            for name, one in value.items()
            if not (isinstance(name, str) and (is_secret_name(name) or name in _SECRETS))
        }
    if isinstance(value, list):
        return [without_secrets(one, depth + 1) for one in value]
    return redact(value) if isinstance(value, str) else value


# Reading

_decoder = msgspec.json.Decoder(_Line)


class Reading:
    """Takes a file's lines in their order, and refuses what is not one of ours. Says where."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self._number = 0
        self._last_id = 0
        self._counts = Counts(events=0, notes=0)
        self._is_over = False

    def take(self, raw: bytes) -> Event | None:
        """The event of that line; None for other lines."""
        self._number += 1
        if not raw.strip():
            return None
        if self._is_over:
            raise self._wrong("something follows the line that ends the file")
        line = self._decoded(raw)
        if self.record is None:
            self._begin(line)
            return None
        if line.format is not UNSET:
            raise self._wrong("a second beginning")
        if line.end is not UNSET:
            if line.end != self._counts:
                told = f"{line.end.events} events and {line.end.notes} notes"
                found = f"{self._counts.events} and {self._counts.notes}"
                raise self._wrong(f"the file should have {told}, and has {found}")
            self._is_over = True
            return None
        if line.note is not UNSET:
            self._counts.notes += 1
            return None
        return self._event(line)

    def close(self) -> Record:
        """Behind the last line."""
        if self.record is None:
            raise self._wrong("there is nothing in it")
        if not self._is_over:
            raise self._wrong("the file has no end: it was cut off")
        return self.record

    def _decoded(self, raw: bytes) -> _Line:
        if len(raw) > LINE_BYTES_MAX:
            raise TooLarge(f"line {self._number} has more than {LINE_BYTES_MAX} bytes")
        if raw.startswith(b"\x1f\x8b"):
            raise self._wrong("it is compressed: unpack it first")
        try:
            raw.decode()
            return _decoder.decode(raw)
        except UnicodeDecodeError as error:
            raise self._wrong("it is not UTF-8") from error
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._wrong(str(error)[:200]) from error

    def _begin(self, line: _Line) -> None:
        if line.format != FORMAT:
            raise self._wrong("it is no session that was exported")
        if line.version != VERSION:
            raise self._wrong(
                f"it has version {str(line.version)[:20]}, and this Trunkline reads {VERSION}"
            )
        if line.session is UNSET:
            raise self._wrong("it says nothing of the session")
        self.record = line.session

    def _event(self, line: _Line) -> Event:
        if line.id is UNSET or line.event is UNSET or line.at is UNSET:
            raise self._wrong("it is neither an event nor a note")
        if line.id <= self._last_id:
            raise self._wrong(f"event {line.id} comes behind {self._last_id}")
        self._last_id = line.id
        self._counts.events += 1
        raw = bytes(line.event)
        if raw.startswith(b'"'):
            text = _plain(msgspec.json.decode(raw, type=str))
        elif raw.startswith(b"{"):
            text = raw.decode()
            try:
                events.examine(text)
            except Malformed as error:
                raise self._wrong(str(error)) from error
        else:
            raise self._wrong("an event is an object, or a text")
        return Event(line.at, text.replace("\r", " ").replace("\n", " "))

    def _wrong(self, problem: str) -> InvalidRequest:
        return InvalidRequest(f"line {max(self._number, 1)}: {problem}", code="INVALID_FILE")


def _plain(text: str) -> str:
    """What a machine has logged that is no JSON to everybody. An event with half of a character,
    which a cut-off answer may end with, becomes one that all can read."""
    try:
        if events.look(text) is None:
            return text
        said = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace").decode()
