"""What is saved is there whole, or what was there before is."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from trunkline.cli.output import CommandFailed, Done
from trunkline.cli.saving import save
from trunkline.client import Unreachable


async def parts(*said: bytes, then: Exception | None = None) -> AsyncIterator[bytes]:
    for one in said:
        yield one
    if then is not None:
        raise then


async def test_a_file_is_written_and_its_size_told(tmp_path: Path) -> None:
    output = tmp_path / "talk.md"
    done = await save(parts(b"a" * 1000, b"b" * 234), output, "saving")
    assert done == Done(f"{output}: 1.2 kB")
    assert output.read_bytes() == b"a" * 1000 + b"b" * 234
    assert [*tmp_path.iterdir()] == [output]


async def test_what_breaks_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    output = tmp_path / "talk.md"
    output.write_text("old")
    with pytest.raises(Unreachable):
        await save(parts(b"new", then=Unreachable("gone")), output, "saving")
    assert output.read_text() == "old"
    assert [*tmp_path.iterdir()] == [output]


async def test_a_pipe_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    await save(parts(b"x"), pipe, "saving")
    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["nowhere/talk.md", "."])
async def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandFailed, match="cannot write"):
        await save(parts(b"x"), tmp_path / name, "saving")
