"""The files of the workspace, as an ACP agent reads and writes them through us: `fs/*`.

Only what lies in the workspace, links followed, is served; the rest is refused in words.
"""

from pathlib import Path
from typing import Any

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.tools.text_files import inside, read_text, write_text

_PLACES = "the workspace"


class Files:
    """Both methods block; they raise ToolError with the reason."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def read(self, params: Json) -> Json:
        path = self.path(params.get("path"))
        content = read_text(path, str(params["path"]))
        first, count = _number(params, "line"), _number(params, "limit")
        if first is None and count is None:
            return {"content": content}
        lines = content.splitlines(keepends=True)
        start = max(0, (first or 1) - 1)
        return {"content": "".join(lines[start : None if count is None else start + count])}

    def write(self, params: Json) -> Json:
        path = self.path(params.get("path"))
        content = params.get("content")
        if not isinstance(content, str):
            raise ToolError("`content` is no text")
        write_text(path, content, str(params["path"]))
        return {}

    def path(self, given: Any) -> Path:
        """Where a path leads, which must be in the workspace."""
        if not isinstance(given, str):
            raise ToolError("`path` is no text")
        return inside(given, self._workspace, (self._workspace,), _PLACES)


def _number(params: Json, name: str) -> int | None:
    value = params.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ToolError(f"`{name}` is no number of lines")
    return min(value, limits.JSON_INT_MAX)
