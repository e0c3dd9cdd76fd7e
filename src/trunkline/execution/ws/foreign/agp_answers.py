"""Prompts that were taken, and how each was answered: for a server that asks again.

In memory and in a file, so that a restart changes nothing. Bounded: the oldest answers go first.
Open prompts stay until they are answered; how many there may be is their queue's to say.
"""

from collections.abc import Iterable

import msgspec

from trunkline import limits
from trunkline.execution.ws.disk_queue import Journal

WIRE_ANSWERS_MAX = 4_096  # of prompts that may come again, also after a restart
WIRE_ANSWERS_BYTES_MAX = 8 * limits.MIB

Key = tuple[str, str]
"""The session, and the prompt in it."""


class Open(msgspec.Struct, omit_defaults=True):
    """A prompt without an answer. Also a line of the file: that it was taken."""

    session_id: str
    prompt_id: str
    guid: str = ""
    user_id: str = ""


class _Line(Open, omit_defaults=True):
    answer: msgspec.Raw = msgspec.Raw()


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Line).decode


class Answers:
    """Of one server. What an earlier process wrote down is known still."""

    def __init__(
        self,
        journal: Journal,
        *,
        count_max: int = WIRE_ANSWERS_MAX,
        bytes_max: int = WIRE_ANSWERS_BYTES_MAX,
    ) -> None:
        self._journal = journal
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._open: dict[Key, Open] = {}
        self._answers: dict[Key, bytes] = {}
        self._bytes = 0
        self._tidy_bytes = 0
        """The file's size when it held nothing but what is known."""
        self._load()

    def open(self) -> list[Open]:
        """In the order in which they came."""
        return list(self._open.values())

    def is_open(self, session_id: str, prompt_id: str) -> bool:
        return (session_id, prompt_id) in self._open

    def get(self, session_id: str, prompt_id: str) -> bytes | None:
        return self._answers.get((session_id, prompt_id))

    def begin(self, prompt: Open) -> None:
        self._journal.catch_up(self._lines)
        self._open[prompt.session_id, prompt.prompt_id] = prompt
        self._journal.append(_encode(prompt))

    def keep(self, session_id: str, prompt_id: str, answer: bytes) -> None:
        self._journal.catch_up(self._lines)
        self._journal.append(_encode(_Line(session_id, prompt_id, answer=msgspec.Raw(answer))))
        self._remember((session_id, prompt_id), answer)
        size = self._journal.bytes
        if size > limits.OUTBOX_COMPACT_BYTES and size > 2 * self._tidy_bytes:
            self._rewrite()

    def settle(self) -> None:
        """Writes down what a full disk has kept out."""
        self._journal.settle(self._lines)

    def close(self) -> None:
        self.settle()
        self._journal.close()

    def _remember(self, key: Key, answer: bytes) -> None:
        self._open.pop(key, None)
        self._forget(key)
        self._answers[key] = answer
        self._bytes += len(answer)
        while len(self._answers) > self._count_max or self._bytes > self._bytes_max:
            self._forget(next(iter(self._answers)))

    def _forget(self, key: Key) -> None:
        self._bytes -= len(self._answers.pop(key, b""))

    def _rewrite(self) -> None:
        self._journal.rewrite(self._lines())
        self._tidy_bytes = self._journal.bytes

    def _lines(self) -> Iterable[bytes]:
        for key, answer in self._answers.items():
            yield _encode(_Line(*key, answer=msgspec.Raw(answer)))
        yield from map(_encode, self._open.values())

    def _load(self) -> None:
        for line, _ in self._journal.entries(_decode):
            key = (line.session_id, line.prompt_id)
            if line.answer:
                self._remember(key, bytes(line.answer))
            else:
                self._forget(key)  # it came again when its answer was not known any more
                self._open[key] = Open(*key, line.guid, line.user_id)
