"""Routes of what a session did to files: which it changed, one of them, its worktree."""

import mimetypes
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api import saved
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.sessions.work import Applied, Discarded, SessionDiff, SessionFiles

files = Routes("sessions")


class PartQuery(msgspec.Struct, kw_only=True):
    offset: Annotated[
        int, Meta(ge=0, le=limits.JSON_INT_MAX, description="The first byte wanted.")
    ] = 0
    length: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=limits.SESSION_FILE_PART_BYTES_MAX,
                description="How many bytes; without it, all that follow.",
            ),
        ]
        | None
    ) = None


@files.get("/sessions/{session_id}/files")
async def list_files(core: Core, who: Principal, session_id: str) -> SessionFiles:
    """List the files that a session made or changed.

    As its `file_created` and `file_changed` events told. The machine is asked; it has to be online.
    """
    return await core.work.files(who, session_id)


@files.get("/sessions/{session_id}/files/{path:.+}", media=saved.UNKNOWN)
async def get_file(
    core: Core, who: Principal, session_id: str, path: str, query: PartQuery
) -> web.Response:
    """Fetch a file that a session made or changed, from that session's folder.

    Of a file over 4 MiB, parts are asked for with `offset` and `length` (status 206); the header
    `Content-Range` says how large it is.
    """
    part = await core.work.part(who, session_id, path, query.offset, query.length)
    kind, coding = mimetypes.guess_type(path.rpartition("/")[2])
    headers = {**saved.HEADERS, "Content-Disposition": saved.disposition(path)}
    is_part = len(part.data) != part.size
    if is_part:
        last = part.offset + len(part.data) - 1
        span = f"{part.offset}-{last}" if part.data else "*"
        headers["Content-Range"] = f"bytes {span}/{part.size}"
    return web.Response(
        body=part.data,
        status=206 if is_part else 200,
        headers=headers,
        content_type=kind if kind and not coding else saved.UNKNOWN,
    )


@files.get("/sessions/{session_id}/diff")
async def get_diff(core: Core, who: Principal, session_id: str) -> SessionDiff:
    """Show what a session has done in its worktree, since it began.

    Also of a session that was closed, while its work is neither applied nor discarded.
    """
    return await core.work.diff(who, session_id)


@files.post("/sessions/{session_id}/apply", scope="talk", audit="session.applied")
async def apply_work(core: Core, who: Principal, session_id: str) -> Applied:
    """Bring what a session has done in its worktree onto the working tree that it was made from.

    As changes that are not committed: all of them, or with a conflict (`APPLY_CONFLICT`) none.
    """
    return await core.work.apply(who, session_id)


@files.post("/sessions/{session_id}/discard", scope="talk", audit="session.discarded")
async def discard_work(core: Core, who: Principal, session_id: str) -> Discarded:
    """Throw away what a session has done in its worktree.

    An open session goes on from where it began; of a closed one the worktree is removed.
    """
    return await core.work.discard(who, session_id)
