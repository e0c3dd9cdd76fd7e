"""A line for tests of sessions: what would be sent is kept, what would be asked is scripted."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.support.eventually import eventually
from trunkline.execution.line import Handler

Json = dict[str, Any]


class RecordingLine:
    """The `SessionLine` of `execution/line.py`, without a network."""

    def __init__(self) -> None:
        self.online = True
        self.sent: list[tuple[str, Json]] = []
        self.reports: list[tuple[str, str, Json]] = []
        self.sessions: dict[str, Mapping[str, Handler]] = {}
        self.answer: Callable[[str, str, Json], Awaitable[Any]] | None = None

    async def request(self, session_id: str, method: str, /, **params: Any) -> Any:
        if not self.online:
            raise ConnectionError("the line is down")
        assert self.answer is not None, "the test did not expect a request"
        return await self.answer(session_id, method, params)

    def send_sse_event(self, session_id: str, data: str) -> None:
        self.sent.append((session_id, json.loads(data)))

    def fire_and_forget(self, session_id: str, method: str, /, **params: Any) -> None:
        self.reports.append((session_id, method, params))

    def register_session(self, session_id: str, handlers: Mapping[str, Handler]) -> None:
        self.sessions[session_id] = handlers

    def unregister_session(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)

    def tell(self, session_id: str, kind: str, **data: Any) -> None:
        """A message of the control plane, to that session."""
        self.sessions[session_id][kind](data)

    def say(self, session_id: str, message: str, turn_id: str = "t-1") -> None:
        self.tell(session_id, "user_message", message=message, turn_id=turn_id)

    def events(self, session_id: str, kind: str | None = None) -> list[Json]:
        return [
            event for of, event in self.sent if of == session_id and kind in (None, event["type"])
        ]

    async def until(self, session_id: str, kind: str, count: int = 1) -> Json:
        """The nth event of that type, as soon as it is there."""

        async def look() -> list[Json]:
            return self.events(session_id, kind)

        return (await eventually(look, lambda found: len(found) >= count))[count - 1]

    async def end_of(self, session_id: str, turn_id: str = "t-1") -> Json:
        """The event that ended a turn."""

        async def look() -> list[Json]:
            return [
                event
                for event in self.events(session_id)
                if event["type"] in ("execution_complete", "execution_error")
                and event.get("turn_id") == turn_id
            ]

        return (await eventually(look))[0]
