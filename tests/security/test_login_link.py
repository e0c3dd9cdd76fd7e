"""Found open: `trunkline control` printed its login link into whatever keeps a service's output,
where others could read it and be the administrator.

`up` prints it, for the person who typed that. `control` without a terminal writes it into a file
that only its user can read, and says where.
"""

import asyncio
import re
import stat
from pathlib import Path

import aiohttp
import pytest

from tests.support.control import ControlProcess
from tests.support.eventually import until
from tests.terminal.harness import CTRL_C, terminal


async def test_a_services_output_holds_no_login_link(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with ControlProcess(data) as server:
        await until(lambda: server.log, lambda log: "Log in:" in log)
        assert "code=" not in server.log
        assert str(data / "login-link") in server.log
        file = data / "login-link"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        link = (await asyncio.to_thread(file.read_text)).strip()
        assert re.fullmatch(re.escape(server.url) + r"/login\?code=\S+", link)
        async with aiohttp.ClientSession() as http:
            for status in (303, 401):  # it works once
                async with http.get(link, allow_redirects=False) as answer:
                    assert answer.status == status


@pytest.mark.parametrize("words", [("control",), ("up", "--no-machine", "--no-browser")])
async def test_a_person_at_a_terminal_is_shown_the_link(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """And it is in no file."""
    data, env = tmp_path / "data", {"HOME": str(tmp_path)}
    arguments = (*words, "--port", "0", "--data", str(data))
    async with terminal(*arguments, env=env, columns=200) as screen:
        shown = await screen.until(lambda text: re.search(r"Log in: +http", text) is not None)
        link = re.search(r"Log in: +(http://\S+/login\?code=\S+)", shown)
        assert link
        assert not (data / "login-link").exists()
        async with aiohttp.ClientSession() as http, http.get(link[1]) as answer:
            assert answer.status == 200
        screen.type(CTRL_C)
        assert await screen.ended() == 0
