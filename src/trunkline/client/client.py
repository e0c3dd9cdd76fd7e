"""The client: one server seen with one token. Records, and sessions to talk to and follow."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from trunkline.client.http import TIMEOUT_S, Http
from trunkline.client.live import Sleep
from trunkline.client.locate import ServerAccess, find_server
from trunkline.client.models import Json, Page
from trunkline.client.sessions import Sessions


class Client:
    """`async with Client() as client:`. Records are plain JSON objects.

    `url`: an address, or what `locate.find_server` has found. Without it the server is the one that
    the command line would talk to: TRUNKLINE_URL and TRUNKLINE_TOKEN, else the one that runs with
    the data folder (`data`, TRUNKLINE_DATA).
    `timeout_s` bounds a call with all its attempts; `sleep` waits between them.
    """

    def __init__(
        self,
        url: str | ServerAccess | None = None,
        token: str | None = None,
        *,
        data: str | None = None,
        timeout_s: float = TIMEOUT_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        if isinstance(url, str):
            url = ServerAccess(url.rstrip("/"), token)
        where = url or find_server(None, token, data, os.environ)
        self.http = Http(where, timeout_s)
        self.sessions = Sessions(self.http, sleep)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends its connections; it can be used again."""
        await self.http.close()

    async def get(self, *path: str, **query: Any) -> Json:
        """`get("agents", id)`: one record, or whatever object is there."""
        return await self.http.fetch(Json, "GET", *path, query=query)

    async def each(self, *path: str, **query: Any) -> AsyncIterator[Json]:
        """Every item of a list, page by page."""
        cursor: str | None = None
        while True:
            page = await self.http.fetch(
                Page[Json], "GET", *path, query={**query, "cursor": cursor}
            )
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return

    async def post(self, *path: str, body: Json | None = None) -> Json:
        return await self.http.fetch(Json, "POST", *path, body=body or {})

    async def put(self, *path: str, body: Json) -> Json:
        return await self.http.fetch(Json, "PUT", *path, body=body)

    async def patch(self, *path: str, body: Json) -> Json:
        return await self.http.fetch(Json, "PATCH", *path, body=body)

    async def delete(self, *path: str) -> None:
        await self.http.call("DELETE", *path)

    async def upload(self, *path: str, content: bytes) -> Json:
        return await self.http.fetch(Json, "POST", *path, upload=content)

    async def me(self) -> Json:
        """Who this token is: `user`, `org`, `token_id`."""
        return await self.get("me")
