"""Where a request comes from, and by which address its connections are counted. Pure.

`X-Forwarded-For` is whatever the caller likes, except for what a proxy that the operator named has
added: the nearest address that is not such a proxy's is the caller's.
"""

import ipaddress

from multidict import CIMultiDict, CIMultiDictProxy

from trunkline.control.settings import Network, Settings, networks_of

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Headers = CIMultiDict[str] | CIMultiDictProxy[str]

_FORWARDING = (
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
)
_IPV6_BITS_OF_ONE_CALLER = 64  # whoever has one address of a network has them all


def address_of(text: str) -> Address | None:
    """An address as a socket or a proxy writes it, with or without a port."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy says that it speaks for somebody else."""
    return any(name in headers for name in _FORWARDING)


def counted_as(caller: Address | None) -> str:
    """What all connections of one caller are counted under."""
    if isinstance(caller, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((caller, _IPV6_BITS_OF_ONE_CALLER), strict=False))
    return str(caller)


class Callers:
    """Knows which proxies are named."""

    def __init__(self, settings: Settings) -> None:
        self._proxies = networks_of("trusted_proxies", settings.trusted_proxies)

    def is_proxy(self, address: Address | None) -> bool:
        return address is not None and is_in(address, self._proxies)

    def of(self, peer: str, headers: Headers) -> Address | None:
        """The caller behind a request whose socket's other end is `peer`."""
        caller = address_of(peer)
        if not self.is_proxy(caller):
            return caller
        values = ",".join(headers.getall("X-Forwarded-For", []))
        for text in reversed(values.split(",")):
            before = address_of(text)
            if before is None:
                return caller  # nothing that stands behind it can be believed
            caller = before
            if not self.is_proxy(caller):
                return caller
        return caller


def is_in(address: Address, networks: list[Network]) -> bool:
    return any(address in network for network in networks)
