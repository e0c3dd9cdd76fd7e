"""A reader of an account's stream, as a browser has one."""

from typing import Any

from tests.support.control import TestUser
from tests.support.sse import SseReader


class AccountReader(SseReader):
    def __init__(self, user: TestUser, *follow: str, **options: Any) -> None:
        query = "&".join(f"follow={one}" for one in follow)
        path = "/api/v1/stream" + (f"?{query}" if query else "")
        super().__init__(user.control.url, "", user.token, path=path, **options)
        self._user = user

    async def __aenter__(self) -> "AccountReader":
        await self.open()
        return self

    async def stream_id(self) -> str:
        return str((await self.until_news("hello"))["stream_id"])

    async def call(self, what: str, **body: Any) -> tuple[int, Any]:
        path = f"/streams/{await self.stream_id()}/{what}"
        return await self._user.call("POST", path, body)

    async def follow(self, session_id: str, after: int = 0) -> None:
        status, answer = await self.call("follow", session_id=session_id, after=after)
        assert status == 204, answer

    def of(self, session_id: str) -> list[int]:
        """The ids that it was shown of that session, in their order."""
        return [one.id for one in self.events if one.session == session_id and one.id is not None]

    async def until_of(self, session_id: str, upto: int) -> None:
        await self.until(lambda _: self.of(session_id)[-1:] == [upto], f"event {upto}")

    def news(self, name: str) -> list[Any]:
        return [one.json for one in self.events if one.name == name]

    async def until_news(self, name: str, **fields: Any) -> Any:
        """The newest news of that name with these values in it."""

        def found() -> list[Any]:
            return [one for one in self.news(name) if fields.items() <= one.items()]

        await self.until(lambda _: bool(found()), f"{name} with {fields}")
        return found()[-1]
