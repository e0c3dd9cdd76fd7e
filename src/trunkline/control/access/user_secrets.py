"""One secret for all the agents that a person starts: it finds its owner, whatever they are called.

Kept hashed, so that it can be found, and sealed, so that its owner can be shown it again.
"""

from cryptography.exceptions import InvalidTag
from sqlalchemy import Insert, Update, insert, select, update
from sqlalchemy.exc import IntegrityError

from trunkline.control.access.keys import Keys, digest
from trunkline.control.errors import NotFound, Unavailable
from trunkline.control.ids import new_secret
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_secrets, _users = schema.user_secrets, schema.users


class UserSecrets:
    """The agents' secrets of all users."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._keys = keys
        self.renewed = 0
        """Counts the secrets that ended."""

    async def find(self, secret: str) -> str | None:
        """The id of the user whose secret this is."""
        wanted = _secrets.c.agent_secret_hash == digest(secret)
        found: str | None = await self._store.scalar(select(_secrets.c.user_id).where(wanted))
        return found

    async def show(self, user_id: str) -> str:
        """The user's secret; it is made when it is first asked for."""
        await self.make(user_id)
        sealed = await self._sealed(user_id)
        if sealed is None:
            raise NotFound("user", user_id)  # removed in the same moment
        try:
            return self._keys.unseal(sealed, _context(user_id))
        except InvalidTag as error:
            raise Unavailable("this secret was sealed with another key; renew it") from error

    async def make(self, user_id: str) -> bool:
        """For a user who has none yet; whether there was none."""
        return await self._sealed(user_id) is None and await self._write(user_id, replace=False)

    async def renew(self, user_id: str) -> str:
        """A new secret in place of the old one, which finds nobody from now on. Agents that are
        connected stay so until their line ends."""
        await self._write(user_id, replace=True)
        self.renewed += 1
        return await self.show(user_id)

    async def _sealed(self, user_id: str) -> bytes | None:
        query = select(_secrets.c.sealed_agent_secret).where(_secrets.c.user_id == user_id)
        found: bytes | None = await self._store.scalar(query)
        return found

    async def _write(self, user_id: str, *, replace: bool) -> bool:
        """Asked for twice in the same moment, the first one counts; whether this one did."""
        secret = new_secret("ya")
        values = {
            "agent_secret_hash": digest(secret),
            "sealed_agent_secret": self._keys.seal(secret, _context(user_id)),
        }
        own = _secrets.c.user_id == user_id
        fitting = own if replace else own & _secrets.c.sealed_agent_secret.is_(None)
        try:
            async with self._store.write() as connection:
                known = await connection.scalar(select(_users.c.id).where(_users.c.id == user_id))
                if known is None:
                    raise NotFound("user", user_id)
                if await connection.scalar(select(_secrets.c.user_id).where(own)) is None:
                    change: Insert | Update = insert(_secrets).values(user_id=user_id, **values)
                else:
                    change = update(_secrets).where(fitting).values(values)
                return (await connection.execute(change)).rowcount == 1
        except IntegrityError:
            return False  # made by another control plane in between


def _context(user_id: str) -> str:
    return f"user_secrets:{user_id}"
