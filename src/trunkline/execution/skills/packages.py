"""Skill packages: checked as they come from the control plane, kept as folders, each version once.

`skills/<id>` is a link to `skills/.packages/<id>/<version>`, so that a new version takes the place
of the old one in one step, and who still reads the old one is not disturbed. A plain folder
`skills/<id>` was put there by a person: it is used as it is and never replaced. One without a
SKILL.md is moved aside to `skills/.kept-<id>-…`, and stays there. Nothing of a refused package is
left behind.
"""

import base64
import binascii
import hashlib
import os
import re
import secrets
import shutil
import unicodedata
from pathlib import Path, PurePosixPath
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.errors import SkillRefused
from trunkline.execution.home import Home
from trunkline.execution.skills.index import LATEST, is_file_name

SKILL_VERSIONS_KEPT = 3  # of one skill, on one machine

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
    if not all(map(is_file_name, parts)):
        raise SkillRefused(f"the path {shown} has a bad name in it")
    return PurePosixPath(path)


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


_PLAIN_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}\Z")
_TEMPORARY = ".new-"
_log = structlog.get_logger()


class SkillCache:
    def __init__(self, home: Home) -> None:
        self._folder = home.skills
        self._packages = home.skills / ".packages"
        self._run = home.run

    def lock_file(self, skill_id: str) -> Path:
        return self._run / f"skill-{skill_id}.lock"

    def find(self, skill_id: str, version: str) -> Path | None:
        """The folder of a version that is here; any version, where the latest is wanted."""
        link = self._folder / skill_id
        if self._is_somebodys(link):
            return link
        folder = link.resolve() if version == LATEST else self._version(skill_id, version)
        inside = folder.is_relative_to(self._packages.resolve())
        return folder if inside and (folder / "SKILL.md").is_file() else None

    def versions(self, skill_id: str) -> list[str]:
        """What is here of a skill, newest first; for people."""
        return [path.name for path in self._kept(skill_id)]

    def store(self, skill_id: str, version: str, files: dict[PurePosixPath, bytes]) -> Path:
        """Writes a version and shows it. Only with the lock held."""
        target = self._version(skill_id, version)
        # What a process that was killed has left, and what is no package any more.
        for rest in [*target.parent.glob(f"{_TEMPORARY}*"), target]:
            shutil.rmtree(rest, ignore_errors=True)
        write_folder(files, target.parent / f"{_TEMPORARY}{secrets.token_hex(8)}", target)
        self.show(skill_id, target)
        for old in self._kept(skill_id)[SKILL_VERSIONS_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
        return target

    def show(self, skill_id: str, folder: Path) -> None:
        """Makes `skills/<id>` mean this version, in one step. Only with the lock held."""
        link = self._folder / skill_id
        if link.resolve() == folder or self._is_somebodys(link):
            return
        temporary = folder.parent / f"{_TEMPORARY}link"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(os.path.relpath(folder, self._folder.resolve()))
        if link.exists() and not link.is_symlink():
            # No skill, for it has no SKILL.md; but somebody's all the same.
            aside = self._folder / f".kept-{skill_id}-{secrets.token_hex(4)}"
            link.rename(aside)
            _log.warning("moved aside for a skill", skill=skill_id, folder=str(aside))
        temporary.replace(link)

    def _is_somebodys(self, link: Path) -> bool:
        return not link.is_symlink() and (link / "SKILL.md").is_file()

    def _version(self, skill_id: str, version: str) -> Path:
        if not _PLAIN_VERSION.match(version):
            version = "v-" + hashlib.sha256(version.encode()).hexdigest()[:16]
        return self._packages.resolve() / skill_id / version

    def _kept(self, skill_id: str) -> list[Path]:
        folders = [
            path
            for path in (self._packages.resolve() / skill_id).glob("*")
            if not path.name.startswith(_TEMPORARY)
        ]
        return sorted(folders, key=lambda path: path.stat().st_mtime_ns, reverse=True)
