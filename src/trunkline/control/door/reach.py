"""By which addresses other machines reach this server, as far as it can know itself.

What the operator says counts, then the name by which whoever asks has reached it; only for a
caller on this host is looked at what the server listens on.
"""

import fcntl
import ipaddress
import socket
import struct
from collections.abc import Callable, Iterable
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from trunkline.control.door.origin import is_local_name
from trunkline.control.settings import Settings

_SIOCGIFADDR = 0x8915
_VIRTUAL = ("docker", "br-", "veth", "virbr", "cni", "podman")
"""Interfaces whose addresses only this host knows."""
_ELSEWHERE = ("192.0.2.1", 9)  # reserved for documents: nothing is sent there
_ADDRESSES_MAX = 8

Addresses = Callable[[], Iterable[str]]


class Reach(msgspec.Struct, frozen=True):
    """`urls`: the likeliest first. `kind`: `named` by the operator or the caller, found on the
    `network`, or `local`: nobody but this host gets there."""

    urls: list[str]
    kind: Literal["named", "network", "local"]


def reach(settings: Settings, url: str, port: int, addresses: Addresses) -> Reach:
    """`url`: as whoever asks sees this server. `port`: that it listens on. `addresses`: of this
    host, asked only if they matter."""
    parts = urlsplit(url)
    if settings.public_url or not is_local_name(parts.netloc):
        return Reach([url], "named")
    if settings.is_loopback:
        return Reach([url], "local")
    hosts = [settings.host]
    if settings.host in ("", "0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        hosts = list(addresses())[:_ADDRESSES_MAX]
    found = [f"http://{f'[{host}]' if ':' in host else host}:{port}" for host in hosts]
    return Reach(found, "network") if found else Reach([url], "local")


def own_addresses() -> list[str]:
    """IPv4 addresses of this host that others on its networks may reach; the one that it goes out
    by first."""
    found = [*_way_out(), *_interfaces()]
    return [one for one in dict.fromkeys(found) if not ipaddress.ip_address(one).is_loopback]


def _way_out() -> list[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            return [str(probe.getsockname()[0])]
        except OSError:  # no network
            return []


def _interfaces() -> list[str]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            if name.startswith(_VIRTUAL):
                continue
            asked = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, asked)
            except OSError:  # it has none
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return found
