"""What a device's URL says of it: complete, or refused with no WebSocket. Pure.

docs/protocols/agp.md#handshake
"""

import re
from collections.abc import Mapping

import msgspec

from trunkline import limits
from trunkline.control.errors import InvalidRequest

FIELDS = frozenset(("guid", "user_id", "token"))

_DEVICE_TOKEN_CHARS_MAX = 200
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class Asked(msgspec.Struct, frozen=True):
    """Who a connection says that it is; empty where it says nothing."""

    guid: str
    user_id: str
    token: str


def check_url(request: bytes) -> None:
    """The first line of the request: an escape that is none cannot be read as what was meant."""
    line, _, _ = request.partition(b"\r\n")
    if _BROKEN_ESCAPE.search(line):
        raise InvalidRequest("the URL has a broken escape")


def read_query(query: Mapping[str, str], *, is_open: bool) -> Asked:
    """`is_open`: a device is let in by its name, whatever its token is. Then the name has to be
    whole; elsewhere a token, which names its device, may stand for what is missing."""
    guid, user_id, token = (query.get(name, "") for name in ("guid", "user_id", "token"))
    _check(guid, "guid", limits.GUID_CHARS_MAX)
    _check(user_id, "user_id", limits.ID_CHARS_MAX)
    if is_open and guid and user_id:
        return Asked(guid, user_id, "")  # apps refuse to run without some token: it says nothing
    _check(token, "token", _DEVICE_TOKEN_CHARS_MAX)
    if user_id and not guid:
        raise InvalidRequest("guid is missing in the URL")
    if not token and not guid:
        raise InvalidRequest("guid and user_id, or a device's token, are missing in the URL")
    if guid and not user_id and (is_open or not token):
        raise InvalidRequest("user_id is missing in the URL")
    if not token:
        raise InvalidRequest("token is missing in the URL")
    return Asked(guid, user_id, token)


def _check(value: str, name: str, chars_max: int) -> None:
    if len(value) > chars_max:
        raise InvalidRequest(f"{name} has more than {chars_max} characters")
    if value and not (value.isascii() and value.isprintable() and " " not in value):
        raise InvalidRequest(f"{name} may have visible ASCII characters only")
