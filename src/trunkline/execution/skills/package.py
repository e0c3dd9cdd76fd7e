"""A skill package from the control plane, checked and written as a folder, whole or not at all.

Nothing of a refused package is left behind. Where the folder lies is decided in `cache`.
"""

import base64
import binascii
import re
import shutil
import unicodedata
from pathlib import Path, PurePosixPath
from typing import Any

from trunkline import limits
from trunkline.execution.errors import SkillRefused

_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:\\]")
_SCRIPT_MODE = 0o755
_FILE_MODE = 0o644


def checked_files(package: Any) -> dict[PurePosixPath, bytes]:
    """The files of a package, by path, with SKILL.md among them."""
    files = package.get("files") if isinstance(package, dict) else None
    if not isinstance(files, list):
        raise SkillRefused("it has no list of files")
    if len(files) > limits.SKILL_FILES_MAX:
        raise SkillRefused(f"it has more than {limits.SKILL_FILES_MAX} files")
    found: dict[PurePosixPath, bytes] = {}
    spellings: set[str] = set()
    total = 0
    for entry in files:
        if not isinstance(entry, dict):
            raise SkillRefused("one of its files is no object")
        path = _checked_path(entry.get("path"))
        spelling = unicodedata.normalize("NFC", str(path)).casefold()
        if spelling in spellings:
            raise SkillRefused(f"{str(path)!r} occurs twice")
        spellings.add(spelling)
        content = _content(path, entry)
        total += len(content)
        if total > limits.SKILL_PACKAGE_BYTES_MAX:
            raise SkillRefused(f"it is over {limits.SKILL_PACKAGE_BYTES_MAX} bytes")
        found[path] = content
    if PurePosixPath("SKILL.md") not in found:
        raise SkillRefused("it has no SKILL.md")
    return found


def _checked_path(path: Any) -> PurePosixPath:
    """Below its folder on every system: relative, no '..', no odd names."""
    if not isinstance(path, str) or not 0 < len(path) <= limits.SKILL_PATH_CHARS_MAX:
        raise SkillRefused("a path is missing, or too long")
    shown = repr(path[:100])
    if path.startswith("/"):
        raise SkillRefused(f"the path {shown} is absolute")
    parts = path.split("/")
    if ".." in parts:
        raise SkillRefused(f"the path {shown} leads out of the package with '..'")
    if len(parts) > limits.SKILL_PATH_DEPTH_MAX:
        raise SkillRefused(f"the path {shown} is nested too deeply")
    for part in parts:
        if part in ("", ".") or _FORBIDDEN.search(part) or not _is_storable(part):
            raise SkillRefused(f"the path {shown} has a bad name in it")
    return PurePosixPath(path)


def _is_storable(name: str) -> bool:
    try:
        return len(name.encode()) <= 255
    except UnicodeEncodeError:
        return False


def _content(path: PurePosixPath, entry: dict[str, Any]) -> bytes:
    text, encoding = entry.get("content"), entry.get("encoding") or "utf-8"
    if not isinstance(text, str):
        raise SkillRefused(f"{str(path)!r} has no content")
    try:
        if encoding == "base64":
            content = base64.b64decode(text, validate=True)
        elif encoding in ("utf-8", "utf8"):
            content = text.encode()
        else:
            raise SkillRefused(f"{str(path)!r} has the unknown encoding {str(encoding)[:40]!r}")
    except (binascii.Error, UnicodeEncodeError, ValueError) as error:
        raise SkillRefused(f"{str(path)!r} is not what its encoding says") from error
    if len(content) > limits.SKILL_FILE_BYTES_MAX:
        raise SkillRefused(f"{str(path)!r} is over {limits.SKILL_FILE_BYTES_MAX} bytes")
    return content


def write_folder(files: dict[PurePosixPath, bytes], temporary: Path, target: Path) -> None:
    """Writes all of them beside the target, then gives the folder its name in one step."""
    try:
        temporary.mkdir(parents=True)
        for path, content in files.items():
            file = temporary / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(_SCRIPT_MODE if content.startswith(b"#!") else _FILE_MODE)
        temporary.rename(target)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise SkillRefused("one of its files has the name of a folder") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
