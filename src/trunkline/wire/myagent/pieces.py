"""Pieces of an answer, and what becomes of those that wait to be sent together. Pure.

A page writes its storage anew at every message, so that a message per piece would flood it. Joined
pieces are one message; none is dropped.
"""

import msgspec

from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.codec import encode, timestamp
from trunkline.wire.myagent.messages import Downlink, Json


class Stream:
    """Who says it, in which turn: only pieces of one stream are joined. Known by identity."""

    __slots__ = ("metadata", "step_id")

    def __init__(self, step_id: str, metadata: Json) -> None:
        self.step_id = step_id
        self.metadata = metadata


class Piece(msgspec.Struct, gc=False):
    """One piece of text, and its number in the turn."""

    stream: Stream
    text: str
    index: int
    sent_at_ms: int


class Part:
    """The pieces of one stream, in their order."""

    __slots__ = ("first", "texts")

    def __init__(self, first: Piece) -> None:
        self.first = first
        self.texts = [first.text]

    def encoded(self, session_id: str) -> bytes:
        first, count = self.first, len(self.texts)
        metadata: Json = {"chunk_index": first.index}
        if count > 1:
            metadata["chunk_count"] = count
        message = Downlink(
            names.PARTIAL_ANSWER,
            timestamp=timestamp(first.sent_at_ms),
            session_id=session_id,
            step_id=first.stream.step_id,
            content="".join(self.texts),
            metadata=metadata | first.stream.metadata,
        )
        return encode(message)


class Block:
    """Pieces of one session with no other message between them: of the events from `first_id` to
    `last_id`, one part for each stream. Whoever has got all parts has all these events."""

    __slots__ = ("_part", "_parts", "chars", "first_id", "last_id")

    def __init__(self, event_id: int) -> None:
        self.first_id = self.last_id = event_id
        self.chars = 0
        self._parts: dict[Stream, Part] = {}
        self._part: Part | None = None
        """The one that was added to last, which mostly is the next one's too."""

    def add(self, event_id: int, piece: Piece) -> None:
        self.last_id = event_id
        self.chars += len(piece.text)
        part = self._part
        if part is None or part.first.stream is not piece.stream:
            part = self._part = self._parts.get(piece.stream)
        if part is None:
            self._part = self._parts[piece.stream] = Part(piece)
        else:
            part.texts.append(piece.text)

    def encoded(self, session_id: str) -> list[bytes]:
        return [part.encoded(session_id) for part in self._parts.values()]
