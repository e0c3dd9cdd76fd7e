"""Files that a page uploads ahead of the message that they belong to.

In memory, for ten minutes, for the person who uploaded them; a message takes them out.
"""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import LimitReached, NotFound, TooLarge
from trunkline.control.ids import new_id

Json = dict[str, Any]

BYTES_MAX = limits.ATTACHMENTS_BYTES_MAX // 4 * 3
"""Of one file: what a message can carry, before it is base64."""
_LIFE_MS = 10 * 60_000


class Upload(msgspec.Struct, frozen=True):
    """A file as it came."""

    name: str
    mime: str
    content: bytes


class _Kept(msgspec.Struct, frozen=True):
    user_id: str
    since: int
    file: Upload


class Uploads:
    """The files that wait for their message. `bytes_max`: of all people together."""

    def __init__(
        self,
        clock: Clock,
        *,
        per_user_bytes_max: int = 4 * BYTES_MAX,
        per_user_max: int = 2 * limits.ATTACHMENTS_MAX,
        bytes_max: int = 16 * BYTES_MAX,
    ) -> None:
        self._clock = clock
        self._per_user_bytes_max = per_user_bytes_max
        self._per_user_max = per_user_max
        self._bytes_max = bytes_max
        self._kept: dict[str, _Kept] = {}

    def add(self, user_id: str, files: list[Upload]) -> list[str]:
        """Keeps all of them, or none; returns the ids by which a message names them."""
        self.tidy()
        for file in files:
            if len(file.content) > BYTES_MAX:
                raise TooLarge(f"{file.name[:100]!r} is larger than {BYTES_MAX} bytes")
        mine = [one for one in self._kept.values() if one.user_id == user_id]
        if len(mine) + len(files) > self._per_user_max:
            raise LimitReached(f"{len(mine)} of your files wait for their message already")
        new = sum(len(file.content) for file in files)
        if _size(mine) + new > self._per_user_bytes_max:
            raise LimitReached("your files that wait for their message are too large together")
        if _size(list(self._kept.values())) + new > self._bytes_max:
            raise LimitReached("too many files wait for their message; try again later")
        ids = [new_id() for _ in files]
        now = self._clock()
        for file_id, file in zip(ids, files, strict=True):
            self._kept[file_id] = _Kept(user_id, now, file)
        return ids

    def get(self, user_id: str, file_id: str) -> Upload:
        self.tidy()
        kept = self._kept.get(file_id)
        if kept is None or kept.user_id != user_id:
            raise NotFound("file", file_id)
        return kept.file

    def attachments(self, user_id: str, file_ids: Sequence[str]) -> list[Json]:
        """The files as a message carries them. They stay until `remove`: the message may yet be
        refused."""
        found = [self.get(user_id, one) for one in file_ids]
        size = sum(-(-len(one.content) // 3) * 4 for one in found)
        if size > limits.ATTACHMENTS_BYTES_MAX:
            raise TooLarge(
                f"the files of a message may have {BYTES_MAX} bytes together; these are larger"
            )
        return [
            {
                "name": one.name,
                "mime": one.mime,
                "base64": base64.b64encode(one.content).decode(),
            }
            for one in found
        ]

    def remove(self, user_id: str, file_ids: Sequence[str]) -> None:
        """They are part of a message of that user now."""
        for file_id in file_ids:
            kept = self._kept.get(file_id)
            if kept is not None and kept.user_id == user_id:
                del self._kept[file_id]

    def tidy(self) -> None:
        """Forgets what no message took in its time; also once a minute."""
        oldest = self._clock() - _LIFE_MS
        for file_id in [one for one, kept in self._kept.items() if kept.since < oldest]:
            del self._kept[file_id]


def _size(kept: list[_Kept]) -> int:
    return sum(len(one.file.content) for one in kept)
