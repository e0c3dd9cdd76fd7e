"""Routes of an account's stream: open it, and change what it follows."""

from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.event_schema import LogEvent
from trunkline.control.api.framework import Routes, Stream
from trunkline.control.api.routes.sessions import TAKE_BACK
from trunkline.control.core import Core
from trunkline.control.edges.sse.account import Hello, Resync
from trunkline.control.news import Gone, MachineNews
from trunkline.control.records.fields import Id
from trunkline.control.sessions.approvals import Approval
from trunkline.control.sessions.records import Session

streams = Routes("streams")


class FollowQuery(msgspec.Struct, kw_only=True):
    follow: Annotated[
        list[Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]],
        Meta(
            max_length=limits.STREAM_SESSIONS_MAX,
            description="`SESSION_ID:POSITION`, as often as there are sessions; the position is "
            "the last id that you have of it.",
        ),
    ] = []


class Follow(msgspec.Struct, kw_only=True):
    """`after`: the last id that you have of it."""

    session_id: Id
    after: Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX)] = 0


class Leave(msgspec.Struct, kw_only=True):
    session_id: Id


@streams.get(
    "/stream",
    media="text/event-stream",
    stream=Stream(
        "AccountFrame",
        {
            "": LogEvent,
            "hello": Hello,
            "resync": Resync,
            "session": Session,
            "approval": Approval,
            "machine": MachineNews,
            "gone": Gone,
        },
    ),
)
async def stream_account(request: web.Request, query: FollowQuery) -> web.StreamResponse:
    """Follow any number of sessions and the news of all lists, on one connection.

    `hello` names the stream. An event of a session has the id `SESSION_ID:42`. `session`,
    `approval`, `machine` and `gone` are news of what you may see in lists: whoever comes back reads
    the lists again. `resync`: the position in that session is no longer kept; read its events by
    `after` and go on.
    """
    return await request.app[TAKE_BACK](request)


@streams.post("/streams/{stream_id}/follow", status=204, scope="read")
async def follow_session(core: Core, who: Principal, stream_id: str, body: Follow) -> None:
    """Follow one more session on an open stream of yours; from another position, if it does."""
    stream = core.streams.get(who, stream_id)
    log = await core.sessions.readable(who, body.session_id)
    await stream.follow(log, body.after)


@streams.post("/streams/{stream_id}/leave", status=204, scope="read")
async def leave_session(core: Core, who: Principal, stream_id: str, body: Leave) -> None:
    """Follow a session no longer. Twice is like once."""
    core.streams.get(who, stream_id).leave(body.session_id)
