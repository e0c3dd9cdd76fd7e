"""The addresses that `web_fetch` may connect to: public ones, and those that a test allows.

The check is made on the address that a socket is opened for. A name that changes its mind between
two answers, a redirect, an address written in the URL: all pass here.
"""

import ipaddress
import socket
from collections.abc import Iterable

import aiohttp

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
AddressInfo = tuple[
    int | socket.AddressFamily,
    int | socket.SocketKind,
    int,
    str,
    tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
]

_IPV6_GLOBAL = ipaddress.ip_network("2000::/3")
# Special ranges that `is_global` of some Python versions lets through.
_SPECIAL = [
    ipaddress.ip_network(text)
    for text in (
        "100.64.0.0/10",  # carrier-grade NAT
        "192.0.0.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "198.18.0.0/15",
        "240.0.0.0/4",
        "2001::/23",  # Teredo, ORCHID and others
        "2001:db8::/32",
        "2002::/16",  # 6to4: carries any IPv4 address
        "3fff::/20",
    )
]


class AddressRefused(OSError):
    """An OSError, so that the connector goes on to a name's next address."""


def is_public(address: Address) -> bool:
    """Reachable for everyone. IPv6 must lie in 2000::/3, which leaves out loopback, private,
    link-local, multicast and NAT64 addresses, and those that wrap an IPv4 address."""
    if isinstance(address, ipaddress.IPv6Address) and address not in _IPV6_GLOBAL:
        return False
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in _SPECIAL)


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
