"""A session's events side by side: as they came from the machine, as the log has them, and as each
client protocol gets them, by the translators that clients are served with.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

import msgspec

from trunkline.control.core import Core
from trunkline.control.edges.myagent.translation import PieceMessage
from trunkline.control.edges.myagent.translation import translation as myagent_translation
from trunkline.control.edges.yeaft_web.translation import translation as yeaft_translation
from trunkline.control.errors import NotFound
from trunkline.control.log.feeds import Feeds, Message
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.tap import Frame
from trunkline.control.sessions.records import Session
from trunkline.wire import sse
from trunkline.wire.myagent.pieces import Block

_TEXT_CHARS_MAX = 64 * 1024  # of one text
_MESSAGES_MAX = 50  # that one event is for one protocol
_PAGE_CHARS_MAX = 4 * 1024 * 1024  # of all texts


class Words(msgspec.Struct, kw_only=True):
    """`text` is the beginning of it where `is_cut`; `size` is that of all of it, in bytes."""

    text: str
    size: int
    is_cut: bool = False


class RawWords(Words, kw_only=True):
    """What the machine sent. From `first_id` to `last_id` events were made of it; `at`: when it
    came (Unix ms).
    `source`: `line` as it was seen on the wire, `log` as the event itself quotes it."""

    source: Literal["line", "log"]
    first_id: int
    last_id: int
    at: int | None = None


class DebugEvent(msgspec.Struct, kw_only=True):
    """`type` and `ts` as the event says them. `yeaft`: the documented dialect; `yeaft_deployed`:
    the one of the page that is in use."""

    id: int
    type: str | None
    ts: int | None
    raw: RawWords | None
    log: Words
    sse: Words
    myagent: list[Words]
    yeaft: list[Words]
    yeaft_deployed: list[Words]


class _Event(msgspec.Struct):
    """As much of an event as is shown beside it."""

    type: Any = None
    ts: Any = None
    raw: Any = None


_look = msgspec.json.Decoder(_Event)


class Debug(msgspec.Struct, frozen=True):
    """`since`: from when on what comes from the machine is kept; None where it is not."""

    events: list[DebugEvent]
    since: int | None


async def look(
    core: Core,
    session: Session,
    log: SessionLog,
    events: list[tuple[int, str]],
    *,
    from_end: bool,
) -> Debug:
    """Those of the events that fit into an answer, at least one: the first of them, or the last
    (`from_end`). From now on, for a while, what the session's machine sends is kept as it comes."""
    machine = await _machine(core, session)
    recording = None if machine is None else core.taps.record(machine, session.id)
    frames = [] if recording is None else list(recording.frames)
    place = (None, "") if machine is None else (machine.id, machine.kind)
    makes: dict[str, Any] = {
        "myagent": partial(myagent_translation, core, typed=False),
        "yeaft": lambda session_id: yeaft_translation(session_id, *place, deployed=False),
        "yeaft_deployed": lambda session_id: yeaft_translation(session_id, *place, deployed=True),
    }
    translated = {
        name: await Feeds(core.log, make).translated(log, events) for name, make in makes.items()
    }
    shown: list[DebugEvent] = []
    room = _PAGE_CHARS_MAX
    for event_id, line in reversed(events) if from_end else events:
        said = {
            name: [_words(body) for body in _bodies(session.id, found.get(event_id, []))]
            for name, found in translated.items()
        }
        seen = _seen(line)
        event = DebugEvent(
            id=event_id,
            type=seen.type if isinstance(seen.type, str) else None,
            ts=seen.ts if isinstance(seen.ts, int) else None,
            raw=_raw(frames, event_id, seen),
            log=_words(line.encode(errors="replace")),
            sse=_words(sse.frames(event_id, [line])),
            **said,
        )
        room -= sum(len(one.text) for one in _all(event))
        if room < 0 and shown:
            break
        shown.append(event)
    shown.sort(key=lambda event: event.id)
    return Debug(shown, None if recording is None else recording.since)


async def _machine(core: Core, session: Session) -> Machine | None:
    try:
        return await core.machines.of(session)
    except NotFound:  # it was removed
        return None


def _bodies(session_id: str, messages: Iterable[Message]) -> list[bytes]:
    """As they are written; a piece of a MyAgent answer as if it went out alone."""
    bodies: list[bytes] = []
    for message in messages:
        if isinstance(message, PieceMessage) and message.piece is not None:
            block = Block(message.event_id)
            block.add(message.event_id, message.piece)
            bodies += block.encoded(session_id)
        else:
            bodies.append(message.body)
    return bodies[:_MESSAGES_MAX]


def _words(body: bytes) -> Words:
    text = body[: 4 * _TEXT_CHARS_MAX].decode(errors="replace")[:_TEXT_CHARS_MAX]
    is_cut = len(text.encode(errors="replace")) < len(body)
    return Words(text=text, size=len(body), is_cut=is_cut)


def _seen(line: str) -> _Event:
    try:
        return _look.decode(line.encode(errors="replace"))
    except (msgspec.MsgspecError, RecursionError):
        return _Event()  # a machine may log anything


def _raw(frames: list[Frame], event_id: int, seen: _Event) -> RawWords | None:
    for frame in frames:
        if frame.first_id <= event_id <= frame.last_id:
            return RawWords(
                text=frame.text,
                size=frame.size,
                is_cut=len(frame.text.encode(errors="replace")) < frame.size,
                source="line",
                first_id=frame.first_id,
                last_id=frame.last_id,
                at=frame.at,
            )
    message = seen.raw.get("message") if isinstance(seen.raw, dict) else None
    if message is None:
        return None
    words = _words(msgspec.json.encode(message))
    known = msgspec.structs.asdict(words)
    return RawWords(**known, source="log", first_id=event_id, last_id=event_id)


def _all(event: DebugEvent) -> list[Words]:
    raw = [] if event.raw is None else [event.raw]
    return [*raw, event.log, event.sse, *event.myagent, *event.yeaft, *event.yeaft_deployed]
