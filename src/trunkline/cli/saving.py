"""What a command fetches, into a file or to stdout: whole, or not at all. And what it sends."""

import asyncio
import contextlib
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from trunkline.cli.human import size
from trunkline.cli.output import CommandFailed, Done, Shown, Text
from trunkline.cli.progress import Progress

_PIECE_BYTES = 64 * 1024


async def save(parts: AsyncIterator[bytes], output: Path | None, what: str) -> Shown:
    """`what`: for people, while it goes on."""
    with Progress(what) as progress:
        if output is None:
            await _copied(parts, sys.stdout.buffer, progress)
            return Text("")
        draft = _beside(output)
        try:
            with draft.open("wb") as file:
                done = await _copied(parts, file, progress)
            draft.replace(output)
        except OSError as error:
            raise CommandFailed(f"cannot write {output}: {error.strerror}") from error
        finally:
            if draft != output:
                draft.unlink(missing_ok=True)
    return Done(f"{output}: {size(done)}")


def _beside(output: Path) -> Path:
    """Where it is written first; of a pipe or a device, whose place nothing takes, there."""
    if output.exists() and not output.is_file():
        return output
    return output.with_name(f".{output.name}.{secrets.token_hex(4)}")


async def _copied(parts: AsyncIterator[bytes], file: BinaryIO, progress: Progress) -> int:
    done = 0
    async for part in parts:
        file.write(part)
        done += len(part)
        progress.at(done)
    return done


async def pieces_of(file: Path, what: str) -> AsyncIterator[bytes]:
    """A file as it is read; `-` is stdin. Raises OSError."""
    with (
        Progress(what) as progress,
        contextlib.nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as source,
    ):
        done = 0
        while piece := await asyncio.to_thread(source.read, _PIECE_BYTES):
            done += len(piece)
            progress.at(done)
            yield piece
