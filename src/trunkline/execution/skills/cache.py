"""The skill packages of one machine, shared by its sessions: each version once, as a folder.

`skills/<id>` is a link to `skills/.packages/<id>/<version>`, so that a new version takes the place
of the old one in one step, and who still reads the old one is not disturbed. A plain folder
`skills/<id>` was put there by a person: it is used as it is and never replaced. One without a
SKILL.md is moved aside to `skills/.kept-<id>-…`, and stays there.
"""

import hashlib
import os
import re
import secrets
import shutil
from pathlib import Path, PurePosixPath

import structlog

from trunkline import limits
from trunkline.execution.home import Home
from trunkline.execution.skills.index import LATEST
from trunkline.execution.skills.package import write_folder

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
        for old in self._kept(skill_id)[limits.SKILL_VERSIONS_KEPT :]:
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
