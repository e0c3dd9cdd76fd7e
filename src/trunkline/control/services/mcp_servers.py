"""Records of MCP servers: remote ones that the control plane calls, local ones that sessions start.

A remote server's URL and headers are credentials: sealed at rest, never shown again. A user's own
server hides the org's one of the same name.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Row, and_, or_, select
from sqlalchemy.exc import IntegrityError

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, Forbidden, InvalidRequest, NotFound
from trunkline.control.ids import new_id
from trunkline.control.records.fields import checked_text
from trunkline.control.records.page import SeenRows, changes
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import mcp_servers

HEADERS_MAX = 32
_NAME = re.compile(r"[^\W_][\w.-]{0,99}\Z")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}\Z")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*\Z")
# What HTTP itself, the MCP SDK or the guard decides.
_OWN_HEADERS = re.compile(
    r"(accept|accept-encoding|connection|content-.*|expect|host|mcp-.*|te|trailer"
    r"|transfer-encoding|upgrade)\Z"
)


Kind = Literal["remote", "local"]


class McpServerInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says about a server. Remote: `url`, `headers`. Local: `command`, `args`.
    `trust_hints`: what it says of its tools counts, so that those that only read ask nobody.
    `enabled`: sessions get it."""

    name: str
    type: Kind
    url: str | None = None
    headers: dict[str, str] = {}
    command: str | None = None
    args: list[str] = []
    timeout_s: float = limits.MCP_TIMEOUT_S
    trust_hints: bool = False
    enabled: bool = True


class McpServerPatch(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out stays; `headers` replace all that there were. What kind of server it is
    stays too."""

    name: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    command: str | UnsetType = UNSET
    args: list[str] | UnsetType = UNSET
    timeout_s: float | UnsetType = UNSET
    trust_hints: bool | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class McpServer(msgspec.Struct, frozen=True):
    """A record as it may be shown: `url` without query and secrets, no headers. One that is not
    `enabled` is told to no session, and not called for any."""

    id: str
    org_id: str
    user_id: str | None
    name: str
    type: Kind
    url: str | None
    command: str | None
    args: list[str]
    timeout_s: float
    trust_hints: bool
    enabled: bool
    created_at: int


class Endpoint(msgspec.Struct, frozen=True):
    """Where and how a remote server is called. Holds secrets: never logged, never sent."""

    server_id: str
    name: str
    url: str
    headers: dict[str, str]
    timeout_s: float


class _Secrets(msgspec.Struct, frozen=True):
    url: str
    headers: dict[str, str]


class McpServers(SeenRows[McpServer]):
    def __init__(self, store: Store, keys: Keys, clock: Clock) -> None:
        super().__init__(store, mcp_servers, McpServer, "mcp server", shared=True)
        self._keys = keys
        self._clock = clock
        self._on_change: list[Callable[[str], None]] = []

    def on_change(self, forget: Callable[[str], None]) -> None:
        """Registers a function that is called with the id of a server that was changed or
        removed."""
        self._on_change.append(forget)

    async def add(self, org_id: str, user_id: str | None, given: McpServerInput) -> McpServer:
        """`user_id` None: for the whole org."""
        _check(given)
        server = McpServer(
            id=new_id(),
            org_id=org_id,
            user_id=user_id,
            name=given.name,
            type=given.type,
            url=_shown(given.url) if given.url else None,
            command=given.command,
            args=given.args,
            timeout_s=given.timeout_s,
            trust_hints=given.trust_hints,
            enabled=given.enabled,
            created_at=self._clock(),
        )
        try:
            return await self._add(server, sealed=self._sealed(server.id, given))
        except IntegrityError as error:
            raise Conflict(f"there is an MCP server {given.name!r} already") from error

    async def change(self, who: Principal, server_id: str, patch: McpServerPatch) -> McpServer:
        """Sessions that run go on with what they were told of it."""
        server = await self._owned(who, server_id)
        if server.user_id not in (None, who.user_id):
            raise Forbidden("what somebody else's sessions start and call is theirs to say")
        given = await self._given(server, patch)
        _check(given)
        values = msgspec.structs.asdict(given) | {"sealed": self._sealed(server_id, given)}
        values["url"] = _shown(given.url) if given.url else None
        del values["headers"], values["type"]
        try:
            await self._change(server_id, values)
        except IntegrityError as error:
            raise Conflict(f"there is an MCP server {given.name!r} already") from error
        self._changed(server_id)
        return await self.get(who, server_id)

    async def _given(self, server: McpServer, patch: McpServerPatch) -> McpServerInput:
        """What a person would say to have the server as it is, with the patch on top."""
        known = msgspec.structs.asdict(server)
        said = {name: known[name] for name in McpServerInput.__struct_fields__ if name in known}
        if server.type == "remote":
            endpoint = await self.endpoint_of(server.id)
            if endpoint.headers and patch.headers is UNSET and patch.url is not UNSET:
                _check_same_host(endpoint.url, patch.url)
            said |= {"url": endpoint.url, "headers": endpoint.headers}
        return McpServerInput(**{**said, **changes(patch)})

    def _sealed(self, server_id: str, given: McpServerInput) -> bytes | None:
        if not given.url:
            return None
        secrets = msgspec.json.encode(_Secrets(given.url, given.headers)).decode()
        return self._keys.seal(secrets, _context(server_id))

    async def remove(self, who: Principal, server_id: str) -> None:
        await self._remove_owned(who, server_id)
        self._changed(server_id)

    def _changed(self, server_id: str) -> None:
        for forget in self._on_change:
            forget(server_id)

    async def index_for(
        self, org_id: str, user_id: str, names: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """The `mcp_servers` of a session's start; `names` chooses some."""
        query = (
            select(mcp_servers)
            .where(_reachable(org_id, user_id), mcp_servers.c.enabled)
            .order_by(mcp_servers.c.name, mcp_servers.c.user_id.is_(None))
            .limit(2 * limits.MCP_SERVERS_MAX)
        )
        rows = await self._store.all(query)
        wanted = None if names is None else set(names)
        index: dict[str, dict[str, Any]] = {}
        for row in rows:  # a user's own comes before the org's of the same name
            if row.name not in index and (wanted is None or row.name in wanted):
                index[row.name] = _index_entry(row)
        return list(index.values())[: limits.MCP_SERVERS_MAX]

    async def endpoint(self, org_id: str, user_id: str, name: str) -> Endpoint:
        """The remote server of that name which this user reaches, or of that id, by which some
        machines call it."""
        checked_text(name, "server", limits.NAME_CHARS_MAX)
        is_name = mcp_servers.c.name == name
        query = (
            select(mcp_servers)
            .where(_reachable(org_id, user_id), or_(is_name, mcp_servers.c.id == name))
            .order_by(is_name.desc(), mcp_servers.c.enabled.desc(), mcp_servers.c.user_id.is_(None))
            .limit(1)
        )
        row = await self._store.first(query)
        if row is None:
            raise NotFound("mcp server", name)
        if not row.enabled:
            raise InvalidRequest(f"MCP server {name!r} is switched off", code="MCP_DISABLED")
        return self._endpoint(row)

    async def endpoint_of(self, server_id: str) -> Endpoint:
        """Of one record, whether it is switched on or not: for whoever may see it."""
        row = await self._store.first(select(mcp_servers).where(mcp_servers.c.id == server_id))
        if row is None:
            raise NotFound("mcp server", server_id)
        return self._endpoint(row)

    def _endpoint(self, row: Row[Any]) -> Endpoint:
        if row.type != "remote":
            raise InvalidRequest(
                f"MCP server {row.name!r} is local: the session starts it itself", code="MCP_LOCAL"
            )
        opened = self._keys.unseal(row.sealed, _context(row.id))
        secrets = msgspec.json.decode(opened, type=_Secrets)
        return Endpoint(row.id, row.name, secrets.url, secrets.headers, row.timeout_s)


def _reachable(org_id: str, user_id: str) -> Any:
    owner = or_(mcp_servers.c.user_id == user_id, mcp_servers.c.user_id.is_(None))
    return and_(mcp_servers.c.org_id == org_id, owner)


def _index_entry(row: Row[Any]) -> dict[str, Any]:
    entry = {"id": row.id, "name": row.name, "type": row.type}
    if row.trust_hints:
        entry["trust_hints"] = True
    if row.type == "remote":
        return entry
    return {**entry, "command": row.command, "args": row.args}


def _context(server_id: str) -> str:
    return f"mcp_servers:{server_id}"


def _check(given: McpServerInput) -> None:
    if not _NAME.match(given.name):
        raise InvalidRequest("name must be letters, digits, '.', '_' or '-', at most 100")
    if not 0 < given.timeout_s <= limits.MCP_TIMEOUT_S_MAX:
        raise InvalidRequest(f"timeout_s must be above 0 and at most {limits.MCP_TIMEOUT_S_MAX}")
    if given.type == "local":
        _check_local(given)
    else:
        _check_remote(given)


def _check_local(given: McpServerInput) -> None:
    if given.url is not None or given.headers:
        raise InvalidRequest("a local server has a command, no url and no headers")
    checked_text(given.command or "", "command", 500)
    if len(given.args) > limits.MCP_ARGS_MAX:
        raise InvalidRequest(f"args must be at most {limits.MCP_ARGS_MAX}")
    for argument in given.args:
        checked_text(argument, "args", limits.MCP_HEADER_CHARS_MAX, empty=True)


def _check_remote(given: McpServerInput) -> None:
    import httpx2

    if given.command is not None or given.args:
        raise InvalidRequest("a remote server has a url, no command and no args")
    text = checked_text(given.url or "", "url", 1000)
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise InvalidRequest(f"url: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidRequest("url must begin with http:// or https:// and name a host")
    if url.userinfo:
        raise InvalidRequest("url must not carry a password; put it into headers")
    if len(given.headers) > HEADERS_MAX:
        raise InvalidRequest(f"headers must be at most {HEADERS_MAX}")
    for name, value in given.headers.items():
        if not _HEADER_NAME.match(name) or _OWN_HEADERS.match(name.lower()):
            raise InvalidRequest(f"headers: {name[:100]!r} cannot be set")
        if len(value) > limits.MCP_HEADER_CHARS_MAX or not _HEADER_VALUE.match(value):
            raise InvalidRequest(f"headers: the value of {name!r} must be short and plain ASCII")


def _check_same_host(before: str, now: str) -> None:
    """Headers are secrets of the host that they were given for."""
    import httpx2

    try:
        old, new = httpx2.URL(before), httpx2.URL(now)
    except httpx2.InvalidURL as error:
        raise InvalidRequest(f"url: {error}") from error
    if (old.scheme, old.host, old.port) != (new.scheme, new.host, new.port):
        raise InvalidRequest("url is on another host: say its headers as well")


def _shown(text: str) -> str:
    """The URL for people: parts that may be secrets are left out."""
    import httpx2

    url = httpx2.URL(text)
    parts = ["…" if len(part) >= 20 else part for part in url.path.split("/")]
    port = f":{url.port}" if url.port else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}{port}{'/'.join(parts)}"[:1000]
