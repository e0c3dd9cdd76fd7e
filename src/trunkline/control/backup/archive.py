"""The file of a backup: a plain tar with few kinds of members, and behind them a manifest.

The manifest is written last, so an archive that has one is complete. Reading trusts nothing: only
plain files with the names that a backup has, each once, of the size and hash that the manifest
says. Any `tar` lists and unpacks one.
"""

import hashlib
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from trunkline import __version__, limits
from trunkline.control.access import key_files
from trunkline.control.errors import InvalidRequest
from trunkline.log_form import one_line

FORMAT = 1
RECORDS, LOG, KEYS = "trunkline.db", "log.db", "keys/"
KEY_FILES = key_files.NAMES
"""Without which a system is not whole."""
COUNTED = ("users", "machines", "sessions")
"""The tables of the records whose rows a manifest counts."""
_MANIFEST = "manifest.json"
_NAME = re.compile(
    r"trunkline\.db|log\.db|admin-token|audit-heads(-[0-9a-f]{8})?|keys/[A-Za-z0-9][A-Za-z0-9_.-]{0,60}"
)
_MEMBERS_MAX = 100
_TIME_MS_MAX = 253_402_300_799_000  # the end of the year 9999
_MANIFEST_BYTES_MAX = limits.MIB
_BLOCK = tarfile.BLOCKSIZE
_PIECE_BYTES = limits.MIB

Done = Callable[[int], None]
"""Is told how many bytes more are done."""


class Member(msgspec.Struct, frozen=True):
    name: str
    bytes: Annotated[int, Meta(ge=0)]
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`database`: where the records and the log were; those of PostgreSQL are not in the archive.
    `schemas`: of the databases that are; `counts`: rows of some of their tables."""

    format: int
    trunkline: str
    made_at: Annotated[int, Meta(ge=0, le=_TIME_MS_MAX)]
    database: Literal["sqlite", "postgresql"]
    schemas: dict[str, str]
    counts: dict[str, int]
    files: list[Member]

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.files)


class _Format(msgspec.Struct):
    format: int
    trunkline: str = "unknown"


def is_name(name: str) -> bool:
    """Whether a backup may have a file of that name."""
    return _NAME.fullmatch(name) is not None


class Writer:
    """Writes members in turn, and the manifest at the end."""

    def __init__(self, file: IO[bytes], done: Done, at_s: int) -> None:
        self._file = file
        self._done = done
        self._at_s = at_s
        self.members: list[Member] = []

    def add(self, name: str, content: IO[bytes], size: int) -> None:
        """That many bytes of it; OSError if there are fewer."""
        assert is_name(name), name
        digest = hashlib.sha256()
        self._head(name, size)
        for piece in _pieces(content, size):
            digest.update(piece)
            self._file.write(piece)
            self._done(len(piece))
        self._pad(size)
        self.members.append(Member(name, size, digest.hexdigest()))

    def finish(self, manifest: Manifest) -> None:
        body = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        self._head(_MANIFEST, len(body))
        self._file.write(body)
        self._pad(len(body))
        self._file.write(bytes(2 * _BLOCK))

    def _head(self, name: str, size: int) -> None:
        head = tarfile.TarInfo(name)
        head.size, head.mode, head.mtime = size, 0o600, self._at_s
        self._file.write(head.tobuf(tarfile.GNU_FORMAT))

    def _pad(self, size: int) -> None:
        self._file.write(bytes(-size % _BLOCK))


class _Place(NamedTuple):
    name: str
    offset: int
    size: int


class Archive:
    """An archive that is open for reading. What is wrong with it is an `InvalidRequest`."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        self._size = file.seek(0, 2)
        places = {one.name: one for one in self._walk()}
        manifest = places.pop(_MANIFEST, None)
        if manifest is None:
            raise self.bad("it has no manifest, so it is not complete")
        self.manifest = self._read_manifest(manifest)
        listed = {one.name: one.bytes for one in self.manifest.files}
        if len(listed) != len(self.manifest.files) or listed != {
            one.name: one.size for one in places.values()
        }:
            raise self.bad("its manifest does not list what is in it")
        self._places = places

    def bad(self, why: str) -> InvalidRequest:
        return InvalidRequest(f"{self._path} cannot be used: {one_line(why)}", code="BACKUP_BAD")

    def _walk(self) -> Iterator[_Place]:
        """The members, each once, with the manifest at the end."""
        offset, seen = 0, set[str]()
        while True:
            self._file.seek(offset)
            block = self._file.read(_BLOCK)
            if block == bytes(_BLOCK):
                return
            try:
                head = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
            except (tarfile.HeaderError, UnicodeDecodeError, ValueError) as error:
                what = "it is not an archive" if offset == 0 else "it is cut off or damaged"
                raise self.bad(what) from error
            name = head.name
            if head.type != tarfile.REGTYPE:
                raise self.bad(f"{name[:100]!r} in it is no plain file")
            if name != _MANIFEST and not is_name(name):
                raise self.bad(f"{name[:100]!r} in it is nothing that a backup has")
            if name in seen:
                raise self.bad(f"{name!r} is in it twice")
            if _MANIFEST in seen or len(seen) >= _MEMBERS_MAX:
                raise self.bad("there is more in it than a backup has")
            seen.add(name)
            start = offset + _BLOCK
            if head.size < 0 or start + head.size > self._size:
                raise self.bad("it is cut off or damaged")
            yield _Place(name, start, head.size)
            offset = start + head.size + -head.size % _BLOCK

    def _read_manifest(self, place: _Place) -> Manifest:
        if place.size > _MANIFEST_BYTES_MAX:
            raise self.bad("its manifest is too large")
        self._file.seek(place.offset)
        body = self._file.read(place.size)
        try:
            found = msgspec.json.decode(body, type=_Format)
            if found.format > FORMAT:
                theirs = one_line(found.trunkline[:40])
                raise InvalidRequest(
                    f"{self._path} was made by a newer Trunkline ({theirs}), and this is"
                    f" {__version__}: install that version",
                    code="BACKUP_NEWER",
                )
            return msgspec.json.decode(body, type=Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self.bad(f"its manifest cannot be read: {str(error)[:200]}") from error

    def unpack(self, member: Member, target: IO[bytes], done: Done) -> None:
        """Writes a member there, if it is what the manifest says."""
        place = self._places[member.name]
        digest = hashlib.sha256()
        self._file.seek(place.offset)
        for piece in _pieces(self._file, place.size):
            digest.update(piece)
            target.write(piece)
            done(len(piece))
        if digest.hexdigest() != member.sha256:
            raise self.bad(f"{member.name} is damaged: it has another checksum")


def _pieces(content: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        piece = content.read(min(size, _PIECE_BYTES))
        if not piece:
            raise OSError("a file became shorter while it was read")
        size -= len(piece)
        yield piece
