"""What a request brings, turned into typed values: path, query, JSON body, upload.

Everything is bounded before it is kept, and refused as `InvalidRequest` with the place that is
wrong. What passes here can be stored in both databases and written out as JSON again.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import cache
from typing import TypeVar

import msgspec
import msgspec.inspect
from aiohttp import BodyPartReader, web
from aiohttp.http import HttpProcessingError

from trunkline import limits, names
from trunkline.control.api.known_fields import check_fields
from trunkline.control.checked_json import check_text, decode, explained
from trunkline.control.errors import InvalidRequest, TooLarge
from trunkline.control.services import uploads
from trunkline.control.services.uploads import Upload

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

_CHUNK_BYTES = 64 * 1024
_BODY_TIMEOUT_S = 60.0  # for all of it to arrive


def read_path(request: web.Request, name: str) -> str:
    value = request.match_info[name]
    most = limits.FILE_PATH_CHARS_MAX if name == "path" else limits.NAME_CHARS_MAX
    if len(value) > most:
        raise web.HTTPNotFound  # longer than any name of a record
    check_text(value, name)
    return value


def check_query(request: web.Request, kind: type[msgspec.Struct] | None) -> None:
    """InvalidRequest for a name that this type has not; None has none."""
    known = () if kind is None else kind.__struct_fields__
    if problem := names.unknown_of("field", request.query, known):
        raise InvalidRequest(f"query: {problem}", code="UNKNOWN_FIELD")


def read_query(request: web.Request, kind: type[S]) -> S:
    """Known names are checked, others ignored; of a repeated name the first counts, unless it
    is a list."""
    given: dict[str, str | list[str]] = {}
    lists = _lists_of(kind)
    for name in kind.__struct_fields__:
        values = request.query.getall(name, [])
        for value in values:
            check_text(value, name)
        if values:
            given[name] = values if name in lists else values[0]
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"query: {explained(error, kind)}") from error


@cache
def _lists_of(kind: type[msgspec.Struct]) -> frozenset[str]:
    known = msgspec.inspect.type_info(kind)
    assert isinstance(known, msgspec.inspect.StructType)
    found = set()
    for one in known.fields:
        within = one.type
        while isinstance(within, msgspec.inspect.Metadata):  # a description, and the like
            within = within.type
        if isinstance(within, msgspec.inspect.ListType):
            found.add(one.name)
    return frozenset(found)


async def read_body(
    request: web.Request, kind: type[T], default: T | None, *, is_strict: bool = False
) -> T:
    """The JSON body, its known fields checked; others are ignored, or refused (`is_strict`)."""
    raw = await _read_bounded(request, limits.BODY_BYTES_MAX)
    if not raw and default is not None:
        return default
    value = decode(raw, kind)
    if is_strict:
        check_fields(raw, kind)
    return value


async def read_upload(request: web.Request) -> bytes:
    """A file: the body itself, or the first file of a form."""
    if not request.content_type.startswith("multipart/"):
        content = await _read_bounded(request, limits.UPLOAD_BYTES_MAX)
    else:
        content = await _read_form(request)
    if not content:
        raise InvalidRequest("the upload is empty")
    return content


async def read_chunks(request: web.Request) -> AsyncIterator[bytes]:
    """A body of any size, as it comes: whoever takes it bounds it."""
    chunks = request.content.iter_chunked(_CHUNK_BYTES)
    try:
        while True:
            async with asyncio.timeout(_BODY_TIMEOUT_S):
                chunk = await anext(chunks, b"")
            if not chunk:
                return
            yield chunk
    except TimeoutError as error:
        raise web.HTTPRequestTimeout from error
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise InvalidRequest("the body's encoding is broken") from error


async def read_files(request: web.Request) -> list[Upload]:
    """All files of a form."""
    if not request.content_type.startswith("multipart/"):
        raise InvalidRequest("files come as a form")
    files: list[Upload] = []
    left = uploads.BYTES_MAX * 2
    async for part in _parts(request, left):
        if len(files) == limits.ATTACHMENTS_MAX:
            raise TooLarge(f"at most {limits.ATTACHMENTS_MAX} files at once")
        content = await _read_part(part, min(left, uploads.BYTES_MAX))
        left -= len(content)
        mime = part.headers.get("Content-Type", "application/octet-stream")
        name = (part.filename or "").strip() or f"file-{len(files) + 1}"
        for text in (name, mime):
            check_text(text, "files")
        shown = name[: limits.NAME_CHARS_MAX], mime[: limits.NAME_CHARS_MAX]
        files.append(Upload(*shown, content))
    if not files:
        raise InvalidRequest("No files uploaded")
    return files


async def _read_bounded(request: web.Request, bytes_max: int) -> bytes:
    if (request.content_length or 0) > bytes_max:
        raise _too_large(bytes_max)
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            async for chunk in request.content.iter_chunked(_CHUNK_BYTES):
                body += chunk
                if len(body) > bytes_max:
                    raise _too_large(bytes_max)
    except TimeoutError as error:
        raise web.HTTPRequestTimeout from error
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise InvalidRequest("the body's encoding is broken") from error
    return bytes(body)


async def _read_form(request: web.Request) -> bytes:
    async for part in _parts(request, limits.UPLOAD_BYTES_MAX):
        return await _read_part(part, limits.UPLOAD_BYTES_MAX)
    raise InvalidRequest("the form has no file")


async def _parts(request: web.Request, bytes_max: int) -> AsyncIterator[BodyPartReader]:
    """The files of a form, each to be read before the next."""
    # The form's own lines come on top of the files; twice the bound is never reached honestly.
    if (request.content_length or 0) > 2 * bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            form = await request.multipart()
            while (part := await form.next()) is not None:
                if isinstance(part, BodyPartReader) and part.filename is not None:
                    yield part
    except TimeoutError as error:
        raise web.HTTPRequestTimeout from error
    except (
        ValueError,
        RuntimeError,
        AssertionError,
        web.RequestPayloadError,
        HttpProcessingError,
    ) as error:
        raise InvalidRequest("the form is broken") from error


async def _read_part(part: BodyPartReader, bytes_max: int) -> bytes:
    content = bytearray()
    while chunk := await part.read_chunk(_CHUNK_BYTES):
        content += chunk
        if len(content) > bytes_max:
            raise _too_large(bytes_max)
    return bytes(content)


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the body is larger than {bytes_max} bytes")
