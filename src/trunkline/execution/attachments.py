"""Files that came with a message: written into a folder, named in what the model reads.

Names and contents come from outside. A file is whole or not there, lies in `attachments/` and
nowhere else, and takes the place of no other.
"""

import base64
import binascii
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.beneath import open_beneath
from trunkline.execution.errors import AttachmentRefused
from trunkline.execution.files import write_atomic
from trunkline.execution.json_object import Json

_log = structlog.get_logger(__name__)


FOLDER = "attachments"
_READ_MAX = limits.ATTACHMENTS_MAX + 1  # the first of those that are too many says so
_NAME_CHARS_MAX = 100
_NAMESAKES_MAX = 1_000
_COPIED_MAX, _COPIED_BYTES_MAX = 1_000, 256 * limits.MIB  # of a session's, into a copy of it
_SHOWN_CHARS_MAX = 60
_MIME = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")
# Letters of any script, digits and what is harmless in every shell and file system.
_UNSAFE = re.compile(r"[^\w.()+ -]+")


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """As it came."""
    mime: str
    data: bytes = b""
    refused: str = ""
    """Why it is not kept; then there is no data."""

    @property
    def data_url(self) -> str:
        """As many models take a picture."""
        return f"data:{self.mime};base64,{base64.b64encode(self.data).decode()}"


def read_attachments(metadata: Json) -> list[Attachment]:
    """What came with a message, in order; one that is too much is said to be refused."""
    given = metadata.get("attachments")
    found: list[Attachment] = []
    room = limits.ATTACHMENTS_BYTES_MAX
    for number, one in enumerate((given if isinstance(given, list) else [])[:_READ_MAX]):
        name, mime, content = _fields(one)
        if not _MIME.fullmatch(mime):
            mime = ""
        try:
            if number >= limits.ATTACHMENTS_MAX:
                raise AttachmentRefused(f"a message may have {limits.ATTACHMENTS_MAX} files")
            room -= len(content)
            if room < 0:
                size = limits.ATTACHMENTS_BYTES_MAX
                raise AttachmentRefused(f"the files of a message may have {size} bytes together")
            found.append(Attachment(name=name, mime=mime, data=_decoded(content)))
        except AttachmentRefused as error:
            found.append(Attachment(name=name, mime=mime, refused=str(error)))
    return found


def with_attachments(workspace: Path, message: str, attachments: Iterable[Attachment]) -> str:
    """The message, with a note of what came with it and where it is."""
    notes = lines(workspace, attachments, base=workspace)
    if not notes:
        return message
    said = "\n".join(["Attached files, in the workspace:", *notes])
    return f"{message}\n\n{said}" if message else said


def lines(folder: Path, attachments: Iterable[Attachment], *, base: Path) -> list[str]:
    """Saves them below `folder`; for each a line that says where, from `base`, or why not."""
    return [_kept(folder, one, base) for one in attachments]


def _kept(folder: Path, attachment: Attachment, base: Path) -> str:
    try:
        if attachment.refused:
            raise AttachmentRefused(attachment.refused)
        path = save(folder, attachment.name, attachment.data)
    except AttachmentRefused as error:
        _log.warning("an attachment was not kept", reason=str(error))
        return f"- {_shown(attachment.name)} could not be kept: {error}"
    kind = f"{attachment.mime}, " if attachment.mime else ""
    shown = path.relative_to(base) if path.is_relative_to(base) else path
    return f"- {shown} ({kind}{len(attachment.data)} bytes)"


def save(place: Path, name: str, data: bytes) -> Path:
    """Raises AttachmentRefused."""
    folder = place / FOLDER
    try:
        folder.mkdir(exist_ok=True)
        if not folder.resolve().is_relative_to(place.resolve()):
            raise AttachmentRefused(f"{FOLDER} leads out of the folder that it belongs to")
        return _put(folder, safe_name(name), data)
    except OSError as error:
        raise AttachmentRefused(error.strerror or type(error).__name__) from error


def copy(source: Path, target: Path) -> None:
    """From one session's folder to that of a copy of it, as many as a session may have. The daemon
    copies, and may read more than the session could: only what really lies there is taken."""
    root = source.resolve()
    try:
        names = sorted(one.name for one in (root / FOLDER).iterdir())
        (target / FOLDER).mkdir(exist_ok=True)
    except OSError:
        return  # nothing was attached
    room = _COPIED_BYTES_MAX
    for name in names[:_COPIED_MAX]:
        try:
            handle, about = open_beneath(root, f"{FOLDER}/{name}", has_links=False)
            with os.fdopen(handle, "rb") as file:
                room -= about.st_size
                if room < 0:
                    _log.warning("more is attached than a copy of a session takes over")
                    return
                write_atomic(target / FOLDER / name, file.read(about.st_size), 0o644)
        except OSError as error:
            _log.warning("an attachment is not copied", reason=str(error))


def safe_name(name: str) -> str:
    """The last part of a path as a plain name; what was harmful in it is gone."""
    last = re.split(r"[/\\]", name)[-1]
    clean = _UNSAFE.sub("_", last).strip(" .")
    stem, dot, ending = clean.rpartition(".")
    if not stem:
        stem, dot, ending = clean, "", ""
    ending = _cut(ending, 20)
    return (_cut(stem, _NAME_CHARS_MAX) or "file") + dot + ending


def _cut(text: str, chars_max: int) -> str:
    """File systems count bytes: no more than two a character are left."""
    return text[:chars_max].encode()[: 2 * chars_max].decode(errors="ignore")


def _put(folder: Path, name: str, data: bytes) -> Path:
    """Linked to its name when it is whole: a name that is taken is not taken twice."""
    temporary = folder / f".{secrets.token_hex(8)}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        for number in range(1, _NAMESAKES_MAX):
            path = folder / _numbered(name, number)
            try:
                path.hardlink_to(temporary)
            except FileExistsError:
                continue
            return path
        raise AttachmentRefused("too many files have this name")
    finally:
        temporary.unlink(missing_ok=True)


def _numbered(name: str, number: int) -> str:
    if number == 1:
        return name
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{number}.{ending}" if dot else f"{name}-{number}"


def _fields(given: Any) -> tuple[str, str, str]:
    """`{name, mime, base64}`. What is no text counts as nothing."""
    found = given if isinstance(given, dict) else {}
    values = (found.get(name) for name in ("name", "mime", "base64"))
    name, mime, content = (one if isinstance(one, str) else "" for one in values)
    return name, mime, content


def _decoded(content: str) -> bytes:
    if content.startswith("data:"):
        content = content.partition(",")[2]
    if not content:
        raise AttachmentRefused("it is empty")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AttachmentRefused("it is not base64") from error


def _shown(text: str) -> str:
    """Something from outside in a line of ours: short, and of one line."""
    return " ".join(_UNSAFE.sub("_", text).split())[:_SHOWN_CHARS_MAX] or "a file"
