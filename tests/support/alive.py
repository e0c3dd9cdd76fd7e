"""Whether a line still works, and what its session's log holds."""

from tests.support.control import TestUser
from tests.support.raw_ws import (
    RawWs,
)


async def texts(user: TestUser, session_id: str) -> list[str]:
    """What the session's log holds."""
    page = await user.ok("GET", f"/sessions/{session_id}/events?limit=1000")
    return [item["event"]["content"] for item in page["items"]]


async def assert_alive(user: TestUser, line: RawWs, session_id: str) -> None:
    """The line lives on: an event still flows from it to a reader."""
    await line.event(session_id, "still here")
    async with user.reader(session_id) as reader:
        await reader.until_text("still here")
