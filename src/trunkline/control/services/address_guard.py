"""Which addresses requests that a user's records cause may go to (`guarded_http`)."""

import asyncio
import importlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable

from trunkline.addresses import is_public
from trunkline.control.errors import Forbidden
from trunkline.control.settings import hosts_and_networks

Resolve = Callable[[str, int], Awaitable[list[str]]]


class AddressRefused(Forbidden):
    code = "MCP_ADDRESS_REFUSED"


class AddressGuard:
    """`allowed`: host names, addresses and networks, comma-separated, that may be private; the
    value of the setting of that name."""

    def __init__(
        self, allowed: str, setting: str = "mcp_allowed_hosts", code: str = "MCP_ADDRESS_REFUSED"
    ) -> None:
        self._hosts, self._networks = hosts_and_networks(setting, allowed)
        self._setting = setting
        self._code = code

    def is_named(self, host: str) -> bool:
        """Whether an operator has named that very host, or the network of that address."""
        if host.lower().rstrip(".") in self._hosts:
            return True
        try:
            parsed = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)

    def refused(self, host: str) -> "AddressRefused":
        return AddressRefused(
            f"{host!r} is at an address that is not public; an operator can allow it with "
            f"the setting {self._setting}",
            code=self._code,
        )

    def allows(self, host: str, address: str) -> bool:
        """Whether a connection for `host` may go to that address."""
        if host.lower().rstrip(".") in self._hosts or self.is_named(address):
            return True
        try:
            return is_public(ipaddress.ip_address(address.partition("%")[0]))
        except ValueError:
            return False


async def load_http() -> None:
    """Before `guarded_http` is imported where others are served meanwhile."""
    await asyncio.to_thread(importlib.import_module, "trunkline.control.services.guarded_http")


async def resolve(host: str, port: int) -> list[str]:
    """The system's answer for a name, as numeric addresses."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
