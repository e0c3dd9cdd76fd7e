"""`read_file`: text, and what else can be shown of a file."""

from collections.abc import Mapping
from pathlib import Path

from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import children
from trunkline.execution.texts import Excerpt
from trunkline.execution.tools import documents
from trunkline.execution.tools.base import (
    Image,
    Tool,
    ToolResult,
    ToolRun,
    Touches,
    object_schema,
)
from trunkline.execution.tools.text_files import PATH, Paths, read_bytes, text_of

FILE_READ_CHARS_MAX = 100_000  # shown of a file at once
FILE_READ_LINES = 2_000


class ReadFile(Tool):
    name = "read_file"
    description = (
        "Reads a file of the workspace or of a skill: text, pictures (PNG, JPEG, GIF, WebP), PDF "
        "as text, notebooks (.ipynb). Long files come in parts: `offset` is the first line wanted "
        "(of a PDF: page), from 1, and `limit` the number of lines (or pages)."
    )
    parameters = object_schema(
        {
            "path": PATH,
            "offset": {"type": "integer", "minimum": 1},
            "limit": {"type": "integer", "minimum": 1},
        },
        required=["path"],
    )

    def __init__(self, paths: Paths, env: Mapping[str, str]) -> None:
        self._paths = paths
        self._env = env

    def touches(self, arguments: Json) -> Touches:
        return Touches(reads=self._paths.touched(arguments["path"]))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        path = self._paths.readable(arguments["path"])
        shown = self._paths.shown(path)
        data = await children.call(read_bytes, path, shown)
        first = min(arguments.get("offset", 1), _NUMBER_MAX)
        if kind := documents.picture_type(data):
            said = f"(the picture {shown}: {kind}, {len(data)} bytes)"
            return ToolResult(
                content=said,
                images=(Image(media_type=kind, data=data, name=path.name),),
                details={"path": shown, "media_type": kind, "size": len(data)},
            )
        if documents.is_pdf(data):
            return await self._pdf(path, shown, first, arguments.get("limit"))
        text, images = text_of(data, shown), tuple[Image, ...]()
        if path.suffix == ".ipynb":
            text, images = documents.notebook_text(text, shown)
        return _part(text, first, arguments.get("limit", FILE_READ_LINES), images)

    async def _pdf(self, path: Path, shown: str, first: int, count: int | None) -> ToolResult:
        pages = min(count or documents.PDF_PAGES, documents.PDF_PAGES)
        text = await documents.pdf_text(path, shown, first, pages, self._env)
        part = Excerpt(FILE_READ_CHARS_MAX, head_only=True)
        part.add(text)
        return ToolResult(content=str(part), details={"output_cut_chars": part.cut_chars})


_NUMBER_MAX = 2**31


def _part(text: str, first: int, count: int, images: tuple[Image, ...]) -> ToolResult:
    lines = text.splitlines(keepends=True)
    if first > max(len(lines), 1):
        raise ToolError(f"the file has {len(lines)} lines")
    wanted = lines[first - 1 : first - 1 + count]
    shown = Excerpt(FILE_READ_CHARS_MAX, head_only=True)
    shown.add("".join(wanted))
    content = str(shown) or "(the file is empty)"
    last = first - 1 + len(wanted)
    if last < len(lines):
        content += f"\n[lines {first} to {last} of {len(lines)}]"
    return ToolResult(
        content=content,
        images=images,
        details={"lines": len(lines), "output_cut_chars": shown.cut_chars},
    )
