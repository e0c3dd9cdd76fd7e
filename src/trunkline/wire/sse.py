"""Session events as Server-Sent Events (docs/protocols/events.md#server-sent-events).

An event of the log is one line of text, so a frame is `id`, `data` and an empty line.
"""

from collections.abc import Sequence

HEARTBEAT = b": heartbeat\n\n"
GOES_ON = b": goes on\n\n"
RESYNC = b"event: resync\ndata: {}\n\n"


def stands_still(cause: str) -> bytes:
    """Tells a reader why no event comes. No event itself: it has no id, and is not in the log."""
    return f": stands still: {cause}\n\n".encode()


def goodbye(reason: str, retry_ms: int) -> bytes:
    """Tells a reader that the server ends the stream, and when to come back."""
    return f"retry: {retry_ms}\n: {reason}\n\n".encode()


def frames(first_id: int, lines: Sequence[str], prefix: str = "") -> bytes:
    """Consecutive events, ready to be written to any number of readers. `prefix`: of their ids,
    where a stream holds more than one session."""
    if len(lines) == 1:  # most of those of a crowd
        return f"id: {prefix}{first_id}\ndata: {lines[0]}\n\n".encode("utf-8", "replace")
    events = enumerate(lines, first_id)
    parts = [f"id: {prefix}{number}\ndata: {line}\n\n" for number, line in events]
    return "".join(parts).encode("utf-8", "replace")


def named(name: str, data: bytes) -> bytes:
    """Something that is no event of a session. `data`: JSON without line breaks."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def position(text: str) -> int | None:
    """A reader's `last_event_id`: None when it is no position that was ever given out."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text)


def followed(text: str) -> tuple[str, int | None]:
    """A session and the position in it, as a reader of several names them: `SESSION_ID:42`. Without
    a number that was ever given out, None."""
    session_id, _, number = text.rpartition(":")
    return (session_id, position(number)) if session_id else (text, None)
