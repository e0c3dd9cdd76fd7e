"""Tab in a person's own shell, whose completion `trunkline --install-completion` has set up: it
completes what the server knows."""

import os
import shutil
from pathlib import Path

import pytest

from tests.terminal.desk import Desk
from tests.terminal.harness import ENTER, PROGRAM, TAB, terminal

pytestmark = pytest.mark.asyncio(loop_scope="module")

_OF_THEIR_OWN = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}


@pytest.mark.parametrize("name", _OF_THEIR_OWN)
async def test_a_live_name_is_completed_with_tab(desk: Desk, tmp_path: Path, name: str) -> None:
    shell = shutil.which(name)
    if shell is None:
        pytest.skip(f"{name} is not here")
    own = tmp_path / _OF_THEIR_OWN[name]
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("# nothing\n")
    await desk.client.post("agents", body={"name": "Night watch", "model": "gpt-4o"})
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**desk.env, "HOME": str(tmp_path), "PATH": path}
    installing = ("-c", "trunkline --install-completion; true")
    async with terminal(*installing, env=env, program=shell) as screen:
        assert await screen.ended() == 0
        assert f"{name} completion installed" in screen.text
    async with terminal("-i", env=env, program=shell, cwd=tmp_path) as screen:
        screen.type("trunkline agent show Nig", TAB)
        await screen.until(r"trunkline agent show Night\ watch")
        screen.type(ENTER)
        await screen.until("gpt-4o")
