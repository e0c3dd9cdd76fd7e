"""Commands that take long say how far they are: in a terminal on a line that goes away again, in a
pipe in whole lines beside the output. A test holds what a command reads for as long as it looks."""

import asyncio
import os
import re
from functools import partial
from pathlib import Path

import pytest

from tests.support.control import running
from tests.support.eventually import WAIT_S
from tests.terminal.desk import Desk
from tests.terminal.harness import PROGRAM, terminal

pytestmark = pytest.mark.asyncio(loop_scope="module")

_LONG = "so many words " * 20_000
_PART_BYTES = 128 * 1024
_READ = r"importing the session … 131 kB · \d+ s"
_SETTINGS = b"port = 0\n"


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A file that is read as it is written."""
    path = tmp_path / "held"
    os.mkfifo(path)
    return path


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """Of a system that has run."""
    folder = tmp_path / "data"
    async with running(folder):
        pass
    return folder


async def exported(desk: Desk) -> bytes:
    session_id = (await desk.client.post("sessions", body={}))["id"]
    await desk.client.sessions.send(session_id, "tell me all")
    turn = await desk.turn("tell me all")
    await turn.text(_LONG)
    await turn.done()
    await desk.user.until_turns(session_id, "completed")
    parts = desk.client.http.pieces("sessions", session_id, "export", query={"format": "jsonl"})
    return b"".join([one async for one in parts])


async def piped(desk: Desk, *words: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    env = {"PATH": os.defpath, "HOME": str(desk.folder), **desk.env}
    return await asyncio.create_subprocess_exec(
        *(str(PROGRAM), *words), env=env, stdin=pipe, stdout=pipe, stderr=pipe
    )


async def told(process: asyncio.subprocess.Process, line: str) -> None:
    """Waits until it has told such a line."""
    assert process.stderr is not None
    async with asyncio.timeout(WAIT_S):
        while said := await process.stderr.readline():
            if re.fullmatch(line, said.decode().removesuffix("\n")):
                return
    raise AssertionError(f"it has not told {line}")


async def test_an_import_in_a_terminal_shows_how_much_it_has_read(desk: Desk, held: Path) -> None:
    session = await exported(desk)
    command = f"{PROGRAM} session import - < {held}"
    async with terminal("-c", command, env=desk.env, program="/bin/sh", columns=100) as screen:
        with await asyncio.to_thread(held.open, "wb", buffering=0) as file:
            await asyncio.to_thread(file.write, session[:_PART_BYTES])
            await screen.until(partial(re.search, _READ))
            await asyncio.to_thread(file.write, session[_PART_BYTES:])
        assert await screen.ended() == 0
        assert "importing" not in screen.text
        assert "tell me all" in screen.text


async def test_an_import_in_a_pipe_says_it_in_lines_beside_its_output(desk: Desk) -> None:
    session = await exported(desk)
    process = await piped(desk, "session", "import", "-")
    assert process.stdin is not None
    process.stdin.write(session[:_PART_BYTES])
    await told(process, _READ)
    out, err = await process.communicate(session[_PART_BYTES:])
    assert (process.returncode, b"tell me all" in out) == (0, True)
    assert not re.search(rb"[\r\x1b]|importing", out)
    assert not re.search(rb"[\r\x1b]", err)


async def test_a_backup_and_its_restore_show_in_a_terminal_that_they_are_under_way(
    data: Path, held: Path, tmp_path: Path
) -> None:
    env = {"HOME": str(tmp_path)}
    file, other = str(tmp_path / "b.tar"), str(tmp_path / "other")
    for words, line, done in (
        (("backup", file, "--data", str(data)), f"saving into {file} … ", "It holds the keys"),
        (("restore", file, "--data", other), "restoring … ", f"Restored into {other}"),
    ):
        async with terminal(*words, "--config", str(held), env=env, columns=200) as screen:
            with await asyncio.to_thread(held.open, "wb") as settings:
                await screen.until(line)
                settings.write(_SETTINGS)
            assert await screen.ended() == 0, screen.text
            assert line not in screen.text
            assert done in screen.text


async def test_a_backup_in_a_pipe_says_it_in_lines(desk: Desk, data: Path, held: Path) -> None:
    file = desk.folder / "b.tar"
    process = await piped(desk, "backup", str(file), "--data", str(data), "--config", str(held))
    with await asyncio.to_thread(held.open, "wb") as settings:
        await told(process, rf"saving into {file} … \d+ s")
        settings.write(_SETTINGS)
    out, _ = await process.communicate()
    assert (process.returncode, b"It holds the keys" in out) == (0, True)
    assert not re.search(rb"[\r\x1b]|saving", out)
