"""OpenClaw keeps what every runtime promises."""

import pytest
import pytest_asyncio

from tests.runtimes.ending import Ending
from tests.runtimes.lasting import Lasting
from tests.runtimes.stage import Stage
from tests.runtimes.talking import Talking
from tests.runtimes.working import Working
from tests.support.matrix.story import Say
from tests.support.runtimes.openclaw import OpenClaw

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow, pytest.mark.programs]

RUNTIME = OpenClaw()


_TRIES = 4


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def warm(stage: Stage) -> None:
    """The first turn of a machine waits for the gateway, which takes its time on a busy one."""
    async with stage.session() as talk:
        turn = await talk.begin(Say("Good morning."))
        for last in [False] * _TRIES + [True]:
            try:
                await turn.end()
                return
            except AssertionError:
                if last:
                    raise


class TestOpenClaw(Talking, Working, Ending, Lasting):
    """The shared suite."""
