"""Where sessions may work: the machine's workspace, and the folders that its owner allows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trunkline.execution.errors import StartFailed

_PATH_CHARS_MAX = 4096


class Roots:
    """`workspace` is the machine's own; `usual` the folder that its owner chose for sessions that
    name none. In `closed` nobody works: what is there is the machine's."""

    def __init__(
        self,
        workspace: Path,
        more: Sequence[Path] = (),
        *,
        usual: Path | None = None,
        closed: Path | None = None,
    ) -> None:
        self.workspace = usual or workspace
        allowed = (workspace, *more) if usual is None else (workspace, usual, *more)
        self._roots = [root.resolve() for root in allowed]
        self._closed = closed and closed.resolve()

    def names(self) -> list[str]:
        return [str(root) for root in self._roots]

    def contains(self, folder: Path) -> bool:
        """Where its links lead, not how it is written."""
        resolved = folder.resolve()
        if self._closed is not None and resolved.is_relative_to(self._closed):
            return False
        return any(resolved.is_relative_to(root) for root in self._roots)

    def workspace_of(self, wanted: Any) -> Path:
        """The folder that a session asks for, as a full path. Raises StartFailed."""
        if wanted is None or wanted == "":
            return self.workspace
        if not isinstance(wanted, str) or len(wanted) > _PATH_CHARS_MAX or "\0" in wanted:
            raise StartFailed("workspace is not a path", code="WORKSPACE_REFUSED")
        try:
            folder = (self.workspace / Path(wanted).expanduser()).resolve()
        # Links in a circle, a user that there is not, half of a character.
        except (OSError, RuntimeError, ValueError) as error:
            raise StartFailed(f"workspace: {error}", code="WORKSPACE_REFUSED") from error
        if not self.contains(folder):
            raise StartFailed(
                f"the folder {str(folder)[:200]!r} is not below a folder that this machine allows"
                " (`trunkline node --root`)",
                code="WORKSPACE_REFUSED",
            )
        if not _is_folder(folder):
            why = f"the folder {str(folder)[:200]!r} does not exist"
            raise StartFailed(why, code="WORKSPACE_REFUSED")
        return folder


def _is_folder(path: Path) -> bool:
    """False also for what cannot be looked at: a name too long, a folder that is closed to us."""
    try:
        return path.is_dir()
    except OSError:
        return False
