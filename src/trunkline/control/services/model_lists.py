"""Which models a server has, asked with a key before that key is kept, and of a provider itself
when a session names one that nobody knows.

The control plane asks, not the machine that will: what one can reach, the other may not. Everybody
may try public addresses; addresses of this host and its network only administrators, who can run
programs here anyway. Keys go to the address that they were given for, and into no log or message.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
import structlog

from trunkline import limits
from trunkline.control.clock import Seconds
from trunkline.control.errors import InvalidRequest, LimitReached
from trunkline.control.records.credentials import Revealed
from trunkline.control.services.address_guard import (
    AddressGuard,
    AddressRefused,
    Resolve,
    load_http,
    resolve,
)

if TYPE_CHECKING:
    import httpx2

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

Problem = Literal[
    "KEY_REFUSED", "UNREACHABLE", "ADDRESS_REFUSED", "NOT_A_MODEL_SERVER", "SERVER_FAILED"
]

ASKING_S = 10.0  # for everything together
PER_USER_MAX = 4  # under way
MODELS_MAX = 2_000
HEARD_MAX = 200  # lists that are remembered
HEARD_S = 3600.0
LEARNING_S = 2.0  # that a new session waits for a provider's list; what comes later is kept
AGAIN_S = 60.0  # before a provider is asked once more for a user: it may have a new model by then
_NAME_CHARS_MAX = 200
_SAID_CHARS = 200
_ANSWER_BYTES_MAX = 8 * limits.MIB  # lists of gateways are long
_USUAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_OTHER_SERVICES = ("tavily", "brave", "searxng")
# Of this host, of networks of one's own, and of what lies over them. Link-local addresses and those
# of fd00::/8 are left out: there clouds have keys of their hosts.
_OWN_NETWORKS = "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,::1/128"

_Place = tuple[str, str]
"""A user and a provider."""
_T = TypeVar("_T")

Reveal = Callable[[str], Awaitable[list[Revealed]]]
"""A user's keys."""


async def _no_keys(_user_id: str) -> list[Revealed]:
    return []


class ModelList(msgspec.Struct, kw_only=True):
    """What came of a test. `base_url`: the address that works, which may have a `/v1` that was left
    out; null for the provider's own. `error`: in words; `code`: one of five kinds."""

    ok: bool
    models: list[str]
    base_url: str | None
    code: Problem | None
    error: str | None


class _Failed(Exception):
    def __init__(self, code: Problem, message: str) -> None:
        super().__init__(message)
        self.code: Problem = code
        self.message = message


class _Absent(_Failed):
    """There is something, but no list of models at this address."""


class ModelLists:
    """Asks servers for their models."""

    def __init__(
        self,
        allowed_hosts: str,
        resolver: Resolve = resolve,
        now: Seconds = time.monotonic,
        *,
        reveal: Reveal = _no_keys,
        usual: Mapping[str, str] = _USUAL,
    ) -> None:
        """`allowed_hosts`: those that everybody may name, though they are not public. `usual`: the
        providers' own addresses."""
        self._allowed = allowed_hosts
        self._resolver = resolver
        self._under_way: Counter[str] = Counter()
        self._now = now
        self._reveal = reveal
        self._usual = usual
        self._heard: dict[_Place, tuple[float, list[str]]] = {}
        """By user and provider: when its own list was read, and that."""
        self._asked_at: dict[_Place, float] = {}
        self._learning: dict[_Place, asyncio.Task[None]] = {}

    async def known_to(self, user_id: str) -> dict[str, str | None]:
        """The providers that there is a key or an address for, and the address."""
        return {one.provider: one.base_url for one in await self._reveal(user_id)}

    async def ask(
        self,
        user_id: str,
        provider: str,
        known: Revealed | None,
        *,
        api_key: str | None,
        base_url: str | None,
        is_admin: bool,
    ) -> ModelList:
        """`known`: the key that there is already. It is used where no other is given, and only at
        the address that it is kept with."""
        if provider in _OTHER_SERVICES:
            raise InvalidRequest(f"{provider} searches the web: it has no models to list")
        kept = known.base_url if known is not None else None
        address = base_url or kept or self._usual.get(provider)
        if address is None:
            usual = ", ".join(self._usual)
            raise InvalidRequest(
                f"{provider} is no provider that we know ({usual}): it needs a base_url"
            )
        key = api_key or ""
        if not key and known is not None and base_url in (None, kept):
            key = known.api_key
        if not _is_address(address):
            return _failed("UNREACHABLE", "this is no address of a server")
        if not (key.isascii() and key.isprintable()):
            return _failed("KEY_REFUSED", "the key has characters that no key has")
        if self._under_way[user_id] >= PER_USER_MAX:
            raise LimitReached("too many tests are under way; wait for one to end")
        self._under_way[user_id] += 1
        try:
            async with asyncio.timeout(ASKING_S):
                found, at = await self._asked(provider, address.rstrip("/"), key, is_admin)
        except TimeoutError:
            return _failed("UNREACHABLE", f"{_host(address)} did not answer in time")
        except _Failed as failed:
            return _failed(failed.code, failed.message)
        finally:
            self._under_way[user_id] -= 1
            self._under_way += Counter()  # drops those at zero
        shown = None if at == self._usual.get(provider) else at
        # What is only tried beside a key that is kept says nothing of what that one opens.
        if shown is None and found and (known is None or key == known.api_key):
            self.heard(user_id, provider, found)
        return ModelList(ok=True, models=found, base_url=shown, code=None, error=None)

    def heard(self, user_id: str, provider: str, models: list[str]) -> None:
        """A provider has said which models that user's key opens."""
        _keep_newest(self._heard, (user_id, provider), (self._now(), models))

    def forget(self, user_id: str) -> None:
        """The user's keys changed: another one may open other models."""
        for known in (self._heard, self._asked_at):
            for one in [one for one in known if one[0] == user_id]:
                known.pop(one)
        for (user, _), asking in self._learning.items():
            if user == user_id:
                asking.cancel()

    async def learn(self, user_id: str, provider: str) -> None:
        """Asks the provider itself with the user's key, if there is one and that was not just done.
        Waits a short while for it; `of` then has what came."""
        place = user_id, provider
        asking = self._learning.get(place)
        if asking is None:
            asked_at = self._asked_at.get(place)
            is_due = asked_at is None or self._now() - asked_at >= AGAIN_S
            if provider not in self._usual or not is_due:
                return
            _keep_newest(self._asked_at, place, self._now())
            asking = asyncio.create_task(self._learn(user_id, provider))
            self._learning[place] = asking
            asking.add_done_callback(lambda _: self._learning.pop(place))
        await asyncio.wait((asking,), timeout=LEARNING_S)

    async def _learn(self, user_id: str, provider: str) -> None:
        try:
            keys = [key for key in await self._reveal(user_id) if key.provider == provider]
            for key in keys:
                if key.api_key and not key.base_url:
                    await self.ask(
                        user_id, provider, key, api_key=None, base_url=None, is_admin=False
                    )
        except LimitReached:
            pass  # the user tests keys at this moment
        except Exception:
            _log.exception("a provider's list of models was not asked for", provider=provider)

    async def close(self) -> None:
        """Gives up what is still being asked."""
        for asking in (under_way := list(self._learning.values())):
            asking.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    def of(self, user_id: str) -> dict[str, list[str]]:
        """By provider, the models that a user has there, where its own list was read a short while
        ago: providers add some."""
        oldest = self._now() - HEARD_S
        return {
            provider: models
            for (user, provider), (at, models) in self._heard.items()
            if user == user_id and at >= oldest
        }

    async def _asked(
        self, provider: str, address: str, key: str, is_admin: bool
    ) -> tuple[list[str], str]:
        await load_http()
        import httpx2

        from trunkline.control.services.guarded_http import GuardedTransport

        allowed = f"{self._allowed},{_OWN_NETWORKS}" if is_admin else self._allowed
        guard = AddressGuard(allowed.strip(","))
        transport = GuardedTransport(guard, _ANSWER_BYTES_MAX, self._resolver)
        async with httpx2.AsyncClient(
            transport=transport, timeout=ASKING_S, trust_env=False
        ) as http:
            if provider == "anthropic":
                root = address.removesuffix("/v1")
                headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
                return await _list(http, f"{root}/v1/models?limit=1000", headers), root
            headers = {"authorization": f"Bearer {key}"} if key else {}
            try:
                return await _list(http, f"{address}/models", headers), address
            except _Absent:
                if address.endswith("/v1"):
                    raise
                # What most servers want, and most people leave out.
                return await _list(http, f"{address}/v1/models", headers), f"{address}/v1"


def _keep_newest(kept: dict[_Place, _T], place: _Place, value: _T) -> None:
    kept.pop(place, None)
    kept[place] = value
    while len(kept) > HEARD_MAX:
        del kept[next(iter(kept))]


async def _list(http: "httpx2.AsyncClient", url: str, headers: dict[str, str]) -> list[str]:
    import httpx2

    host = _host(url)
    try:
        response = await http.get(url, headers={**headers, "accept": "application/json"})
    except AddressRefused:
        raise _Failed(
            "ADDRESS_REFUSED",
            f"{host} is not a public address, and this server calls such for administrators only; "
            "your machine may reach it all the same",
        ) from None
    except httpx2.TimeoutException:
        raise _Failed("UNREACHABLE", f"{host} did not answer in time") from None
    except httpx2.ConnectError as error:
        raise _Failed("UNREACHABLE", f"{host} cannot be reached: {_said(error)}") from None
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, ValueError) as error:
        raise _Failed(
            "NOT_A_MODEL_SERVER", f"{host} does not answer like one: {_said(error)}"
        ) from None
    _check_status(response, host)
    return _names(response.content, host)


def _check_status(response: "httpx2.Response", host: str) -> None:
    status = response.status_code
    if status in (401, 403):
        raise _Failed("KEY_REFUSED", f"{host} refuses the key (HTTP {status})")
    if status == 429 or status >= 500:
        raise _Failed("SERVER_FAILED", f"{host} fails or is busy (HTTP {status}); try again later")
    if 300 <= status < 400:
        raise _Failed(
            "NOT_A_MODEL_SERVER", f"{host} leads elsewhere (HTTP {status}): give that address"
        )
    if status != 200:
        raise _Absent("NOT_A_MODEL_SERVER", f"{host} has no list of models here (HTTP {status})")


def _names(body: bytes, host: str) -> list[str]:
    try:
        said: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        said = None
    entries = said.get("data") if isinstance(said, dict) else None
    if not isinstance(entries, list):
        raise _Absent("NOT_A_MODEL_SERVER", f"what {host} answers is no list of models")
    ids = (entry.get("id") for entry in entries if isinstance(entry, dict))
    named = {one for one in ids if isinstance(one, str) and _is_name(one)}
    return sorted(named)[:MODELS_MAX]


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _NAME_CHARS_MAX and text.isprintable()


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _host(url: str) -> str:
    return urlsplit(url).netloc[:_SAID_CHARS]


def _said(error: Exception) -> str:
    return str(error)[:_SAID_CHARS] or type(error).__name__


def _failed(code: Problem, message: str) -> ModelList:
    return ModelList(ok=False, models=[], base_url=None, code=code, error=message)
