"""A script that reads SSE on a raw socket and speaks REST by hand, with no client library."""

from tests.support.control import TestUser
from tests.support.matrix.client import ClientDriver, Said
from tests.support.matrix.rest_client import seen_in
from tests.support.matrix.seen import Kind, Seen, View
from tests.support.matrix.steps import Client
from tests.support.sse import SseReader


class _Showing(SseReader):
    """Shows what it reads."""

    view: View

    def _take(self, block: str) -> None:
        before = len(self.events)
        super()._take(block)
        for event in self.events[before:]:
            if event.id is not None:
                self.view.show(*seen_in(event.json))


class SseClient(ClientDriver):
    kind = Client.REST

    def __init__(self, user: TestUser) -> None:
        super().__init__(user)
        self._readers: dict[str, _Showing] = {}

    async def open(self) -> "SseClient":
        return self

    async def create(self, machine_id: str) -> str:
        session_id = await self.user.session(machine_id=machine_id)
        await self.follow(session_id)
        return session_id

    async def follow(self, session_id: str) -> None:
        await self._read(session_id, after=0)

    async def _read(self, session_id: str, after: int) -> None:
        url, token = self.user.control.url, self.user.token
        reader = _Showing(url, session_id, token, last_event_id=after)
        reader.view = self.view(session_id)
        self._readers[session_id] = reader
        await reader.open()

    async def say(self, session_id: str, text: str) -> None:
        await self.user.say(session_id, text)

    async def answer(self, session_id: str, question: Seen, answer: str) -> None:
        body = {"confirmed": True, "answer": answer, "session_id": session_id}
        status, _ = await self.user.call("POST", f"/approvals/{question.id}", body)
        assert status in (200, 409)  # somebody else was faster

    async def permit(self, session_id: str, question: Seen, allowed: bool) -> None:
        body = {"confirmed": allowed, "session_id": session_id}
        await self.user.ok("POST", f"/approvals/{question.id}", body)

    async def cancel(self, session_id: str) -> None:
        await self.user.ok("POST", f"/sessions/{session_id}/cancel", {})

    async def drop(self) -> None:
        for reader in self._readers.values():
            await reader.leave()

    async def come_back(self) -> None:
        for session_id, reader in list(self._readers.items()):
            await self._read(session_id, reader.last_id)

    async def history(self, session_id: str) -> Said:
        page = await self.user.ok("GET", f"/sessions/{session_id}/events?limit=500")
        seen = [thing for one in page["items"] for thing in seen_in(one["event"])]
        names = {Kind.USER: "user", Kind.END: "agent"}
        return [(names[one.kind], one.text) for one in seen if one.kind in names]

    async def close(self) -> None:
        await self.drop()
