"""A user's keys for model providers, encrypted at rest. No list and no response ever shows one.

`reveal` opens them for the one purpose they have: the `init` message to that user's machines.
"""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
import structlog
from cryptography.exceptions import InvalidTag
from sqlalchemy import ColumnElement, and_, delete, func, select, update
from sqlalchemy.sql.dml import Update

from trunkline import limits
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock
from trunkline.control.errors import InvalidRequest, LimitReached, NotFound
from trunkline.control.gathering import Gathering
from trunkline.control.ids import new_id
from trunkline.control.records.fields import ApiKey, BaseUrl, ModelName
from trunkline.control.records.page import Page, Paging, Rows
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.store.engine import AnyRow, Store
from trunkline.control.watchers import Watchers

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
_credentials = schema.credentials
PER_USER_MAX = 50
_IN_ENVIRONMENT = ("openai", "anthropic", "tavily", "brave", "searxng")
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,59}")


class Credential(msgspec.Struct, kw_only=True):
    """What can be seen of a stored key: that it is there, and since when. `default_model`: of its
    models the one for sessions that name none."""

    provider: str
    base_url: str | None
    default_model: str | None
    created_at: int


class NewCredential(msgspec.Struct, kw_only=True):
    """`base_url`: for a provider's compatible server, which may need no key. `default_model`: the
    user's sessions that name none use this one of its models, and no other provider's."""

    api_key: ApiKey | Literal[""] = ""
    base_url: BaseUrl | None = None
    default_model: ModelName | None = None

    def __post_init__(self) -> None:
        if not self.api_key and not self.base_url:
            raise ValueError("api_key or base_url is needed")

    def __repr__(self) -> str:
        return f"NewCredential(api_key=…, base_url={self.base_url!r})"


class CredentialPatch(msgspec.Struct, kw_only=True):
    """`default_model`: null for none of its models."""

    default_model: ModelName | None


class CredentialTest(msgspec.Struct, kw_only=True):
    """Without `api_key`, the one that is stored is tried, at the address it is stored with; at
    another address, none."""

    api_key: ApiKey | None = None
    base_url: BaseUrl | None = None

    def __repr__(self) -> str:
        return f"CredentialTest(api_key=…, base_url={self.base_url!r})"


class Revealed(msgspec.Struct, frozen=True):
    """An opened key, or an address that needs none. Never logged, never stored."""

    provider: str
    api_key: str
    base_url: str | None

    def __repr__(self) -> str:
        return f"Revealed(provider={self.provider!r})"


class Credentials(Rows[Credential]):
    """The provider keys of users. The caller has checked that it may act for the user."""

    def __init__(
        self, store: Store, keys: Keys, clock: Clock, changed: Watchers[str] | None = None
    ) -> None:
        """`changed`: told of the users whose keys changed."""
        super().__init__(store, _credentials, Credential, "credential")
        self._keys = keys
        self._clock = clock
        self._stored = Gathering(self._stored_of)
        self._lent: dict[str, list[Revealed]] = {}
        self._changed = changed or Watchers()

    def lend(self, user_id: str, keys: list[Revealed]) -> None:
        """Keys that are not stored here, for providers of which the user has none."""
        self._lent[user_id] = keys

    async def put(self, user_id: str, provider: str, new: NewCredential) -> Credential:
        """Stores a key, in place of the one that was there."""
        check_provider(provider)
        shown = Credential(
            provider=provider,
            base_url=new.base_url,
            default_model=new.default_model,
            created_at=self._clock(),
        )
        sealed = self._keys.seal(new.api_key, _context(user_id, provider))
        hidden = {"id": new_id(), "user_id": user_id, "sealed_key": sealed}
        kept = select(func.count()).where(_credentials.c.user_id == user_id)
        chosen = select(_credentials.c.default_model).where(_is(user_id, provider))
        async with self._store.write() as connection:
            if new.default_model is not None:
                await connection.execute(_without_default(user_id))
            else:
                shown.default_model = await connection.scalar(chosen)
            await connection.execute(delete(_credentials).where(_is(user_id, provider)))
            await connection.execute(self._insert(shown, **hidden))
            if (await connection.scalar(kept) or 0) > PER_USER_MAX:
                raise LimitReached(f"a user has at most {PER_USER_MAX} credentials")
        self._changed.tell(user_id)
        return shown

    async def get(self, user_id: str, provider: str) -> Credential:
        credential = await self._find(_is(user_id, provider))
        if credential is None:
            raise NotFound("credential", provider)
        return credential

    async def change(self, user_id: str, provider: str, patch: CredentialPatch) -> Credential:
        """A user has one default model: another provider's is none from then on."""
        await self.get(user_id, provider)
        chosen = update(_credentials).where(_is(user_id, provider))
        async with self._store.write() as connection:
            if patch.default_model is not None:
                await connection.execute(_without_default(user_id))
            await connection.execute(chosen.values(default_model=patch.default_model))
        self._changed.tell(user_id)
        return await self.get(user_id, provider)

    async def default_model(self, user_id: str) -> str | None:
        """The one that the user has chosen, by a name that leads to its provider."""
        for one in await self._stored.get(user_id) or ():
            if one.default_model is not None:
                return _full_name(one.provider, one.default_model)
        return None

    async def page(self, user_id: str, paging: Paging) -> Page[Credential]:
        return await self._page(paging, _credentials.c.user_id == user_id)

    async def every(self, user_id: str) -> list[Credential]:
        """All that a user has stored: there are few."""
        return (await self.page(user_id, Paging(limit=PER_USER_MAX))).items

    def lent_to(self, user_id: str) -> list[Revealed]:
        """Those that are not stored here."""
        return self._lent.get(user_id, [])

    async def remove(self, user_id: str, provider: str) -> None:
        if not await self._store.run(delete(_credentials).where(_is(user_id, provider))):
            raise NotFound("credential", provider)
        self._changed.tell(user_id)

    async def reveal(self, user_id: str) -> list[Revealed]:
        """Every key of the user, opened. One that cannot be opened is logged and left out."""
        revealed = []
        for one in await self._stored.get(user_id) or ():
            try:
                api_key = self._keys.unseal(one.sealed_key, _context(user_id, one.provider))
            except InvalidTag:
                _log.error("credential cannot be opened", provider=one.provider, user=user_id)
                continue
            revealed.append(Revealed(one.provider, api_key, one.base_url))
        own = {key.provider for key in revealed}
        return revealed + [key for key in self.lent_to(user_id) if key.provider not in own]

    async def _stored_of(self, user_ids: list[str]) -> dict[str, list[AnyRow]]:
        names = ("user_id", "provider", "sealed_key", "base_url", "default_model")
        query = (
            select(*(_credentials.c[name] for name in names))
            .where(among(_credentials.c.user_id, user_ids))
            .order_by(_credentials.c.provider)
        )
        stored: dict[str, list[AnyRow]] = {}
        for row in await self._store.all(query):
            stored.setdefault(row.user_id, []).append(row)
        return stored


def _without_default(user_id: str) -> Update:
    mine = _credentials.c.user_id == user_id
    return update(_credentials).where(mine).values(default_model=None)


def _full_name(provider: str, model: str) -> str:
    """As docs/guide/models.md says who serves a name. Plain names are OpenAI's, or its server's."""
    is_plain = provider == "openai" or (provider == "anthropic" and model.startswith("claude"))
    return model if is_plain else f"{provider}/{model}"


def check_provider(name: str) -> None:
    if not _PROVIDER.fullmatch(name):
        raise InvalidRequest(
            "a provider's name has 1 to 60 of: lower-case letters, digits, '_', '.', '-'"
        )


def _context(user_id: str, provider: str) -> str:
    return f"credentials:{user_id}:{provider}"


def _is(user_id: str, provider: str) -> ColumnElement[bool]:
    return and_(_credentials.c.user_id == user_id, _credentials.c.provider == provider)


def from_environment(env: Mapping[str, str]) -> list[Revealed]:
    """The keys and addresses in `OPENAI_API_KEY`, `OPENAI_BASE_URL` and the like.

    They are lent to the first user's machines only: whoever gets a key in `init` can read it there.
    """
    found = []
    for provider in _IN_ENVIRONMENT:
        api_key = env.get(f"{provider.upper()}_API_KEY", "").strip()
        base_url = env.get(f"{provider.upper()}_BASE_URL", "").strip()
        if len(api_key) > limits.API_KEY_CHARS_MAX or len(base_url) > limits.URL_CHARS_MAX:
            raise InvalidRequest(
                f"settings: {provider.upper()}_API_KEY or _BASE_URL is too long",
                code="INVALID_SETTINGS",
            )
        if api_key or base_url:
            found.append(Revealed(provider, api_key, base_url or None))
    return found
