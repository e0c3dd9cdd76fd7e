"""Every open connection of the one port: how many there may be, in all, of one address and of one
person.

A connection is a stranger's until it has shown a good secret. Where there is no room, the oldest
stranger makes it: so nobody is kept out by connections that only wait. Only when all that are
there are known is a new one refused. A person's own have a bound as well, machines apart: no login
keeps the others out. File descriptors for everything else stay in reserve.
"""

import asyncio
import resource
import time
from collections import Counter

import structlog

from trunkline.control.clock import Seconds
from trunkline.control.door.callers import Callers, Headers, address_of, counted_as
from trunkline.control.errors import LimitReached
from trunkline.control.settings import Settings

_log = structlog.get_logger(__name__)

_DESCRIPTORS_RESERVED = 256  # databases, logs, machines of this host, calls to MCP servers
_LOOK_EVERY_S = 0.1  # for connections that have closed, while there is no room
_TOLD_EVERY_S = 10.0
_UNREAD_S = 30.0  # a stranger that does not read its response


class _Guest:
    """One connection."""

    __slots__ = ("address", "is_counted", "unread_since", "user_id")

    def __init__(self, address: str, *, is_counted: bool) -> None:
        self.address = address
        self.is_counted = is_counted
        """Whether its address has a bound: many come by one proxy or from this host."""
        self.unread_since: float | None = None
        self.user_id: str | None = None
        """The person who has shown their secret on it."""


class Connections:
    def __init__(self, settings: Settings, now: Seconds = time.monotonic) -> None:
        self.callers = Callers(settings)
        self._now = now
        self._most = min(settings.connections_max, _descriptors() - _reserved())
        self._most_of_address = settings.connections_per_address_max
        self._guests: dict[asyncio.Transport, _Guest] = {}
        self._strangers: dict[asyncio.Transport, None] = {}
        """The oldest first."""
        self._most_of_user = settings.connections_per_user_max
        self._of_user: Counter[str] = Counter()
        self._of_address: dict[str, dict[asyncio.Transport, None]] = {}
        self._looked_at = self._told_at = float("-inf")
        self.made_room = 0
        """Strangers that were cut."""
        self.refused = 0

    def __len__(self) -> int:
        return len(self._guests)

    def opened(self, transport: asyncio.Transport) -> None:
        """A connection that has said nothing yet, or `LimitReached`."""
        peer = address_of(_peer(transport))
        is_shared = peer is None or peer.is_loopback or self.callers.is_proxy(peer)
        guest = _Guest(counted_as(peer), is_counted=not is_shared)
        self._make_room(None)
        self._enter(transport, guest)

    def arrived(self, transport: asyncio.Transport, headers: Headers) -> None:
        """The head of its first request is here: it may come by a proxy that was named."""
        guest = self._guests.get(transport)
        if guest is None or guest.is_counted:
            return
        caller = self.callers.of(_peer(transport), headers)
        if not self.callers.is_proxy(address_of(_peer(transport))) or caller is None:
            return
        is_known = transport not in self._strangers
        self._leave(transport)
        self._enter(transport, _Guest(counted_as(caller), is_counted=True))
        if is_known:
            self.known(transport, guest.user_id)

    def known(self, transport: asyncio.Transport | None, user_id: str | None = None) -> None:
        """Who is there has shown a good secret, and makes room for nobody. `user_id`: the person
        whose secret it is, not a machine's; `LimitReached` if they have too many connections."""
        guest = None if transport is None else self._guests.get(transport)
        if guest is None or transport is None:
            return
        if user_id is not None and guest.user_id != user_id:
            self._count(guest, user_id)
        self._strangers.pop(transport, None)

    def _count(self, guest: _Guest, user_id: str) -> None:
        if self._of_user[user_id] >= self._most_of_user:
            self._forget_closed()
        if self._of_user[user_id] >= self._most_of_user:
            self.refused += 1
            raise LimitReached(
                f"you have {self._most_of_user} connections open, which is all that one user may"
                " have: close some first"
            )
        self._uncount(guest)
        guest.user_id = user_id
        self._of_user[user_id] += 1

    def _uncount(self, guest: _Guest) -> None:
        if guest.user_id is not None:
            self._of_user[guest.user_id] -= 1
            if not self._of_user[guest.user_id]:
                del self._of_user[guest.user_id]

    def sweep(self) -> None:
        """Once a second: forgets what has closed, and cuts strangers that do not read."""
        now = self._now()
        self._forget_closed()
        for transport in list(self._strangers):
            guest = self._guests[transport]
            if not transport.get_write_buffer_size():
                guest.unread_since = None
            elif guest.unread_since is None:
                guest.unread_since = now
            elif now - guest.unread_since > _UNREAD_S:
                self._leave(transport)
                transport.abort()

    def _enter(self, transport: asyncio.Transport, guest: _Guest) -> None:
        if guest.is_counted:
            self._make_room(guest.address)
        self._guests[transport] = guest
        self._strangers[transport] = None
        self._of_address.setdefault(guest.address, {})[transport] = None

    def _leave(self, transport: asyncio.Transport) -> None:
        self._strangers.pop(transport, None)
        guest = self._guests.pop(transport, None)
        if guest is None:
            return
        self._uncount(guest)
        others = self._of_address[guest.address]
        others.pop(transport, None)
        if not others:
            del self._of_address[guest.address]

    def _make_room(self, address: str | None) -> None:
        """For one more of that address; without one, for one more at all."""
        if self._has_room(address):
            return
        oldest = self._oldest_stranger(address)
        if oldest is None or self._now() - self._looked_at >= _LOOK_EVERY_S:
            self._forget_closed()
            if self._has_room(address):
                return
            oldest = self._oldest_stranger(address)
        self._tell(address)
        if oldest is None:
            self.refused += 1
            raise LimitReached("too many connections")
        self._leave(oldest)
        if not oldest.is_closing():
            self.made_room += 1
            oldest.abort()

    def _oldest_stranger(self, address: str | None) -> asyncio.Transport | None:
        there = self._strangers if address is None else self._of_address[address]
        return next((one for one in there if one in self._strangers), None)

    def _has_room(self, address: str | None) -> bool:
        if address is None:
            return len(self._guests) < self._most
        return len(self._of_address.get(address, ())) < self._most_of_address

    def _forget_closed(self) -> None:
        self._looked_at = self._now()
        for transport in [one for one in self._guests if one.is_closing()]:
            self._leave(transport)

    def _tell(self, address: str | None) -> None:
        if self._now() - self._told_at >= _TOLD_EVERY_S:
            self._told_at = self._now()
            _log.warning(
                "no room for more connections; strangers are cut, and new ones refused when "
                "there are none",
                address=address or "any",
                connections=len(self._guests),
            )


def raise_descriptor_limit(settings: Settings) -> None:
    """As far as the connections that are allowed need it, and the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.connections_max + _DESCRIPTORS_RESERVED
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if soft == resource.RLIM_INFINITY else soft


def _reserved() -> int:
    return min(_DESCRIPTORS_RESERVED, _descriptors() // 2)


def _peer(transport: asyncio.Transport) -> str:
    name = transport.get_extra_info("peername")
    return name[0] if name else ""
