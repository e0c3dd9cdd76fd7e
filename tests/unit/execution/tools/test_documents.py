"""What `read_file` shows of files that are no plain text."""

import base64
from typing import Any

import pytest

from tests.support.documents import notebook, pdf
from tests.unit.execution.tools.support import Call
from trunkline.execution.errors import ToolError
from trunkline.execution.tools.documents import NOTEBOOK_IMAGES_MAX
from trunkline.execution.tools.files import ReadFile
from trunkline.execution.tools.text_files import Paths

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def read(paths: Paths, env: dict[str, str]) -> ReadFile:
    return ReadFile(paths, env)


def shown(data: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 20, "image/jpeg"),
        (b"GIF89a" + b"\0" * 20, "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_a_picture_is_handed_to_models_that_can_see(
    read: ReadFile, call: Call, data: bytes, kind: str
) -> None:
    call.file("named.txt").write_bytes(data)
    result = await call.run(read, path="named.txt")
    [image] = result.images
    assert (image.media_type, image.data, image.name) == (kind, data, "named.txt")
    assert kind in result.content


async def test_the_text_of_a_pdf_comes_page_by_page(read: ReadFile, call: Call) -> None:
    call.file("a.pdf").write_bytes(pdf("First page", "Second page", "Third page"))
    whole = (await call.run(read, path="a.pdf")).content
    assert whole.splitlines()[0] == "[page 1 of 3]"
    assert "First page" in whole
    assert "Third page" in whole
    part = (await call.run(read, path="a.pdf", offset=2, limit=1)).content
    assert part.split("\n")[:2] == ["[page 2 of 3]", "Second page"]
    assert "Third" not in part
    with pytest.raises(ToolError, match="has 3 pages"):
        await call.run(read, path="a.pdf", offset=4)


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.4",
        b"%PDF-1.7\n" + b"\xff" * 1000,
        pdf("x")[:200],
        pdf("x").replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]"),
    ],
    ids=["bare", "noise", "torn", "loop"],
)
async def test_a_broken_pdf_is_an_error_in_words(read: ReadFile, call: Call, data: bytes) -> None:
    call.file("a.pdf").write_bytes(data)
    with pytest.raises(ToolError, match=r"a\.pdf"):
        await call.run(read, path="a.pdf")


async def test_a_notebook_is_shown_as_cells_with_what_they_printed(
    read: ReadFile, call: Call
) -> None:
    picture = base64.b64encode(PNG).decode()
    outputs = [
        {"output_type": "stream", "text": ["4\n", "2\n"]},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []},
        shown({"text/plain": ["a table"], "text/html": "<b>"}),
        shown({"image/png": picture, "text/plain": "<Figure>"}),
    ]
    call.file("a.ipynb").write_text(
        notebook(
            {"cell_type": "markdown", "source": "# Title"},
            {"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": outputs},
        )
    )
    result = await call.run(read, path="a.ipynb")
    for piece in ("# Title", "x = 1\nx", "4\n2", "ValueError: no", "a table", "picture 1"):
        assert piece in result.content
    assert [image.data for image in result.images] == [PNG]


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"cells": 5}',
        "[" * 5000,
        notebook({"cell_type": 5}),
        notebook({"cell_type": "code", "outputs": 7}),
    ],
)
async def test_a_broken_notebook_is_an_error_in_words(
    read: ReadFile, call: Call, text: str
) -> None:
    call.file("a.ipynb").write_text(text)
    with pytest.raises(ToolError, match="no notebook that can be read"):
        await call.run(read, path="a.ipynb")


async def test_a_hostile_notebook_is_shown_within_bounds(read: ReadFile, call: Call) -> None:
    picture = base64.b64encode(PNG).decode()
    outputs: list[Any] = [
        *[shown({"image/png": picture})] * (NOTEBOOK_IMAGES_MAX + 5),
        shown({"image/png": "%%%"}),
        shown({"image/png": {"a": 1}}),
        {"output_type": "stream", "text": "y" * 100_000},
        {"output_type": "stream", "text": [1, None, "z"]},
        *(5, None, [], {}),
    ]
    call.file("a.ipynb").write_text(notebook({"source": {"a": 1}, "outputs": outputs}))
    result = await call.run(read, path="a.ipynb")
    assert len(result.images) == NOTEBOOK_IMAGES_MAX
    assert len(result.content) < 20_000
