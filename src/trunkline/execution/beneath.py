"""A file below a folder, and nowhere else, whatever its links say and whoever changes them."""

import os
import stat
from pathlib import Path


def open_beneath(root: Path, path: str, *, has_links: bool = True) -> tuple[int, os.stat_result]:
    """A plain file, open for reading, and what is known of it; the caller closes it. `root` is a
    real path; `has_links`: links below it are followed. Raises FileNotFoundError for everything
    else.

    Where it really is, is asked of the kernel when it is open: no link can be put there in between.
    """
    missing = FileNotFoundError(f"there is no file {path!r}")
    try:
        full = (root / path).resolve(strict=True)
        # A pipe without a writer is not waited for.
        handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, RuntimeError, ValueError) as error:
        raise missing from error
    try:
        about = os.fstat(handle)
        place = Path(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115
        if not stat.S_ISREG(about.st_mode) or not place.is_relative_to(root):
            raise missing
        if not has_links and str(place) != os.path.normpath(root / path):
            raise missing
    except BaseException:
        os.close(handle)
        raise
    return handle, about
