"""The ids of messages that have been taken: one that comes again is known. Bounded, pure."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Repeats:
    """At least the newest so many ids, and fewer than twice as many.

    Two sets, of which the older is let go as a whole: to find the one oldest id for every new one
    would cost more than all the rest.
    """

    kept_max: int
    _newer: set[str] = field(default_factory=set)
    _older: set[str] = field(default_factory=set)

    def __contains__(self, msg_id: str) -> bool:
        return msg_id in self._newer or msg_id in self._older

    def is_new(self, msg_id: str) -> bool:
        """Remembers the id; False if it was known."""
        if msg_id in self._older:
            return False
        newer = self._newer
        count = len(newer)
        newer.add(msg_id)
        if len(newer) == count:
            return False
        if count + 1 >= self.kept_max:
            self._older, self._newer = newer, set()
        return True

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)
