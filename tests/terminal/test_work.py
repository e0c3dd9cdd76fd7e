"""What `trunkline chat` tells of the work of a real machine: its files, their changes, its cost,
the conversation shortened by hand, and how far the local model is when it starts."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.control import Control
from tests.support.eventually import eventually
from tests.support.git import committed
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.node import World
from tests.support.small_model import SmallModel
from tests.terminal.harness import CTRL_C, CTRL_D, ENTER, TAB, Terminal, terminal

pytestmark = pytest.mark.asyncio(loop_scope="module")

_MODEL = "gpt-5.4"
_PARAGRAPH = "The quick brown fox jumps over the lazy dog and thinks about it. " * 12


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "site"
    folder.mkdir()
    (folder / "page.txt").write_text("first\nsecond\n")
    committed(folder)
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(
    control: Control, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    home = tmp_path_factory.mktemp("machine") / "home"
    env = {"TRUNKLINE_NODE_ROOTS": str(project)}
    async with ModelServer() as model, World(control, model, home, env) as world:
        yield world


@asynccontextmanager
async def chat(
    world: World, folder: Path, *arguments: str, model: str = _MODEL
) -> AsyncIterator[Terminal]:
    env = {
        "XDG_STATE_HOME": str(folder / "state"),
        "TRUNKLINE_URL": world.control.url,
        "TRUNKLINE_TOKEN": world.user.token,
    }
    started = ("chat", "--model", model, *arguments)
    async with terminal(*started, env=env, columns=100, rows=50) as screen:
        await screen.prompt()
        yield screen
        screen.type(CTRL_D)
        assert await screen.ended() == 0


def write(path: str, content: str) -> Turn:
    arguments = {"path": path, "content": content}
    return Turn(tool_calls=[ToolUse(name="write_file", arguments=arguments)])


async def calls(world: World) -> int:
    """How many of the model's are accounted for."""
    return sum(one["calls"] for one in (await world.user.ok("GET", "/usage"))["items"])


async def test_the_files_of_a_session_their_changes_and_its_cost(
    world: World, project: Path, tmp_path: Path
) -> None:
    async with chat(world, tmp_path, "--workspace", str(project), "--mode", "free") as screen:
        screen.type("/files", ENTER)
        await screen.until("· it has made and changed no files")
        screen.type("/diff", ENTER)
        await screen.until("· nothing has changed in this chat")
        world.model.script(
            write("page.txt", "first\nSECOND\n"), write("new.txt", "third\n"), Turn(text="Done.")
        )
        screen.type("mend it", ENTER)
        await screen.until("33 tokens in, 21 out · <$0.01")
        quiet = f"manual VM · gpt-5.4 · {project}"
        await screen.until(lambda text: text.splitlines()[-1].startswith(quiet))
        screen.type("/files", ENTER)
        await screen.until("· modified  page.txt\n· created   new.txt")
        screen.type("/diff", ENTER)
        shown = await screen.until("± new.txt +1 -0 · new\n@@ -0,0 +1 @@\n+third")
        assert "\n± page.txt +1 -1\n@@ -1,2 +1,2 @@\n first\n-second\n+SECOND\n" in shown
        assert (screen.colour("-second"), screen.colour("+SECOND")) == ("red", "green")
        screen.type("look at @pa", TAB)
        await screen.until("> look at @page.txt")
        screen.type(CTRL_C)
        await eventually(lambda: calls(world), lambda count: count == 3)  # told behind the turn
        screen.type("/cost", ENTER)
        await screen.until("· gpt-5.4: 3 calls, 33 tokens in, 21 out, <$0.01")


async def test_the_work_in_a_worktree_is_shown_as_it_is_there(
    world: World, project: Path, tmp_path: Path
) -> None:
    """Also what was not done by the session."""
    chosen = ("--workspace", str(project), "--worktree", "--mode", "free")
    async with chat(world, tmp_path, *chosen) as screen:
        world.model.script(Turn(text="Hello."))
        screen.type("hello", ENTER)
        await screen.until("11 tokens in")
        screen.type("/diff", ENTER)
        await screen.until(lambda text: "· nothing has changed\n" in f"{text}\n")
        [session] = (await world.user.ok("GET", "/sessions?limit=1"))["items"]
        worktree = (await world.user.ok("GET", f"/sessions/{session['id']}/diff"))["folder"]
        Path(worktree, "page.txt").write_text("FIRST\nsecond\n")
        screen.type("/diff", ENTER)
        await screen.until("\n-first\n+FIRST\n second")
        assert (screen.colour("-first"), screen.colour("+FIRST")) == ("red", "green")


async def test_a_conversation_is_shortened_by_hand(world: World, tmp_path: Path) -> None:
    world.model.otherwise(SmallModel(100_000))
    async with chat(world, tmp_path) as screen:
        screen.type("/compact", ENTER)
        await screen.until("nothing was shortened: The conversation is short already.")
        for number in range(1, 5):
            screen.type(f"Message {number}. {_PARAGRAPH}", ENTER)
            await screen.until(partial(_is_answered, number))
        screen.type("/compact", ENTER)
        said = re.compile(
            r"\nthe conversation was shortened for the model: (\S+)k → (\S+)k tokens\n"
        )
        found = said.search(await screen.until(lambda text: said.search(text) is not None))
        assert found
        assert float(found[2]) < float(found[1])


async def test_the_first_start_of_the_local_model_is_told_step_by_step(
    world: World, tmp_path: Path
) -> None:
    async with chat(world, tmp_path, model="local") as screen:
        screen.type("Say hello", ENTER)
        shown = await screen.until("· Answered by ")
        steps = (
            r"· Starting the local model \S+ …",
            r"· Loading \S+\.gguf \(\d+ MB\) …",
            r"· The local model is ready\.",
            r"· Answered by ",
        )
        assert re.search("^" + "\n".join(steps), shown, re.MULTILINE)
        assert screen.is_faint("· The local model is ready.")


def _is_answered(count: int, text: str) -> bool:
    return text.count(" tokens in, 7 out") == count
