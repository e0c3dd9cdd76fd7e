"""The client: one server seen with one token."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

from trunkline.client.http import Http
from trunkline.client.models import Json, Page
from trunkline.client.sessions import Sessions


class Client:
    """`async with Client(url, token) as client:`. Records are plain JSON objects."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.http = Http(url, token)
        self.sessions = Sessions(self.http)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
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
