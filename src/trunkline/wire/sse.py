"""Session events as Server-Sent Events (docs/protocols/events.md#server-sent-events).

An event of the log is one line of text, so a frame is `id`, `data` and an empty line.
"""

from collections.abc import Iterable

HEARTBEAT = b": heartbeat\n\n"
RESYNC = b"event: resync\ndata: {}\n\n"


def goodbye(reason: str, retry_ms: int) -> bytes:
    """Tells a reader that the server ends the stream, and when to come back."""
    return f"retry: {retry_ms}\n: {reason}\n\n".encode()


def frames(first_id: int, lines: Iterable[str]) -> bytes:
    """Consecutive events, ready to be written to any number of readers."""
    parts = [f"id: {number}\ndata: {line}\n\n" for number, line in enumerate(lines, first_id)]
    return "".join(parts).encode("utf-8", "replace")


def position(text: str) -> int | None:
    """A reader's `last_event_id`: None when it is no position that was ever given out."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text)
