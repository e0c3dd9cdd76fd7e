"""A skill package: its files, read from a zip and checked on the way, and its inventory.

Nothing touches the disk, so nothing of a refused package stays. What SKILL.md means is decided in
`skill_manifest`; `skills` stores packages.
"""

import base64
import io
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.errors import TooLarge
from trunkline.control.services.skill_manifest import Manifest, frontmatter, parse, refused, slug

_CHUNK_BYTES = 64 * 1024
ZIP_ENTRIES_MAX = 10_000  # directory records of an archive, before it is opened
# What file managers and version control leave behind; not part of a skill.
_JUNK = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", ".git"})
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:]")
# bz2 and LZMA decompress a whole block at once, whatever size is asked for.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_REFERENCE_FOLDERS = ("references/", "reference/")

Read = Callable[[int], bytes]


class FileInventory(msgspec.Struct, frozen=True):
    """What `start_session` says about a skill's files."""

    has_skill_md: bool
    has_scripts: bool
    has_references: bool
    script_files: list[str]
    reference_files: list[str]


class SkillPackage(msgspec.Struct, frozen=True):
    skill_id: str
    manifest: Manifest
    files: dict[str, bytes]
    file_inventory: FileInventory


def read_zip(data: bytes) -> SkillPackage:
    """The package in an archive, or a refusal with its reason."""
    files = from_zip(data)
    spelled = next((path for path in files if path.casefold() == "skill.md"), None)
    if spelled is None:
        raise refused("it has no SKILL.md at its top")
    # Machines look for exactly this spelling.
    files = {"SKILL.md" if path == spelled else path: files[path] for path in sorted(files)}
    manifest = parse(files["SKILL.md"])
    return SkillPackage(slug(manifest.name), manifest, files, inventory(files))


def from_skill_md(text: str, name: str, description: str) -> SkillPackage:
    """A package of one file, under the given name whatever its frontmatter says."""
    fields = frontmatter(text)
    if fields is None:
        # JSON strings are YAML strings, so nothing in them can end the block.
        head = [
            f"{key}: {msgspec.json.encode(value).decode()}"
            for key, value in (("name", name), ("description", description))
        ]
        text = "\n".join(["---", *head, "---", "", text])
    files = {"SKILL.md": text.encode()}
    found = parse(files["SKILL.md"])
    manifest = Manifest(name, description, None, found.requires)
    return SkillPackage(slug(name), manifest, files, inventory(files))


def inventory(files: dict[str, bytes]) -> FileInventory:
    scripts = [path for path in files if path.startswith("scripts/")]
    references = [path for path in files if _is_reference(path)]
    return FileInventory(
        has_skill_md="SKILL.md" in files,
        has_scripts=bool(scripts),
        has_references=bool(references),
        script_files=sorted(scripts),
        reference_files=sorted(references),
    )


def _is_reference(path: str) -> bool:
    """Other Markdown beside SKILL.md (REFERENCE.md, FORMS.md), or a file of a reference folder."""
    if path.startswith(_REFERENCE_FOLDERS):
        return True
    return "/" not in path and path != "SKILL.md" and path.casefold().endswith(".md")


def wire_file(path: str, content: bytes) -> dict[str, Any]:
    """A file as `get_skill_package` sends it: text where that is possible and not longer."""
    coded = base64.b64encode(content).decode()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"path": path, "content": coded, "encoding": "base64"}
    if len(msgspec.json.encode(text)) > max(len(coded), 1024):
        return {"path": path, "content": coded, "encoding": "base64"}
    return {"path": path, "content": text, "encoding": "utf-8"}


def _too_large(reason: str) -> TooLarge:
    return TooLarge(f"the skill package is refused: {reason}", code="SKILL_TOO_LARGE")


def check_path(path: str) -> str:
    """A relative path with forward slashes that stays below its folder, on every system."""
    shown = repr(path[:100])
    if not path or len(path) > limits.SKILL_PATH_CHARS_MAX:
        raise refused(f"the path {shown} has no or too many characters")
    if "\\" in path:
        raise refused(f"the path {shown} has a backslash")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        raise refused(f"the path {shown} is absolute")
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise refused(f"the path {shown} is not valid Unicode") from error
    parts = path.split("/")
    if ".." in parts:
        raise refused(f"the path {shown} leads out of the package with '..'")
    if len(parts) > limits.SKILL_PATH_DEPTH_MAX:
        raise refused(f"the path {shown} is nested too deeply")
    for part in parts:
        bad = part in ("", ".") or part[-1] in " ." or len(part.encode()) > 255
        if bad or _FORBIDDEN.search(part):
            raise refused(f"the path {shown} has a bad name in it")
    return path


class _Collector:
    """Takes files one by one, within the bounds, and refuses those that would meet on a disk."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._bytes = 0
        self._spellings: dict[str, str] = {}

    def add(self, path: str, read: Read) -> None:
        check_path(path)
        if len(self.files) >= limits.SKILL_FILES_MAX:
            raise _too_large(f"it has more than {limits.SKILL_FILES_MAX} files")
        self._check_names(path)
        content = bytearray()
        # Counted while reading: what an archive declares about sizes proves nothing.
        while chunk := read(_CHUNK_BYTES):
            content += chunk
            self._bytes += len(chunk)
            if len(content) > limits.SKILL_FILE_BYTES_MAX:
                raise _too_large(f"{path!r} is over {limits.SKILL_FILE_BYTES_MAX} bytes")
            if self._bytes > limits.SKILL_PACKAGE_BYTES_MAX:
                raise _too_large(f"it is over {limits.SKILL_PACKAGE_BYTES_MAX} bytes unpacked")
        self.files[path] = bytes(content)

    def _check_names(self, path: str) -> None:
        if path in self.files:
            raise refused(f"the path {path!r} occurs twice")
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            prefix = "/".join(parts[:depth])
            is_file = depth == len(parts)
            folded = unicodedata.normalize("NFC", prefix).casefold()
            # A folder may be met again, a file may not; so they are remembered differently.
            spelling = prefix if is_file else prefix + "/"
            known = self._spellings.setdefault(folded, spelling)
            if known != spelling:
                raise refused(f"{known!r} and {spelling!r} are the same name on some systems")


def from_zip(data: bytes) -> dict[str, bytes]:
    """The files of a zip archive, by path."""
    if len(data) > limits.UPLOAD_BYTES_MAX:
        raise _too_large(f"the archive is over {limits.UPLOAD_BYTES_MAX} bytes")
    # Before it is opened, because opening makes an object of every record.
    if data.count(b"PK\x01\x02") > ZIP_ENTRIES_MAX:
        raise _too_large(f"it has more than {ZIP_ENTRIES_MAX} entries")
    collector = _Collector()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                _add_entry(collector, archive, entry)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise refused(f"it is not a sound zip archive ({error})") from error
    return _without_top_folder(collector.files)


def _add_entry(collector: _Collector, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    # `filename` ends at the first NUL; the original shows what was meant.
    name = entry.orig_filename
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if stat.S_ISLNK(kind):
        raise refused(f"{name!r} is a link")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refused(f"{name!r} is neither a file nor a folder")
    check_path(name.removesuffix("/"))
    if name.endswith("/") or not _JUNK.isdisjoint(name.split("/")):
        return
    if entry.flag_bits & 0x1:
        raise refused(f"{name!r} is encrypted")
    if entry.compress_type not in _METHODS:
        raise refused(f"{name!r} is compressed with a method other than deflate")
    with archive.open(entry) as stream:
        collector.add(name, stream.read)


def _without_top_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """A package is often zipped together with the folder that it lies in."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or any("/" not in path for path in files):
        return files
    return {path.partition("/")[2]: content for path, content in files.items()}
