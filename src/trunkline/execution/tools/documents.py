"""Files that are no plain text, as `read_file` shows them: pictures, PDF, notebooks.

A PDF is read by a process of its own, within bounds of time and memory: what strangers write into
one can keep a parser busy for ever.
"""

import base64
import binascii
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.process.programs import run_process
from trunkline.execution.texts import Excerpt
from trunkline.execution.tools.base import Image

PDF_PAGES = 20  # read at once
PDF_TIMEOUT_S = 20.0
PDF_OUTPUT_BYTES_MAX = 2 * limits.MIB
NOTEBOOK_IMAGES_MAX = 8
NOTEBOOK_OUTPUT_CHARS_MAX = 10_000  # of one cell

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def picture_type(data: bytes) -> str | None:
    """The media type of a picture, by what it holds and not by its name."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _PICTURES if data.startswith(mark)), None)


def is_pdf(data: bytes) -> bool:
    return data.startswith(b"%PDF-")


async def pdf_text(path: Path, shown: str, first: int, count: int, env: Mapping[str, str]) -> str:
    """The text of some pages, from page `first`. Raises ToolError."""
    output = Excerpt(PDF_OUTPUT_BYTES_MAX, head_only=True)
    argv = [sys.executable, "-I", "-m", "trunkline.execution.tools.pdf_program"]
    finished = await run_process(
        [*argv, str(path), str(first), str(count)],
        cwd=path.parent,
        env=env,
        timeout_s=PDF_TIMEOUT_S,
        take=output.add,
        output_bytes_max=PDF_OUTPUT_BYTES_MAX,
    )
    text = str(output)
    if finished.timed_out:
        raise ToolError(f"{shown} takes too long to read: more than {PDF_TIMEOUT_S:g} s")
    if finished.exit_code and not finished.flooded:
        why = text.strip().splitlines()[-1:] or ["it cannot be read"]
        raise ToolError(f"{shown}: {why[0][: limits.TOOL_ERROR_CHARS_MAX]}")
    return text


class _Cell(msgspec.Struct):
    cell_type: str = "code"
    source: Any = ""
    outputs: list[Any] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell]


def notebook_text(text: str, shown: str) -> tuple[str, tuple[Image, ...]]:
    """The cells with what they printed, and the first pictures among that. Raises ToolError."""
    try:
        cells = msgspec.json.decode(text, type=_Notebook).cells
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ToolError(f"{shown} is no notebook that can be read: {error}") from error
    pieces: list[str] = []
    images: list[Image] = []
    for number, cell in enumerate(cells, 1):
        pieces.append(f"[cell {number}: {cell.cell_type[:40]}]\n{_joined(cell.source)}")
        for output in cell.outputs:
            said = _output(output, images)
            if said:
                pieces.append(f"[output of cell {number}]\n{said}")
    return "\n\n".join(pieces), tuple(images)


def _output(output: Any, images: list[Image]) -> str:
    match output:
        case {"output_type": "stream", "text": said}:
            return _short(_joined(said))
        case {"output_type": "error", "ename": name, "evalue": value}:
            return _short(f"{name}: {value}")
        case {"data": dict(data)}:
            return _shown_data(data, images)
        case _:
            return ""


def _shown_data(data: dict[Any, Any], images: list[Image]) -> str:
    for kind in ("image/png", "image/jpeg"):
        if kind not in data:
            continue
        found = _decoded(_joined(data[kind]))
        if found is None or picture_type(found) is None or len(images) >= NOTEBOOK_IMAGES_MAX:
            return f"({kind})"
        images.append(Image(media_type=picture_type(found) or kind, data=found))
        return f"({kind}, shown as picture {len(images)})"
    return _short(_joined(data.get("text/plain", "")))


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None


def _joined(source: Any) -> str:
    """Notebooks keep a text as one, or as a list of lines."""
    if isinstance(source, list):
        return "".join(one for one in source if isinstance(one, str))
    return source if isinstance(source, str) else ""


def _short(text: str) -> str:
    shown = Excerpt(NOTEBOOK_OUTPUT_CHARS_MAX)
    shown.add(text.rstrip("\n"))
    return str(shown)
