"""Routes of sessions: make them, talk to them, read what happened, answer what they ask."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.event_schema import LogEvent
from trunkline.control.api.framework import Routes, Stream
from trunkline.control.api.routes.uploads import with_files
from trunkline.control.core import Core
from trunkline.control.door.door import TakeBack
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.fields import Id, Label
from trunkline.control.records.page import Page, Paging
from trunkline.control.sessions.approvals import Approval
from trunkline.control.sessions.configuring import known_choices
from trunkline.control.sessions.records import (
    LoggedEvent,
    NewMessage,
    NewSession,
    Session,
)
from trunkline.control.sessions.turns import Turn

sessions = Routes("sessions")
approvals = Routes("approvals")

TAKE_BACK: web.AppKey[TakeBack] = web.AppKey("take_back")
"""Gives a connection to the edge that serves streams."""


class AcceptedMessage(msgspec.Struct, kw_only=True):
    """The turn that the message opened, or steers; its events carry this id."""

    turn_id: str


class CancelRequest(msgspec.Struct, kw_only=True):
    reason: Label = "user_cancelled"


class EventQuery(msgspec.Struct, kw_only=True):
    after: (
        Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX, description="The last id that you have.")]
        | None
    ) = None
    before: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=limits.JSON_INT_MAX,
                description="The first id that you have: reads backwards, instead of `after`.",
            ),
        ]
        | None
    ) = None
    limit: Annotated[
        int, Meta(ge=1, le=limits.EVENTS_PAGE_MAX, description="How many at most.")
    ] = limits.PAGE_MAX


class StreamQuery(msgspec.Struct, kw_only=True):
    last_event_id: Annotated[
        str, Meta(description="The last id that you have; the header Last-Event-ID wins.")
    ] = "0"


class ReadEvent(msgspec.Struct, frozen=True):
    """An event with its place in the log."""

    id: int
    event: LogEvent


class EventPage(msgspec.Struct, kw_only=True):
    """Events in order. `next_after` is the next page's `after`; null when there is no more. Of a
    page that was read backwards, `next_before` is the `before` of the one that comes before it;
    null when there is nothing older.

    `first_id`: the oldest event that is kept. `resync`: the `after` that was asked for is no place
    in this log. What came behind it was cut off, or a backup was restored: read from the beginning.
    """

    items: list[ReadEvent]
    next_after: int | None = None
    next_before: int | None = None
    first_id: int = 1
    resync: bool = False


class Nothing(msgspec.Struct):
    """An object without fields."""


class SaidMessage(TypedDict):
    role: Literal["user", "assistant"]
    content: str


class MachinePresence(TypedDict):
    """`id`: null where the session's machine is gone."""

    id: str | None
    online: bool


class Snapshot(msgspec.Struct, kw_only=True):
    """The full state at `last_event_id`: a reader takes it and goes on from there."""

    session: Session
    last_event_id: int
    messages: list[SaidMessage]
    turns: list[Turn]
    events: list[ReadEvent]
    approvals: list[Approval]
    machine: MachinePresence


@sessions.post("/sessions", status=201, scope="talk")
async def create_session(core: Core, who: Principal, body: NewSession = NewSession()) -> Session:
    """Make a session and pin it to a machine.

    Without `machine_id`, one of your machines that is online is picked: your default, else the one
    with the fewest sessions; `placement` says which, and why. With `adopt` it goes on
    with a conversation that another program has there, whose history becomes its own; for one that
    a session goes on with already, that session is returned.
    """
    if body.adopt is not None:
        return await core.adopting.adopt(who, body)
    return await core.sessions.create(who, body, is_strict=True)


@sessions.get("/sessions/{session_id}")
async def get_session(core: Core, who: Principal, session_id: str) -> Session:
    """Show a session.

    `resume`: how to go on with it in a terminal on its machine, where its runtime can.
    """
    return await core.sessions.shown(who, session_id)


@sessions.post("/sessions/{session_id}/messages", status=202, scope="talk")
async def send_message(
    core: Core, who: Principal, session_id: str, body: NewMessage
) -> AcceptedMessage:
    """Say something to a session.

    While a turn runs, it waits for its end, unless `when_busy` says otherwise: with `steer` it
    reaches the model at the turn's next step, and the answer is that turn's id; where nothing runs,
    or its machine or runtime cannot do that, it opens a turn as without. With `replace` the turn is
    cancelled first. The same `client_message_id` twice has one effect and one answer.
    `attachment_ids` name files of yours that were uploaded ahead.
    """
    if body.attachment_ids:
        body = await with_files(core, who, session_id, body)
    turn_id = await core.sessions.send(who, session_id, body)
    core.uploads.remove(who.user_id, body.attachment_ids)
    return AcceptedMessage(turn_id=turn_id)


@sessions.post("/sessions/{session_id}/cancel", status=202, scope="talk")
async def cancel_turn(
    core: Core, who: Principal, session_id: str, body: CancelRequest = CancelRequest()
) -> None:
    """Cancel what a session is doing. Nothing happens if it does nothing."""
    await core.sessions.cancel(who, session_id, body.reason)


@sessions.patch("/sessions/{session_id}/config", status=202, scope="talk")
async def configure_session(
    core: Core, who: Principal, session_id: str, body: dict[str, Any]
) -> None:
    """Change parameters of a running session, such as `temperature`.

    What only its machine understands goes into `agent_config`.
    """
    await core.sessions.configure(who, session_id, known_choices(body))


@sessions.get("/sessions/{session_id}/events")
async def list_events(core: Core, who: Principal, session_id: str, query: EventQuery) -> EventPage:
    """Read a session's log as JSON, oldest first.

    What came after an id, or, backwards, the last events before one. Where events are large, a
    page has fewer than `limit`: `next_after` or `next_before` says whether there are more.
    """
    log = await core.sessions.readable(who, session_id)
    if query.before is not None:
        if query.after is not None:
            raise InvalidRequest("query: after or before, not both")
        found = await core.sessions.events_before(who, session_id, query.before, query.limit)
        first = found[0].id if found else log.first_id
        older = first if first > log.first_id else None
        return EventPage(items=read_events(found), next_before=older, first_id=log.first_id)
    after = query.after or 0
    is_lost = after > 0 and not await core.log.holds(log, after)
    items = read_events(await core.sessions.events(who, session_id, after, query.limit))
    last = items[-1].id if items else log.last_id
    following = last if last < log.last_id else None
    return EventPage(items=items, next_after=following, first_id=log.first_id, resync=is_lost)


@sessions.get("/sessions/{session_id}/snapshot")
async def get_snapshot(core: Core, who: Principal, session_id: str) -> Snapshot:
    """Read the full state of a session, as a reader needs it after `resync`."""
    state = await core.sessions.snapshot(who, session_id)
    return Snapshot(**{**state, "events": read_events(state["events"])})


@sessions.get(
    "/sessions/{session_id}/stream",
    media="text/event-stream",
    stream=Stream("SessionFrame", {"": LogEvent, "resync": Nothing}),
)
async def stream_session(
    request: web.Request, session_id: str, query: StreamQuery
) -> web.StreamResponse:
    """Follow a session's log live (server-sent events).

    Replays what came after `last_event_id`, then goes on live. `: heartbeat` every 15 s; the event
    `resync` says that the position is no longer kept: read the snapshot and go on from there.
    """
    return await request.app[TAKE_BACK](request)


class ApprovalQuery(Paging, kw_only=True):
    state: Annotated[
        Literal["pending", "confirmed", "denied", "answered", "all"],
        Meta(description="Only in this state."),
    ] = "pending"
    session_id: Annotated[Id, Meta(description="Only of this session.")] | None = None
    order: Annotated[Literal["oldest", "newest"], Meta(description="Which come first.")] = "oldest"


class ApprovalAnswer(msgspec.Struct, kw_only=True):
    """`answer`: what the person chose or wrote, where the question asks for it. `session_id`:
    whose question it is, where it is named by its machine's id, which another may use as well.
    `scope`: for how long it is meant; what is allowed for the `session` or `always` is not asked
    about again, as far as the session's runtime can do that. `reason`: in words, for the agent."""

    confirmed: bool
    answer: Any = None
    scope: Literal["once", "session", "always"] = "once"
    reason: Annotated[str, Meta(max_length=limits.ANSWER_REASON_CHARS_MAX)] | None = None
    session_id: Id | None = None


@approvals.get("/approvals")
async def list_approvals(core: Core, who: Principal, query: ApprovalQuery) -> Page[Approval]:
    """List the questions of sessions to people; by default those that wait, oldest first.

    A person's in a group is listed once, as the group's; with its own session as `session_id`, as
    that one's.
    """
    state = None if query.state == "all" else query.state
    found = await core.approvals.page(
        who,
        state,
        query.limit + 1,
        query.cursor,
        session_id=query.session_id,
        members=query.session_id is not None,
        newest=query.order == "newest",
    )
    items = found[: query.limit]
    return Page(items, items[-1].id if len(found) > query.limit else None)


@approvals.post("/approvals/{approval_id}", scope="approve")
async def answer_approval(
    core: Core, who: Principal, approval_id: str, body: ApprovalAnswer
) -> Approval:
    """Answer a question. The first answer wins."""
    return await core.sessions.answer(
        who,
        approval_id,
        body.confirmed,
        body.answer,
        session_id=body.session_id,
        scope=body.scope,
        reason=body.reason or "",
    )


def read_events(events: Iterable[LoggedEvent]) -> list[ReadEvent]:
    return [ReadEvent(event.id, _raw(event.data)) for event in events]


def _raw(text: str) -> msgspec.Raw:
    """The text itself if it is JSON; else as a JSON string, for a machine may log anything."""
    data = text.encode(errors="replace")
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.Raw(msgspec.json.encode(data.decode()))
    return msgspec.Raw(data)
