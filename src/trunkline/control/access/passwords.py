"""Passwords of people who log in by name, on pages that know no other way.

Kept as scrypt hashes with their own salt. Whoever has none logs in with a token. What may be tried,
and how often, is for `Attempts` to say.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import os

from sqlalchemy import insert, or_, select, update

from trunkline.control.errors import InvalidRequest, LimitReached
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

CHARS_MIN = 8
CHARS_MAX = 1_000

_secrets, _users = schema.user_secrets, schema.users
_COST, _BLOCK, _LANES = 2**15, 8, 1  # 32 MiB and some 80 ms each
_MEMORY_MAX = 64 * 2**20
_SALT_BYTES = 16
_NAMESAKES_MAX = 4  # of people with a password and the same name; each costs a hash
_AT_ONCE = 2
_WAITING_MAX = 64


class Passwords:
    """The passwords of all users."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        # What a name that nobody has is compared with, so that it takes as long as one that is.
        self._nobodys = _text(os.urandom(_SALT_BYTES), os.urandom(32))

    async def set(self, user_id: str, password: str) -> None:
        """For a user of whom the caller has checked that it may act in their name."""
        if not CHARS_MIN <= len(password) <= CHARS_MAX:
            raise InvalidRequest(f"a password has {CHARS_MIN} to {CHARS_MAX} characters")
        salt = os.urandom(_SALT_BYTES)
        values = {"password_hash": _text(salt, await self._hash(password, salt))}
        own = _secrets.c.user_id == user_id
        async with self._store.write() as connection:
            if await connection.scalar(select(_secrets.c.user_id).where(own)) is None:
                await connection.execute(insert(_secrets).values(user_id=user_id, **values))
            else:
                await connection.execute(update(_secrets).where(own).values(values))

    async def is_set(self, user_id: str) -> bool:
        query = select(_secrets.c.password_hash).where(_secrets.c.user_id == user_id)
        return await self._store.scalar(query) is not None

    async def check(self, name: str, password: str) -> str | None:
        """The id of the user of that name, or id, whose password this is. Names are not unique:
        the password decides between people of the same."""
        query = (
            select(_users.c.id, _secrets.c.password_hash)
            .join(_secrets, _secrets.c.user_id == _users.c.id)
            .where(or_(_users.c.name == name, _users.c.id == name))
            .where(_secrets.c.password_hash.is_not(None))
            .order_by(_users.c.id)
            .limit(_NAMESAKES_MAX)
        )
        found = [(user_id, kept) for user_id, kept in await self._store.all(query)]
        for user_id, kept in found or [(None, self._nobodys)]:
            salt, wanted = _read(kept)
            if hmac.compare_digest(await self._hash(password, salt), wanted) and user_id:
                return str(user_id)
        return None

    async def _hash(self, password: str, salt: bytes) -> bytes:
        """In a thread, two at a time: a flood of logins must not take all cores and memory."""
        if self._waiting >= _WAITING_MAX:
            raise LimitReached("too many logins at once; try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(_scrypt, password, salt)
        finally:
            self._waiting -= 1


def _scrypt(password: str, salt: bytes) -> bytes:
    secret = password.encode(errors="surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=_COST, r=_BLOCK, p=_LANES, maxmem=_MEMORY_MAX)


def _text(salt: bytes, hashed: bytes) -> str:
    parts = (base64.b64encode(one).decode() for one in (salt, hashed))
    return "$".join(("scrypt", *parts))


def _read(kept: str) -> tuple[bytes, bytes]:
    """Salt and hash; of what cannot be read, ones that fit no password."""
    try:
        _, salt, hashed = kept.split("$")
        return base64.b64decode(salt), base64.b64decode(hashed)
    except (ValueError, binascii.Error):
        return b"", b""
