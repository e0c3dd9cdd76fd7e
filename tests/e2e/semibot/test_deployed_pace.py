"""Events of the deployed kind, which no limit counts: read as fast as the log takes them."""

import asyncio
from typing import Any

import pytest

from tests.support.control import LocalControl, TestUser
from tests.support.deployed_daemon import scheduled
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")

AHEAD = 100_000


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    """With the rate limit of the document."""
    return {}


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    """What the log is behind with everybody is not what is looked at here."""
    return Tuning(line_ahead_bytes_max=AHEAD, stall_s=600.0)


@pytest.mark.proves("notes-1-held-back-by-the-log")
async def test_a_line_that_is_ahead_of_the_log_is_not_read_until_it_has_caught_up(
    control: LocalControl, user: TestUser
) -> None:
    async with await scheduled(user, dialect="deployed") as daemon:
        daemon.is_silent = True
        session = await user.session()
        async with user.reader(session) as reader:
            await user.say(session, "go on")
            await daemon.expect("user_message")
            control.disk.stop()
            pieces = [f"{number} " + "x" * 1_000 for number in range(2_500)]
            talking = asyncio.create_task(daemon.tokens(session, pieces))
            await control.disk.reached.wait()
            ping = asyncio.create_task(_ping_behind(daemon, talking))
            for _ in range(5):
                await user.ok("GET", "/machines")  # time enough to read all
            assert not ping.done()
            control.disk.heal()
            await ping
            await reader.until(lambda seen: len(seen.texts()) == len(pieces), "all of it")
            assert reader.texts() == pieces
        assert daemon.close_code is None


async def _ping_behind(daemon: Any, talking: asyncio.Task[None]) -> None:
    await talking
    await daemon.ping()
