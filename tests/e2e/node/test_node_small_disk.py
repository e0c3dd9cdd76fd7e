"""A real execution plane on a real file system of a few MiB, which its own agent fills up."""

from pathlib import Path

import pytest

from tests.support import small_disk
from tests.support.control import Control
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.node import Node, World
from tests.support.small_disk import SmallDisk

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILL = "echo precious; dd if=/dev/zero of=fill bs=4k 2>/dev/null; true"


class SmallNode(Node):
    """Its home is such a disk."""

    async def run(self, *command: str, env: dict[str, str]) -> None:
        self.home.mkdir()
        await super().run(*small_disk.command(self.home, "8m", *command), env=env)


async def test_a_turn_on_a_full_disk_ends_before_the_model_is_asked_and_the_next_goes_on(
    control: Control, tmp_path: Path
) -> None:
    small_disk.needed()
    home = tmp_path / "home"
    async with ModelServer() as model, World(control, model, home, kind=SmallNode) as world:
        disk = SmallDisk(world.node.process.pid, home)
        fill = ToolUse(name="bash", arguments={"command": FILL})
        model.script(Turn(text="Yes?", tool_calls=[fill]), Turn(text="I remember."))
        async with await world.session() as talk:
            for message in ("Fill it.", "And now?"):
                end = await talk.ask(message)
                assert (end["type"], end["code"]) == ("execution_error", "DISK_FULL")
                assert len(model.requests) == 1  # nothing is paid for that could not be kept
            (disk.folder / "workspace" / "fill").unlink()
            turn = await talk.say("What was it?")
            assert (await talk.end_of(turn))["content"] == "I remember."
            assert "precious" in str(model.requests[1].said)
            assert talk.text() == "Yes?I remember."
            assert talk.reader.ids == list(range(1, len(talk.reader.ids) + 1))
