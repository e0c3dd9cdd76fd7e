"""The real programs: what was begun in a terminal goes on here, what was begun here goes on there.

The model's requests are the proof: a program that goes on with a conversation sends all of it.
"""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.support.control import running
from tests.support.eventually import eventually, until
from tests.support.model_server import ModelRequest, ModelServer, Turn
from tests.support.node import Talk, World, children_of
from tests.support.node import command_of as argv_of
from tests.support.program import plain_environment
from tests.support.runtimes.installed import CACHE, lend, need
from trunkline.execution.runtimes import programs

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow, pytest.mark.programs]

Json = dict[str, Any]

ENDS_S = 120.0
CLAUDE_MODEL = "claude-sonnet-4-5"
OPENCODE_MODEL = "gpt-scripted"
CODEX_MODEL = "gpt-5.5"
CODEX_HERE = "--skip-git-repo-check"


class Desk(NamedTuple):
    """A person's own folders, and the machine that runs there."""

    world: World
    own: Path
    project: Path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("terminal")
    own, project = folder / "own", folder / "projects" / "site"
    for one in (own, project):
        one.mkdir(parents=True)
    env = {"HOME": str(own), "TRUNKLINE_NODE_ROOTS": str(folder / "projects")}
    async with (
        running(folder / "data", rate_limit_per_minute=0) as control,
        ModelServer() as model,
    ):
        model.otherwise(lambda one: Turn(text=f"You said: {one.prompt.strip()[-40:]}"))
        lend(folder / "home")
        world = World(control, model, folder / "home", env)
        async with world:
            yield Desk(world, own, project)


async def in_terminal(desk: Desk, program: str, *arguments: str) -> str:
    """Runs a program as a person would, in the project; what it printed."""
    argv = [*command_of(program), *arguments]
    env = plain_environment() | {
        "HOME": str(desk.own),
        "PWD": str(desk.project),  # as a shell says it, and some programs believe it
        "ANTHROPIC_BASE_URL": desk.world.model.anthropic_url,
        "ANTHROPIC_API_KEY": "own-key",
        "OPENAI_API_KEY": "own-key",
        "OPENCODE_CONFIG_CONTENT": opencode_config(desk),
    }
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=desk.project,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    async with asyncio.timeout(ENDS_S):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()[-2000:]
    return output.decode()


def command_of(program: str) -> tuple[str, ...]:
    """Of Codex, which speaks ACP by another program, its own."""
    if program == "codex":
        return programs.found_in(CACHE.programs / program, (program,))
    return programs.locate(program, CACHE, os.environ)


def configure_codex(desk: Desk) -> str:
    """As a person has it who uses a server of their own, which wants no key: its whole text."""
    lines = (
        f'model = "{CODEX_MODEL}"',
        'model_provider = "own"',
        "[model_providers.own]",
        'name = "own"',
        f'base_url = "{desk.world.model.openai_url}"',
        'wire_api = "responses"',
    )
    folder = desk.own / ".codex"
    folder.mkdir()
    text = "\n".join(lines)
    (folder / "config.toml").write_text(text)
    return text


def opencode_config(desk: Desk) -> str:
    options = f'"baseURL":"{desk.world.model.openai_url}","apiKey":"own-key"'
    return (
        '{"autoupdate":false,"share":"disabled","model":"scripted/m","small_model":"scripted/m",'
        '"provider":{"scripted":{"npm":"@ai-sdk/openai-compatible","name":"Scripted","options":{'
        f"{options}" + '},"models":{"m":{"name":"M"}}}}}'
    )


async def listed(desk: Desk, program: str) -> list[Json]:
    path = f"/machines/{desk.world.node.machine_id}/foreign-sessions?runtime={program}"
    items: list[Json] = (await desk.world.user.ok("GET", path))["items"]
    return items


async def adopt(desk: Desk, one: Json, model: str) -> Json:
    named = {"runtime": one["runtime"], "id": one["id"], "preset": one["preset"] or None}
    body = {
        "machine_id": desk.world.node.machine_id,
        "adopt": named,
        "agent_config": {"model": model, "confirm": "never"},
    }
    session: Json = await desk.world.user.ok("POST", "/sessions", body)
    return session


def asked(desk: Desk, prompt: str) -> ModelRequest:
    """The request with which the conversation went on."""
    found = [one for one in desk.world.model.requests if prompt in one.prompt and one.tool_names]
    assert found, [one.prompt[-80:] for one in desk.world.model.requests]
    return found[-1]


def said_in(request: ModelRequest) -> str:
    return str(request.messages)


async def resume_of(desk: Desk, session_id: str) -> Json:
    """How to go on there, once the machine has told it: a moment after its first turn has ended."""

    async def look() -> Json | None:
        shown = await desk.world.user.ok("GET", f"/sessions/{session_id}")
        found: Json | None = shown["resume"]
        return found

    found = await eventually(look)
    assert found is not None
    return found


async def test_claude_code_goes_on_here_and_there(desk: Desk) -> None:
    need("claude-code")
    claude = ("--model", CLAUDE_MODEL)
    await in_terminal(desk, "claude-code", "-p", "The word is heron.", *claude)
    [one] = await listed(desk, "claude-code")
    assert (one["title"], one["folder"]) == ("The word is heron.", str(desk.project.resolve()))
    session = await adopt(desk, one, CLAUDE_MODEL)
    async with Talk(desk.world.user, session["id"]) as talk:
        end = await talk.ask("Which word was it, here?")
        assert end["type"] == "execution_complete", end
        assert "The word is heron." in said_in(asked(desk, "Which word was it, here?"))
    shown = await desk.world.user.ok("GET", f"/sessions/{session['id']}")
    program, *arguments = shlex.split(shown["resume"]["command"])
    assert program == "claude"
    assert shown["resume"]["folder"] == str(desk.project.resolve())
    await in_terminal(desk, "claude-code", *arguments, "-p", "And there?", *claude)
    request = said_in(asked(desk, "And there?"))
    assert "The word is heron." in request
    assert "Which word was it, here?" in request


async def test_what_was_begun_here_with_claude_code_goes_on_there(desk: Desk) -> None:
    need("claude-code")
    config = {"model": CLAUDE_MODEL, "workspace": str(desk.project), "confirm": "never"}
    session_id = await desk.world.user.session(
        machine_id=desk.world.node.machine_id, runtime_type="claude-code", agent_config=config
    )
    async with Talk(desk.world.user, session_id) as talk:
        end = await talk.ask("The number is eleven.")
        assert end["type"] == "execution_complete", end

    found = await resume_of(desk, session_id)
    arguments = shlex.split(found["command"])[1:]
    prompt = ("-p", "Which number?", "--model", CLAUDE_MODEL)
    await in_terminal(desk, "claude-code", *arguments, *prompt)
    assert "The number is eleven." in said_in(asked(desk, "Which number?"))
    [one] = [one for one in await listed(desk, "claude-code") if one["id"] == found["id"]]
    assert one["session_id"] == session_id


async def test_opencode_goes_on_here_and_there(desk: Desk) -> None:
    need("opencode")
    await in_terminal(desk, "opencode", "run", "The colour is teal.")
    [one] = await listed(desk, "opencode")
    session = await adopt(desk, one, OPENCODE_MODEL)
    async with Talk(desk.world.user, session["id"]) as talk:
        first = await talk.until("user_message")
        assert first["content"].strip('"') == "The colour is teal."
        end = await talk.ask("Which colour, here?")
        assert end["type"] == "execution_complete", end
        assert "The colour is teal." in said_in(asked(desk, "Which colour, here?"))
    shown = await desk.world.user.ok("GET", f"/sessions/{session['id']}")
    program, *arguments = shlex.split(shown["resume"]["command"])
    assert program == "opencode"
    # Here it was asked with a key of the control plane's, which the terminal has not.
    own = ("--model", "scripted/m")
    await in_terminal(desk, "opencode", "run", *arguments, *own, "And there, which?")
    request = said_in(asked(desk, "And there, which?"))
    assert "The colour is teal." in request
    assert "Which colour, here?" in request


async def codex_let_go(desk: Desk) -> None:
    """Until nobody here has a conversation of Codex open, which keeps others out."""

    def is_gone() -> bool:
        sessions = desk.world.node.session_processes()
        below = [one for session in sessions for one in children_of(session, recursive=True)]
        return not any("app-server" in argv_of(one) for one in below)

    await until(is_gone)


async def test_codex_goes_on_here_and_there_and_here_again(desk: Desk) -> None:
    need("codex")
    before = configure_codex(desk)
    await in_terminal(desk, "codex", "exec", CODEX_HERE, "The tree is an alder.")
    [one] = await listed(desk, "codex")
    assert (one["title"], one["folder"]) == ("The tree is an alder.", str(desk.project.resolve()))
    session = await adopt(desk, one, CODEX_MODEL)
    async with Talk(desk.world.user, session["id"]) as talk:
        first = await talk.until("user_message")
        assert first["content"] == "The tree is an alder."
        end = await talk.ask("Which tree, here?")
        assert end["type"] == "execution_complete", end
        assert "The tree is an alder." in said_in(asked(desk, "Which tree, here?"))
        shown = await desk.world.user.ok("GET", f"/sessions/{session['id']}")
        assert shown["resume"]["command"] == f"codex resume {one['id']}"
        again = ("exec", CODEX_HERE, "resume", one["id"])
        await codex_let_go(desk)
        await in_terminal(desk, "codex", *again, "And there, which tree?")
        request = said_in(asked(desk, "And there, which tree?"))
        assert "The tree is an alder." in request
        assert "Which tree, here?" in request
        end = await talk.ask("And here again?")
        assert end["type"] == "execution_complete", end
    assert "And there, which tree?" in said_in(asked(desk, "And here again?"))
    await codex_let_go(desk)
    await in_terminal(desk, "codex", *again, "Is it the last time?")
    assert "And here again?" in said_in(asked(desk, "Is it the last time?"))
    assert (desk.own / ".codex" / "config.toml").read_text() == before


async def test_what_was_begun_here_with_codex_goes_on_there_and_no_model_names_it(
    desk: Desk,
) -> None:
    need("codex")
    config = {
        "acp": {"preset": "codex"},
        "model": CODEX_MODEL,
        "workspace": str(desk.project),
        "confirm": "never",
    }
    session_id = await desk.world.user.session(
        machine_id=desk.world.node.machine_id, runtime_type="acp", agent_config=config
    )
    before = len(desk.world.model.requests)
    async with Talk(desk.world.user, session_id) as talk:
        for prompt in ("The bird is a wren.", "Does it sing?"):
            end = await talk.ask(prompt)
            assert end["type"] == "execution_complete", end
    assert len(desk.world.model.requests) == before + 2
    # Codex keeps a conversation to its provider, which the terminal is told of, and not its key.
    found = await resume_of(desk, session_id)
    program, *settings, resume, codex_id = shlex.split(found["command"])
    assert (program, resume) == ("codex", "resume")
    there = ("exec", CODEX_HERE, *settings, resume, codex_id)
    await codex_let_go(desk)
    await in_terminal(desk, "codex", *there, "Which bird?")
    assert "The bird is a wren." in said_in(asked(desk, "Which bird?"))
