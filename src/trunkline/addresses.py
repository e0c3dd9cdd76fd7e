"""Which addresses are public. Both planes connect to what users name, and ask here first."""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

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


def is_public(address: Address) -> bool:
    """Reachable for everyone, and not a wrapping of another address.

    IPv6 must lie in 2000::/3, which leaves out loopback, private, link-local, multicast,
    IPv4-mapped, IPv4-compatible and NAT64 addresses alike.
    """
    if isinstance(address, ipaddress.IPv6Address) and address not in _IPV6_GLOBAL:
        return False
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in _SPECIAL)
