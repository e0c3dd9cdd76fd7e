"""The ids of messages that have been taken: one that comes again is known. Bounded, pure."""


class Repeats:
    """The newest ids; the oldest is forgotten for a new one."""

    __slots__ = ("_ids", "_kept_max")

    def __init__(self, kept_max: int) -> None:
        self._ids: dict[str, None] = {}
        self._kept_max = kept_max

    def is_new(self, msg_id: str) -> bool:
        """Remembers the id; False if it was known."""
        ids = self._ids
        if msg_id in ids:
            return False
        ids[msg_id] = None
        if len(ids) > self._kept_max:
            del ids[next(iter(ids))]
        return True

    def __len__(self) -> int:
        return len(self._ids)
