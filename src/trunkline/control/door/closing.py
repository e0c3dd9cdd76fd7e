"""Closing gracefully: the peer gets to read what we sent last.

Closing a socket that has unread bytes resets it, and the peer loses the error or the close code. So
our half is closed first, the rest is read and dropped, and only then the socket is closed.
"""

import asyncio

from trunkline import limits


def close_gracefully(transport: asyncio.Transport) -> None:
    """Sends what is unsent, then closes; a peer that stays too long is cut. Idempotent."""
    owner = transport.get_protocol()
    if transport.is_closing() or isinstance(owner, _Drain):
        return
    cut = asyncio.get_running_loop().call_later(limits.CLOSE_GRACE_S, transport.abort)
    transport.set_protocol(_Drain(owner, cut))
    transport.resume_reading()
    if transport.can_write_eof():
        try:
            transport.write_eof()
        except OSError:  # the peer has gone already
            transport.abort()


class _Drain(asyncio.Protocol):
    """Reads and drops what the peer still sends; then tells the owner that it is over."""

    def __init__(self, owner: asyncio.BaseProtocol, cut: asyncio.TimerHandle) -> None:
        self._owner = owner
        self._cut = cut

    def connection_lost(self, exc: Exception | None) -> None:
        self._cut.cancel()
        self._owner.connection_lost(exc)
