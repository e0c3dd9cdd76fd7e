"""Files ahead of the message that they belong to, and what such a message then carries."""

import msgspec
from aiohttp import web

from trunkline.control.access.auth import Principal
from trunkline.control.api import saved
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.errors import InvalidRequest, NotFound
from trunkline.control.records.fields import Json
from trunkline.control.services.uploads import Upload
from trunkline.control.sessions import attached
from trunkline.control.sessions.records import NewMessage

uploads = Routes("uploads")

_PICTURES = frozenset(f"image/{one}" for one in ("png", "jpeg", "gif", "webp", "avif"))
"""What is answered as what it says it is; everything else is for saving alone."""


class UploadedFile(msgspec.Struct, kw_only=True):
    id: str
    name: str
    mime: str
    size: int


class UploadedFiles(msgspec.Struct, kw_only=True):
    """In the order in which they came."""

    items: list[UploadedFile]


@uploads.post("/uploads", status=201, scope="talk")
async def add_uploads(core: Core, who: Principal, files: list[Upload]) -> UploadedFiles:
    """Upload files ahead of the message that names them in `attachment_ids`.

    They are kept in memory, for ten minutes, and belong to the first message that names them.
    """
    ids = core.uploads.add(who.user_id, files)
    return UploadedFiles(
        items=[
            UploadedFile(id=file_id, name=one.name, mime=one.mime, size=len(one.content))
            for file_id, one in zip(ids, files, strict=True)
        ]
    )


@uploads.get(
    "/sessions/{session_id}/messages/{message_id}/attachments/{number}", media=saved.UNKNOWN
)
async def get_attachment(
    core: Core, who: Principal, session_id: str, message_id: str, number: str
) -> web.Response:
    """Fetch a file that came with a message of a session.

    `message_id`: the `message_id` of its `user_message`, or without one that event's `turn_id`;
    `number`: the place in its `attachments`, from 0. Of an imported session the files are not kept.
    """
    session = await core.sessions.get(who, session_id)
    metadata = await core.turns.metadata(session.id, message_id) or {}
    place = int(number) if number.isdecimal() and len(number) < 4 else -1
    file = attached.file_of(metadata, place)
    if file is None:
        raise NotFound("attachment", f"{message_id}/{number}")
    headers = {**saved.HEADERS, "Content-Disposition": saved.disposition(file.name)}
    kind = file.mime if file.mime in _PICTURES else saved.UNKNOWN
    return web.Response(body=file.content, headers=headers, content_type=kind)


async def with_files(core: Core, who: Principal, session_id: str, new: NewMessage) -> NewMessage:
    """The message with the files that it names. One that was taken before has had its files."""
    named = new.client_message_id
    if named is not None and await core.turns.named(session_id, named) is not None:
        return new
    metadata: Json = dict(new.metadata or {})
    given = metadata.get("attachments", [])
    if not isinstance(given, list):
        raise InvalidRequest("metadata.attachments must be a list")
    files = core.uploads.attachments(who.user_id, new.attachment_ids)
    metadata["attachments"] = [*given, *files]
    return msgspec.structs.replace(new, metadata=metadata)
