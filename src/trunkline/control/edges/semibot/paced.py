"""A socket that is read no faster than the log takes what it brings: for events that no rate limit
counts. What is not read waits in the network, and slows its machine down."""

from typing import Any

from trunkline.control.edges.socket import Socket


class PacedSocket(Socket):
    """Two things keep it from being read: the log is behind with everybody (`pause`), or with what
    came here (`ahead_by`)."""

    __slots__ = ("_ahead", "_ahead_max", "_is_ahead", "_is_stalled")

    def __init__(self, *, ahead_max: int, **options: Any) -> None:
        super().__init__(**options)
        self._ahead_max = ahead_max
        self._ahead = 0
        """Bytes that were taken since the log last kept up."""
        self._is_ahead = self._is_stalled = False

    def wait_for_log(self) -> None:
        """To be overridden: sees to it that `caught_up` is called when everything that was taken
        here is committed."""
        raise NotImplementedError

    def ahead_by(self, size: int) -> None:
        """So many bytes more were taken."""
        self._ahead += size
        if self._ahead > self._ahead_max and not self._is_ahead:
            self._is_ahead = True
            self._read_or_not()
            self.wait_for_log()

    def caught_up(self) -> None:
        self._ahead, self._is_ahead = 0, False
        self._read_or_not()

    def pause(self, paused: bool) -> None:
        self._is_stalled = paused
        self._read_or_not()

    def _read_or_not(self) -> None:
        super().pause(self._is_stalled or self._is_ahead)
