"""The pictures of a session for a copy of it.

The daemon copies, and may read more than a session: what lies in the folder is taken for a picture
only if it holds what its name says.
"""

import hashlib
import os
import re
from pathlib import Path

import structlog

from trunkline import limits
from trunkline.execution.files import write_atomic

FOLDER = "pictures"
_NAME = re.compile(r"[0-9a-f]{64}")
_log = structlog.get_logger(__name__)


def copy_pictures(source: Path, target: Path) -> None:
    """From one session's folder to another's. No link is followed, no pipe waited for."""
    if (source / FOLDER).is_symlink() or not (source / FOLDER).is_dir():
        return
    (target / FOLDER).mkdir(mode=0o700, exist_ok=True)
    for name in filter(_NAME.fullmatch, [one.name for one in (source / FOLDER).iterdir()]):
        try:
            data = _read(source / FOLDER / name)
        except OSError as error:
            _log.warning("a picture is not copied", reason=str(error))
            continue
        if hashlib.sha256(data).hexdigest() == name:
            write_atomic(target / FOLDER / name, data)


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        return file.read(limits.PICTURE_BYTES_MAX)
