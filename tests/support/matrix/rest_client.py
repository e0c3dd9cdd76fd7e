"""REST + SSE, by the typed client: its streams go on by themselves when the line was cut."""

import asyncio
from urllib.parse import urlsplit

from tests.support.control import TestUser
from tests.support.matrix.client import ClientDriver, Json, Said
from tests.support.matrix.seen import Kind, Seen
from tests.support.matrix.steps import Client
from tests.support.proxy import CuttableProxy
from trunkline.client import ApiError
from trunkline.client import Client as TypedClient


class RestClient(ClientDriver):
    kind = Client.REST

    def __init__(self, user: TestUser) -> None:
        super().__init__(user)
        self._proxy = CuttableProxy(urlsplit(user.control.url).port or 0)
        self.typed: TypedClient
        self._following: set[asyncio.Task[None]] = set()
        self.ids: list[int] = []
        """The ids of every event, in the order in which they came."""

    async def open(self) -> "RestClient":
        await self._proxy.__aenter__()
        self.typed = TypedClient(f"http://127.0.0.1:{self._proxy.port}", self.user.token)
        return self

    async def create(self, machine_id: str) -> str:
        session = await self.typed.sessions.create(machine_id=machine_id)
        await self.follow(session.id)
        return session.id

    async def follow(self, session_id: str) -> None:
        self._following.add(asyncio.create_task(self._follow(session_id)))

    async def _follow(self, session_id: str) -> None:
        view = self.view(session_id)
        async for event in self.typed.sessions.stream(session_id):
            if event.id is not None:
                self.ids.append(event.id)
            view.show(*seen_in(event.data))

    async def say(self, session_id: str, text: str) -> None:
        await self.typed.sessions.send(session_id, text)

    async def answer(self, session_id: str, question: Seen, answer: str) -> None:
        try:
            await self.typed.sessions.answer(question.id, True, answer, session_id)
        except ApiError as error:
            if error.code != "ALREADY_ANSWERED":  # somebody else was faster
                raise

    async def permit(self, session_id: str, question: Seen, allowed: bool) -> None:
        await self.typed.sessions.answer(question.id, allowed, session_id=session_id)

    async def cancel(self, session_id: str) -> None:
        await self.typed.sessions.cancel(session_id)

    async def drop(self) -> None:
        self._proxy.cut()

    async def come_back(self) -> None:
        self._proxy.mend()

    async def history(self, session_id: str) -> Said:
        found: Said = []
        async for event in self.typed.sessions.events(session_id):
            for one in seen_in(event.data):
                if one.kind in (Kind.USER, Kind.END):
                    found.append(("user" if one.kind is Kind.USER else "agent", one.text))
        return found

    async def close(self) -> None:
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        await self.typed.http.close()
        await self._proxy.__aexit__(None, None, None)


def seen_in(data: Json) -> list[Seen]:
    """docs/protocols/events.md."""
    content, who = str(data.get("content") or ""), (data.get("person") or {}).get("name", "")
    match data["type"]:
        case "user_message":
            return [Seen(Kind.USER, content)]
        case "text_chunk":
            return [Seen(Kind.TEXT, content, who=who)]
        case "thinking":
            return [Seen(Kind.THINKING, content, who=who)]
        case "tool_call_start":
            return [Seen(Kind.TOOL, data["tool_name"], data["tool_call_id"], who)]
        case "tool_call_complete":
            return [Seen(Kind.RESULT, str(data["result"]), data["tool_call_id"], who)]
        case "approval_request":
            return [Seen(Kind.QUESTION, data["message"], data["request_id"], who)]
        case "approval_resolved":
            return [Seen(Kind.ANSWERED, str(data.get("answer") or ""), data["request_id"], who)]
        case "execution_complete":
            return [Seen(Kind.CANCELLED if data.get("cancelled") else Kind.END, content)]
        case "execution_error":
            return [Seen(Kind.ERROR, data["error"])]
    return []
