"""Pieces of an answer and of thoughts, and what becomes of those that wait for each other. Pure.

A page writes its storage anew at every message, so that a message per piece would flood it. Joined
pieces are one message; none is dropped.
"""

import msgspec

from trunkline.wire.myagent.codec import encode, timestamp
from trunkline.wire.myagent.messages import Downlink, Json


class Stream:
    """Who says it, in which turn, and as what: only pieces of one stream are joined. Known by
    identity."""

    __slots__ = ("event", "metadata", "speaker", "step_id")

    def __init__(self, event: str, step_id: str, speaker: str, metadata: Json) -> None:
        """`speaker`: whose words these are. What one speaker thinks and says keeps its order."""
        self.event = event
        self.step_id = step_id
        self.speaker = speaker
        self.metadata = metadata


class Piece(msgspec.Struct, gc=False):
    """One piece of text. `index`: its number in the turn's answer; thoughts have none."""

    stream: Stream
    text: str
    index: int | None
    sent_at_ms: int


class Part:
    """Pieces of one stream, in their order."""

    __slots__ = ("first", "texts")

    def __init__(self, first: Piece) -> None:
        self.first = first
        self.texts = [first.text]

    def encoded(self, session_id: str) -> bytes:
        first, count = self.first, len(self.texts)
        metadata: Json = {} if first.index is None else {"chunk_index": first.index}
        if first.index is not None and count > 1:
            metadata["chunk_count"] = count
        message = Downlink(
            first.stream.event,
            timestamp=timestamp(first.sent_at_ms),
            session_id=session_id,
            step_id=first.stream.step_id,
            content="".join(self.texts),
            metadata=metadata | first.stream.metadata,
        )
        return encode(message)


class Block:
    """Pieces of one session with no other message between them: of the events from `first_id` to
    `last_id`, a part for each stream, and another whenever its speaker has gone on with it after
    something else. Whoever has got all parts has all these events."""

    __slots__ = ("_newest", "_part", "_parts", "chars", "first_id", "last_id")

    def __init__(self, event_id: int) -> None:
        self.first_id = self.last_id = event_id
        self.chars = 0
        self._parts: list[Part] = []
        self._newest: dict[str, Part] = {}
        """Of each speaker."""
        self._part: Part | None = None
        """The one that was added to last, which mostly is the next one's too."""

    def add(self, event_id: int, piece: Piece) -> None:
        self.last_id = event_id
        self.chars += len(piece.text)
        part = self._part
        if part is None or part.first.stream is not piece.stream:
            part = self._newest.get(piece.stream.speaker)
        if part is not None and part.first.stream is piece.stream:
            part.texts.append(piece.text)
        else:
            part = self._newest[piece.stream.speaker] = Part(piece)
            self._parts.append(part)
        self._part = part

    def encoded(self, session_id: str) -> list[bytes]:
        return [part.encoded(session_id) for part in self._parts]
