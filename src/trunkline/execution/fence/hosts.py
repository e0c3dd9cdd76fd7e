"""Names of hosts that sessions may reach: checked, and compared."""

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.errors import StartFailed, ToolError
from trunkline.execution.fence.seccomp import Network

HOSTS_MAX = limits.NETWORK_HOSTS_MAX
_HOST_CHARS_MAX = 253


def checked(hosts: Any) -> list[str]:
    """Raises StartFailed."""
    is_good = isinstance(hosts, list) and len(hosts) <= HOSTS_MAX
    if not is_good or not all(isinstance(one, str) and is_host(one) for one in hosts):
        why = f"network_hosts must be at most {HOSTS_MAX} names like example.org or *.example.org"
        raise StartFailed(why, code="INVALID_SETTINGS")
    return [one.lower().rstrip(".") for one in hosts]


def is_host(text: str) -> bool:
    """A name or an address, or `*.` before a name."""
    plain = text.removeprefix("*.")
    is_plain = all(char.isalnum() or char in "-._:" for char in plain)
    return 0 < len(plain) <= _HOST_CHARS_MAX and is_plain and plain.isascii()


def is_below(host: str, allowed: Sequence[str]) -> bool:
    return any(host == one or covers(one, host) for one in allowed)


def covers(pattern: str, host: str) -> bool:
    """Whether an entry of a list means that host."""
    pattern, host = pattern.lower(), host.lower().rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and host != pattern[2:]
    return host == pattern


class Reach(msgspec.Struct, frozen=True):
    """What the tools of a session may reach that use the network themselves."""

    network: Network = "open"
    hosts: list[str] = []

    def check(self, host: str | None) -> None:
        """Raises ToolError."""
        if self.network == "off":
            raise ToolError("this session has no network")
        if self.network == "list" and not is_below(host or "", self.hosts):
            shown = ", ".join(self.hosts[:20]) or "none"
            raise ToolError(
                f"{(host or '')[:200]} is not a host that this session may reach: {shown}"
            )


EVERYWHERE = Reach()
