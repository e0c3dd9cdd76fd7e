"""Routes of lists of sessions: find them, change how they are listed, take them out or away."""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

import msgspec
from aiohttp import web
from msgspec import UNSET, Meta, UnsetType

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api import saved
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.fields import Label
from trunkline.control.records.page import Page
from trunkline.control.sessions.importing import ImportQuery
from trunkline.control.sessions.listing import SessionQuery
from trunkline.control.sessions.records import Session
from trunkline.control.sessions.searching import SearchHits, SearchQuery

session_list = Routes("sessions")

_NAME_CHARS = 80


class SessionPatch(msgspec.Struct, kw_only=True):
    """What is left out stays. Null takes the title away."""

    title: Label | UnsetType | None = UNSET
    machine_id: Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)] | UnsetType = (
        UNSET
    )
    pinned: bool | UnsetType = UNSET
    archived: bool | UnsetType = UNSET


class DeleteQuery(msgspec.Struct, kw_only=True):
    erase: Annotated[bool, Meta(description="Remove it for good, with all that was said.")] = False


class ExportQuery(msgspec.Struct, kw_only=True):
    format: Annotated[
        Literal["jsonl", "markdown"], Meta(description="Every event, or what people read.")
    ] = "jsonl"


@session_list.get("/sessions")
async def list_sessions(core: Core, who: Principal, query: SessionQuery) -> Page[Session]:
    """List sessions: pinned ones first, then by their newest activity."""
    return await core.session_list.page(who, query)


@session_list.get("/sessions/search")
async def search_sessions(core: Core, who: Principal, query: SearchQuery) -> SearchHits:
    """Search in titles, in what people said and in answers.

    Every word of `q` has to be in the title, or in one turn; parts of words count, and so does any
    language. It looks for a second at most, in the most lately active sessions first.
    """
    return await core.search.find(who, query)


@session_list.patch("/sessions/{session_id}", scope="talk")
async def change_session(
    core: Core, who: Principal, session_id: str, body: SessionPatch
) -> Session:
    """Give a session a title, pin it, archive it, or move it to another machine of its user.

    A move ends an open turn with `SESSION_MOVED`. The session goes on from the last state that its
    machine has saved here.
    """
    if all(getattr(body, name) is UNSET for name in body.__struct_fields__):
        raise InvalidRequest("nothing to change")
    if body.machine_id is not UNSET:
        await core.sessions.move(who, session_id, body.machine_id)
    if body.title is not UNSET:
        await core.sessions.rename(who, session_id, body.title)
    marks = {"pinned": body.pinned, "hidden": body.archived}
    wanted = {name: value for name, value in marks.items() if value is not UNSET}
    session = await core.sessions.get(who, session_id)
    if wanted:
        await core.shown.change(session.id, **wanted)
        session = await core.sessions.get(who, session_id)
    return session


@session_list.delete("/sessions/{session_id}", scope="talk")
async def close_session(core: Core, who: Principal, session_id: str, query: DeleteQuery) -> None:
    """Stop a session on its machine.

    Its log stays readable. With `erase` it is removed for good: its log, its turns, its questions
    and the files that were sent along. What it did on its machine stays there.
    """
    if query.erase:
        await core.erasing.erase(who, session_id)
    else:
        await core.sessions.close(who, session_id)


@session_list.post("/sessions/import", status=201, scope="talk", audit="session.imported")
async def import_session(
    core: Core, who: Principal, chunks: AsyncIterator[bytes], query: ImportQuery
) -> Session:
    """Make a session of a file that was exported, here or elsewhere.

    It has an id of its own and its events in the file's order, and goes on where it is put; open
    turns and questions are ended. All of the file is good, or nothing happens.
    """
    return await core.importing.read(who, chunks, query)


@session_list.get("/sessions/{session_id}/export", media="application/x-ndjson,text/markdown")
async def export_session(
    core: Core, who: Principal, request: web.Request, session_id: str, query: ExportQuery
) -> web.StreamResponse:
    """Save a session as a file.

    All of it, to be kept or imported: its record without secrets, each event with its `id` and
    time, notes, and a last line with their counts. Or the conversation as Markdown.
    """
    session = await core.sessions.get(who, session_id)
    log = await core.sessions.readable(who, session_id)
    if query.format == "jsonl":
        kind, ending, parts = "application/x-ndjson", "jsonl", core.export.lines(session, log)
    else:
        kind, ending, parts = "text/markdown", "md", core.export.markdown(session, log)
    name = "".join(one if one.isalnum() else "-" for one in (session.title or "")[:_NAME_CHARS])
    headers = {
        **saved.HEADERS,
        "Content-Type": f"{kind}; charset=utf-8",
        "Content-Disposition": saved.disposition(f"{name.strip('-') or session.id}.{ending}"),
    }
    response = web.StreamResponse(headers=headers)
    return await _stream(request, response, parts)


async def _stream(
    request: web.Request, response: web.StreamResponse, parts: AsyncIterator[bytes]
) -> web.StreamResponse:
    await response.prepare(request)
    async for part in parts:
        await response.write(part)
    await response.write_eof()
    return response
