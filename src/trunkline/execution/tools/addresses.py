"""The addresses that `web_fetch` may connect to: public ones, and those that a test allows.

The check is made on the address that a socket is opened for. A name that changes its mind between
two answers, a redirect, an address written in the URL: all pass here.
"""

import ipaddress
import socket
from collections.abc import Iterable

import aiohttp

from trunkline.addresses import is_public
from trunkline.execution.errors import AddressRefused

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
AddressInfo = tuple[
    int | socket.AddressFamily,
    int | socket.SocketKind,
    int,
    str,
    tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
]


def guarded_connector(
    allowed: Iterable[Network] = (), resolver: aiohttp.abc.AbstractResolver | None = None
) -> aiohttp.TCPConnector:
    """Connects to public addresses, and to `allowed` networks. Raises AddressRefused inside of
    aiohttp's ClientConnectorError for all others."""
    networks = list(allowed)

    def open_socket(info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, target = info
        if not _may_connect(str(target[0]), networks):
            raise AddressRefused(f"{target[0]} is not a public address")
        return socket.socket(family=family, type=kind, proto=protocol)

    return aiohttp.TCPConnector(
        socket_factory=open_socket, resolver=resolver, use_dns_cache=False, force_close=True
    )


def _may_connect(text: str, allowed: list[Network]) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return is_public(address) or any(address in network for network in allowed)
