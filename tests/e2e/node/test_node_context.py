"""A small window, through the whole system: shortened by itself and by hand, or killed at it."""

from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from tests.support.control import running
from tests.support.eventually import until
from tests.support.model_server import Gate, ModelServer, Turn
from tests.support.node import World
from tests.support.small_model import SmallModel, is_summary

pytestmark = pytest.mark.asyncio(loop_scope="module")

SENTENCES = "The quick brown fox jumps over the lazy dog and thinks about it. " * 6
PARAGRAPH = SENTENCES * 2
SMALL = {"session_config": {"context_window": 4096}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("context")
    async with running(folder / "data", rate_limit_per_minute=0) as control, ModelServer() as model:
        model.otherwise(SmallModel(4096))
        async with World(control, model, folder / "home") as made:
            yield made


async def test_a_session_goes_on_when_the_window_is_full(world: World) -> None:
    async with await world.session(**SMALL) as talk:
        while not talk.events("context_compacted"):
            assert (await talk.ask(f"Go on. {PARAGRAPH}"))["type"] == "execution_complete"
        [told] = talk.events("context_compacted")
        assert (told["how"], told["window_tokens"]) == ("summary", 4096)
        assert told["after_tokens"] < told["before_tokens"]


async def test_a_person_shortens_it_by_hand(world: World) -> None:
    async with await world.session() as talk:
        for number in range(3):
            await talk.ask(f"Message {number}. {SENTENCES}")
        status, _ = await talk.user.call("POST", f"/sessions/{talk.id}/compact")
        assert status == 202
        told = await talk.until("context_compacted")
        assert (told["how"], told["by"]) == ("summary", "user")
        await talk.ask("And now?")
        assert "Message 0." not in str(world.model.requests[-1].messages)


async def test_a_process_that_is_killed_while_it_shortens_leaves_everything(world: World) -> None:
    gate = Gate()
    world.model.when(is_summary, Turn(text="never heard", gate=gate))
    before = {one.pid for one in world.node.session_processes()}
    async with await world.session() as talk:
        for number in range(3):
            await talk.ask(f"Message {number}. {SENTENCES}")
        await talk.user.ok("POST", f"/sessions/{talk.id}/compact")
        await gate.reached.wait()
        [process] = [one for one in world.node.session_processes() if one.pid not in before]
        process.kill()
        await until(lambda: not psutil.pid_exists(process.pid))
        end = await talk.ask("And now?")
        assert end["type"] == "execution_complete", end
        said = [text[:10] for role, text in world.model.requests[-1].said if role == "user"]
        assert said == ["Message 0.", "Message 1.", "Message 2.", "And now?"]
