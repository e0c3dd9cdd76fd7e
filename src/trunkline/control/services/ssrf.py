"""The addresses that a user can make the control plane connect to: public and allowed ones.

The check happens where the connection is made, on the address that is connected to. A name that
changes its mind between check and connection, or a redirect, meets the same check again.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import httpcore2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from trunkline.addresses import is_public
from trunkline.control.errors import Forbidden
from trunkline.control.settings import hosts_and_networks

Resolve = Callable[[str, int], Awaitable[list[str]]]


class AddressRefused(Forbidden):
    code = "MCP_ADDRESS_REFUSED"


class AddressGuard:
    """`allowed`: host names, addresses and networks, comma-separated, that may be private."""

    def __init__(self, allowed: str) -> None:
        self._hosts, self._networks = hosts_and_networks(allowed)

    def allows(self, host: str, address: str) -> bool:
        """Whether a connection for `host` may go to that address."""
        if host.lower().rstrip(".") in self._hosts:
            return True
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        return is_public(parsed) or any(parsed in network for network in self._networks)


async def resolve(host: str, port: int) -> list[str]:
    """The system's answer for a name, as numeric addresses."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedBackend(AsyncNetworkBackend):
    """Resolves a name once and connects to one of the very addresses that were checked."""

    def __init__(self, guard: AddressGuard, resolver: Resolve = resolve) -> None:
        self._guard = guard
        self._resolve = resolver
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the backend's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        try:
            addresses = await asyncio.wait_for(self._resolve(host, port), timeout)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"no address for {host!r} in time") from error
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"no address for {host!r}: {error}") from error
        fine = [address for address in addresses if self._guard.allows(host, address)]
        if not fine:
            raise AddressRefused(
                f"{host!r} is at an address that is not public; an operator can allow it with "
                "the setting mcp_allowed_hosts"
            )
        failure: httpcore2.ConnectError | None = None
        for address in fine:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except httpcore2.ConnectError as error:
                failure = error
        assert failure is not None
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the backend's interface
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        raise AddressRefused("a Unix socket is not a public address")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
