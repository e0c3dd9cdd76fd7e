"""The way out for commands of sessions with the network `list`: an HTTP proxy of the daemon.

On loopback, one for all sessions. A session is known by the password in its proxy's address, and
reaches the hosts of its own list: by CONNECT, or by a plain request. A name that leads to a private
address is refused, unless the list names that address itself.
"""

import asyncio
import base64
import binascii
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import structlog

from trunkline.addresses import is_public
from trunkline.execution.fence import hosts as hosts_of

_log = structlog.get_logger(__name__)

HEAD_BYTES_MAX = 32 * 1024
HEAD_S = 10.0
CONNECT_S = 20.0
CONNECTIONS_MAX = 256
SESSIONS_MAX = 2_000  # whose lists are known; the oldest go first
_READ_BYTES = 64 * 1024

Resolve = Callable[[str, int], Awaitable[list[str]]]


class _Refused(Exception):
    """With a status line of HTTP."""


class Proxy:
    """Opened by the daemon; told each session's list before its process starts."""

    def __init__(self, resolve: Resolve | None = None) -> None:
        self._resolve = resolve or _resolved
        self._lists: dict[str, tuple[str, list[str]]] = {}
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> None:
        """Raises OSError."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
        self.port = self._server.sockets[0].getsockname()[1]

    def address(self, session_id: str, hosts: Sequence[str]) -> str:
        """Of the proxy, for that session alone. The same again for the same session."""
        password, _ = self._lists.pop(session_id, (secrets.token_urlsafe(16), []))
        self._lists[session_id] = (password, list(hosts))
        if len(self._lists) > SESSIONS_MAX:
            del self._lists[next(iter(self._lists))]
        return f"http://{session_id}:{password}@127.0.0.1:{self.port}"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if len(self._open) > CONNECTIONS_MAX:
                raise _Refused("503 Too many connections")
            await self._pass_on(reader, writer)
        except _Refused as refused:
            writer.write(_answer(str(refused)))
            with suppress(OSError):
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # one of the two ends is gone, or never said what it wants
        finally:
            self._open.discard(task)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
        method, target = _request(line)
        host, port, first = _place(method, target, line, fields)
        self._check(fields, host)
        outward, inward = await self._connected(host, port)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                inward.write(first)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, inward))
                both.create_task(_pump(outward, writer))
        finally:
            inward.close()

    def _check(self, fields: Sequence[str], host: str) -> None:
        """Raises _Refused."""
        user, password = _login(fields)
        known = self._lists.get(user)
        if known is None or not secrets.compare_digest(known[0].encode(), password.encode()):
            raise _Refused("407 Proxy Authentication Required")
        if not any(hosts_of.covers(one, host) for one in known[1]):
            _log.info("a host that is not on a session's list", session=user, host=host[:200])
            raise _Refused(f"403 {host[:200]} is not among the network_hosts of this session")

    async def _connected(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(CONNECT_S):
                addresses = await self._resolve(host, port)
                usable = [one for one in addresses if one == host or _is_public(one)]
                if not usable:
                    raise _Refused(f"403 {host[:200]} leads to no public address")
                return await asyncio.open_connection(usable[0], port)
        except (OSError, TimeoutError) as error:
            raise _Refused(f"502 {host[:200]} cannot be reached") from error


def _request(line: str) -> tuple[str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise _Refused("400 Bad Request")
    return parts[0], parts[1]


def _place(method: str, target: str, line: str, fields: Sequence[str]) -> tuple[str, int, bytes]:
    """Whom a request is for, and what that one is sent first. Raises _Refused."""
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    is_plain = method != "CONNECT"
    if not host or not hosts_of.is_host(host) or (is_plain and parts.scheme != "http"):
        raise _Refused("400 Bad Request")
    if not is_plain:
        return host, port or 443, b""
    path = parts.path or "/"
    version = line.rsplit(" ", 1)[1]
    kept = [one for one in fields if not one.lower().startswith(("proxy-", "connection:"))]
    query = f"?{parts.query}" if parts.query else ""
    lines = [f"{method} {path}{query} {version}", *kept, "Connection: close"]
    return host, port or 80, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _login(fields: Sequence[str]) -> tuple[str, str]:
    for field in fields:
        name, _, value = field.partition(":")
        kind, _, coded = value.strip().partition(" ")
        if name.lower() == "proxy-authorization" and kind.lower() == "basic":
            with suppress(binascii.Error, UnicodeDecodeError):
                user, _, password = base64.b64decode(coded, validate=True).decode().partition(":")
                return user, password
    return "", ""


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_READ_BYTES):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _resolved(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(one[4][0]) for one in found]


def _is_public(text: str) -> bool:
    try:
        return is_public(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return False


def _answer(status: str) -> bytes:
    code, _, words = status.partition(" ")
    more = 'Proxy-Authenticate: Basic realm="session"\r\n' if code == "407" else ""
    body = f"{words}\n".encode()
    head = f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode("latin-1", "replace") + body
