"""Which files tools may touch: the workspace, and the skills for reading. Nothing else.

A path is judged by where it leads, links followed. This keeps an agent to its own place by
default; what `bash` may do is a question of approval, not of paths.
"""

from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.home import Home
from trunkline.execution.tools.excerpt import shortened


class Paths:
    def __init__(self, home: Home) -> None:
        self.workspace = home.workspace
        self._skills = home.skills

    def readable(self, text: str) -> Path:
        """The file or folder that a path means, for reading. Raises ToolError outside."""
        return self._inside(text, (self.workspace, self._skills))

    def writable(self, text: str) -> Path:
        return self._inside(text, (self.workspace,))

    def may_read(self, text: str) -> bool:
        try:
            self.readable(text)
        except ToolError:
            return False
        return True

    def shown(self, path: Path) -> str:
        """A path as people and models see it: short inside the workspace."""
        root = self.workspace.resolve()
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    def _inside(self, text: str, roots: tuple[Path, ...]) -> Path:
        name = repr(shortened(text, 200))
        if not text or len(text) > limits.FILE_PATH_CHARS_MAX or "\0" in text:
            raise ToolError(f"{name} is no path")
        try:
            path = (self.workspace / text).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, bad names
            raise ToolError(f"{name} is no usable path") from error
        if not any(path.is_relative_to(root.resolve()) for root in roots):
            places = "the workspace and the skills" if len(roots) > 1 else "the workspace"
            raise ToolError(f"{name} is outside of {places}, and only those may be used here")
        return path
