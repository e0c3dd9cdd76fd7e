"""The polite end of a connection: the peer gets to read what we said last.

Closing a socket that has unread bytes resets it, and the peer loses our last words: the error, the
close code. So our half is closed, the rest is read and dropped, and only then comes the end.
"""

import asyncio

from trunkline import limits


def close_politely(transport: asyncio.Transport) -> None:
    """Sends what is unsent, then ends; a peer that stays too long is cut. Twice is like once."""
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
