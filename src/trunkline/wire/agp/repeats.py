"""The ids of messages that have been taken: one that comes again is known. Bounded, pure."""

from collections import deque


class Repeats:
    """The newest ids; the oldest is forgotten for a new one."""

    __slots__ = ("_ids", "_kept_max", "_order")

    def __init__(self, kept_max: int) -> None:
        self._ids: set[str] = set()
        self._order: deque[str] = deque()
        self._kept_max = kept_max

    def __contains__(self, msg_id: str) -> bool:
        return msg_id in self._ids

    def is_new(self, msg_id: str) -> bool:
        """Remembers the id; False if it was known."""
        ids = self._ids
        if msg_id in ids:
            return False
        ids.add(msg_id)
        self._order.append(msg_id)
        if len(ids) > self._kept_max:
            ids.remove(self._order.popleft())
        return True

    def __len__(self) -> int:
        return len(self._ids)
