"""Identifiers that sort by time, and secrets that can be recognised.

Record ids are UUIDs of version 7 (RFC 9562), so that a list ordered by id is ordered by age and
the last id of a page is its cursor.
"""

import secrets
import time
from uuid import UUID


def new_id() -> str:
    """A new record id: 48 bits of milliseconds, 74 random bits."""
    return id_at(time.time_ns() // 1_000_000)


def id_at(ms: int) -> str:
    """As if it had been made then: of something that is older than its record."""
    value = (ms & (2**48 - 1)) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return str(UUID(int=value))


def is_id(text: str) -> bool:
    """Whether the text has the form of a record id (any UUID)."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def may_be_ours(text: str) -> bool:
    """Whether it has the form of an id that was made here: others have UUIDs too."""
    return is_id(text) and text[14] == "7"


def new_secret(prefix: str) -> str:
    """A secret of 256 bits, with a prefix that says what it is for."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"
