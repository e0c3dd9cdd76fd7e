"""Files ahead of the message that they belong to, and what such a message then carries."""

import msgspec

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.fields import Json
from trunkline.control.services.uploads import Upload
from trunkline.control.sessions.records import NewMessage

uploads = Routes("uploads")


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
