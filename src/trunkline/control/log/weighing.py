"""What events will take in the store, before any of them is there. Pure."""

from trunkline.control.log import packing
from trunkline.control.log.folding import SEGMENT_BYTES_MAX


class Weighing:
    """Takes the events of one session in their order, and packs them as the fold does."""

    def __init__(self) -> None:
        self._packed = 0
        self._lines: list[str] = []
        self._size = 0

    def take(self, text: str) -> None:
        self._lines.append(text)
        self._size += len(text) + 1
        if self._size >= SEGMENT_BYTES_MAX:
            self._packed += self._rest()
            self._lines, self._size = [], 0

    @property
    def bytes(self) -> int:
        """Of all so far. A little less than the store will say: times and notes are not in it."""
        return self._packed + self._rest()

    def _rest(self) -> int:
        return packing.packed_bytes("\n".join(self._lines)) if self._lines else 0
