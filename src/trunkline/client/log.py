"""A session's log as it is up to now, page by page."""

from collections.abc import AsyncGenerator

from trunkline.client.http import Http
from trunkline.client.models import Event, EventPage


async def logged(http: Http, session_id: str, after: int) -> AsyncGenerator[Event, None]:
    position: int | None = after
    while position is not None:
        page = await http.fetch(
            EventPage, "GET", "sessions", session_id, "events", query={"after": position}
        )
        for entry in page.items:
            yield entry.as_event()
        position = page.next_after
