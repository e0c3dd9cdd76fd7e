"""A whole system: control plane, daemon, session processes, and a model server on real sockets."""

import io
import json
import sys
import zipfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.support.account import AccountReader
from tests.support.control import ADMIN, Control
from tests.support.eventually import eventually
from tests.support.mcp_server import running_server
from tests.support.model_server import (
    Failure,
    Gate,
    ModelRequest,
    ModelServer,
    ToolUse,
    Turn,
)
from tests.support.node import Talk, World
from tests.support.yeaft_page import page_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, control: Control) -> AsyncIterator[World]:
    home = tmp_path_factory.mktemp("chat") / "home"
    async with ModelServer() as model, World(control, model, home) as world:
        yield world


@pytest.mark.parametrize("name", ["gpt-scripted", "claude-scripted"])
@pytest.mark.proves(
    "004-5-connects-and-serves",
    "004-7.4-text",
    "004-7.4-complete",
    "004-9-openai-direct",
    "004-9-anthropic-direct",
    "004-9-tokens-to-readers",
)
async def test_a_person_types_and_a_model_answers(world: World, name: str) -> None:
    gate = Gate()
    world.model.script(Turn(chunks=["Good ", gate, "morning."]))
    async with await world.session(agent={"model": name, "system_prompt": "Be kind."}) as talk:
        turn_id = await talk.say("Hello?")
        # The first words are read while the model still speaks.
        await talk.until("text_chunk")
        assert talk.text(turn_id) == "Good "
        gate.open()
        end = await talk.end_of(turn_id)
        assert (end["type"], end["content"]) == ("execution_complete", "Good morning.")
        assert talk.text(turn_id) == "Good morning."
    asked = world.model.requests[-1]
    assert asked.prompt == "Hello?"
    assert "Be kind." in asked.system
    assert asked.provider == ("openai" if name.startswith("gpt") else "anthropic")
    # The key came down in `init`; the daemon's own environment has none.
    if asked.provider == "openai":
        assert asked.headers["authorization"] == "Bearer key-of-openai"
    else:
        assert asked.headers["x-api-key"] == "key-of-anthropic"


@pytest.mark.parametrize("name", ["gpt-scripted", "claude-scripted"])
@pytest.mark.proves("004-1-whole-turn", "004-7.2-results")
async def test_a_tool_runs_on_the_machine_and_its_result_goes_back(world: World, name: str) -> None:
    world.node.workspace.joinpath("notes.txt").write_text("remember the milk")
    world.model.script(
        Turn(tool_calls=[ToolUse(name="bash", arguments={"command": "cat notes.txt"})]),
        Turn(text="You wanted milk."),
    )
    async with await world.session(agent={"model": name}) as talk:
        end = await talk.ask("What was it?")
        assert end["content"] == "You wanted milk."
        [start] = talk.events("tool_call_start")
        [done] = talk.events("tool_call_complete")
        assert start["tool_name"] == done["tool_name"] == "bash"
        assert start["tool_input"] == {"command": "cat notes.txt"}
        assert start["tool_call_id"] == done["tool_call_id"]
        assert "remember the milk" in json.dumps(done["result"])
    assert "remember the milk" in world.model.requests[-1].tool_results[0]


@pytest.mark.proves("000-6-replan-after-failed-tools")
async def test_a_tool_that_fails_makes_the_model_think_again(world: World) -> None:
    world.model.script(
        Turn(tool_calls=[ToolUse(name="read_file", arguments={"path": "nowhere.txt"})]),
        Turn(tool_calls=[ToolUse(name="bash", arguments={"command": "echo plan B"})]),
        Turn(text="It worked in the end."),
    )
    async with await world.session() as talk:
        assert (await talk.ask("Read it."))["content"] == "It worked in the end."
        first, second = talk.events("tool_call_complete")
        assert first["is_error"] is True
        assert not second.get("is_error")
    assert "nowhere.txt" in world.model.requests[-2].tool_results[0]


@pytest.mark.proves("004-7.1-short-term-memory")
async def test_a_conversation_goes_on_from_turn_to_turn(world: World) -> None:
    world.model.script(Turn(text="Nice to meet you, Ada."), Turn(text="You are Ada."))
    async with await world.session() as talk:
        await talk.ask("I am Ada.")
        await talk.ask("Who am I?")
    said = world.model.requests[-1].said
    assert ("user", "I am Ada.") in said
    assert ("assistant", "Nice to meet you, Ada.") in said
    assert said[-1] == ("user", "Who am I?")


@pytest.mark.proves("004-4.7-scripts-by-bash", "004-8-used-as-it-is")
async def test_a_skill_is_fetched_whole_and_its_script_runs(world: World) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        about = "---\nname: greet\ndescription: Greets people.\n---\nRun it.\n"
        archive.writestr("SKILL.md", about)
        archive.writestr("scripts/greet.py", "import sys\nprint('Hello,', sys.argv[1])\n")
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {ADMIN}"}) as http:
        url = world.control.url + "/api/v1/skills"
        async with http.post(url, data=packed.getvalue()) as answer:
            assert answer.status < 300, await answer.text()
    script = world.node.home / ".semibot" / "skills" / "greet" / "scripts" / "greet.py"
    world.model.script(
        Turn(tool_calls=[ToolUse(name="read_skill_file", arguments={"skill": "greet"})]),
        Turn(tool_calls=[ToolUse(name="bash", arguments={"command": f"python3 {script} Ada"})]),
        Turn(text="Greeted."),
    )
    async with await world.session() as talk:
        assert (await talk.ask("Greet Ada."))["content"] == "Greeted."
        assert talk.events("skill_call_start")[0]["skill_name"] == "greet"
    first, second, third = world.model.requests[-3:]
    assert '<skill name="greet"' in first.system
    assert "Run it." in second.tool_results[0]
    assert "Hello, Ada" in third.tool_results[0]


@pytest.mark.proves("004-7.2-local-mcp", "004-7.2-remote-mcp")
async def test_a_local_and_a_remote_mcp_server_are_tools_like_others(world: World) -> None:
    program = str(Path(sys.executable).parent / "mcp-server-time")
    async with running_server() as remote:
        for server in (
            {"name": "clock", "type": "local", "command": program, "args": []},
            {"name": "sums", "type": "remote", "url": remote.url},
        ):
            await world.user.ok("POST", "/mcp-servers", server)
        arguments = {"time": "12:00", "source_timezone": "UTC", "target_timezone": "Asia/Tokyo"}
        script = (
            Turn(tool_calls=[ToolUse(name="mcp__clock__convert_time", arguments=arguments)]),
            Turn(tool_calls=[ToolUse(name="mcp__sums__add", arguments={"a": 2, "b": 40})]),
            Turn(text="All told."),
        )
        async with await world.session() as talk:
            await talk.until_offered("mcp__clock__convert_time", world.model)
            world.model.script(*script)
            assert (await talk.ask("Time and sum."))["content"] == "All told."
        assert remote.calls == ["add"]
    clock, total = (one.tool_results[0] for one in world.model.requests[-2:])
    assert "21:00" in clock
    assert "42" in total
    for server in await world.user.ok("GET", "/mcp-servers"):
        if isinstance(server, dict):
            await world.user.call("DELETE", f"/mcp-servers/{server['id']}")


@pytest.mark.proves("004-5-sub-agents")
async def test_a_sub_agent_does_a_part_of_the_work(world: World) -> None:
    helper = await world.user.ok(
        "POST",
        "/agents",
        {"name": "Poet", "system_prompt": "You write verse.", "model": "gpt-poet"},
    )
    chief = await world.user.ok(
        "POST", "/agents", {"name": "Chief", "model": "gpt-chief", "sub_agents": [helper["id"]]}
    )
    world.model.when(
        lambda request: request.model == "gpt-chief",
        Turn(
            tool_calls=[
                ToolUse(name="delegate", arguments={"agent": "Poet", "task": "A line on rain."})
            ]
        ),
        Turn(text="The poet says: soft rain."),
    )
    world.model.when(lambda request: request.model == "gpt-poet", Turn(text="Soft rain falls."))
    session_id = await world.user.session(agent_id=chief["id"], machine_id=world.node.machine_id)
    async with Talk(world.user, session_id) as talk:
        assert (await talk.ask("A poem."))["content"] == "The poet says: soft rain."
    poet = next(one for one in world.model.requests if one.model == "gpt-poet")
    assert "You write verse." in poet.system
    assert poet.prompt == "A line on rain."
    assert "Soft rain falls." in world.model.requests[-1].tool_results[0]


def _is_prompt(prompt: str, request: ModelRequest) -> bool:
    return request.prompt == prompt


@pytest.mark.proves("004-6-files-are-shared")
async def test_two_sessions_write_one_file_and_neither_tears_it(world: World) -> None:
    texts = ["a" * 200_000, "b" * 200_000]
    talks = []
    for text in texts:
        world.model.when(
            partial(_is_prompt, f"Write {text[0]}."),
            Turn(
                tool_calls=[
                    ToolUse(name="write_file", arguments={"path": "one.txt", "content": text})
                ]
                * 3
            ),
            Turn(text="Written."),
        )
        talks.append(await world.session())
    async with talks[0] as first, talks[1] as second:
        turns = [await first.say("Write a."), await second.say("Write b.")]
        await first.end_of(turns[0])
        await second.end_of(turns[1])
    assert world.node.workspace.joinpath("one.txt").read_text() in texts


@pytest.mark.proves("004-9-failure-is-told")
async def test_a_refused_key_is_told_in_words_for_people(world: World) -> None:
    world.model.script(Turn(failure=Failure(kind="refused_key")))
    async with await world.session() as talk:
        end = await talk.ask("Hello?")
        assert end["type"] == "execution_error"
        assert end["code"] == "MODEL_KEY_REFUSED"
        assert "key-of-openai" not in json.dumps(end)
        world.model.script(Turn(text="Back."))
        assert (await talk.ask("And now?"))["content"] == "Back."


@pytest.mark.proves("004-7.4-usage")
async def test_what_models_cost_is_reported(world: World) -> None:
    world.model.script(Turn(text="Cheap.", tokens_in=123, tokens_out=45))
    async with await world.session(agent={"model": "gpt-counted"}) as talk:
        await talk.ask("How much?")
        [used] = talk.events("usage")
        assert "cost" not in used  # nobody knows what that model costs
        world.model.script(Turn(text="Dear.", tokens_in=1_000_000, tokens_out=100_000))
        await talk.user.ok("PATCH", f"/sessions/{talk.id}/config", {"model": "gpt-4o"})
        await talk.ask("And now?")
        assert talk.events("usage")[-1]["cost"] == {"amount": 3.5, "currency": "USD"}

    async def reported() -> list[dict[str, object]]:
        page = await world.user.ok("GET", "/usage?group_by=model")
        rows = page["items"] if isinstance(page, dict) else page
        return [row for row in rows if row.get("key", row.get("model")) == "gpt-counted"]

    [row] = await eventually(reported)
    assert (row["tokens_in"], row["tokens_out"]) == (123, 45)
    assert (row["cost"], row["unpriced_calls"]) == (None, 1)
    one = f"/usage?group_by=session&session_id={talk.id}"
    cost = {"amount": 3.5, "currency": "USD"}
    await eventually(
        lambda: world.user.ok("GET", one),
        lambda page: [row["cost"] for row in page["items"]] == [cost],
    )


@pytest.mark.proves("004-4.10-no-fallback", "004-4.9-resolved-before-the-start")
async def test_a_runtime_that_is_not_there_is_refused_and_not_replaced(world: World) -> None:
    for runtime, refusal in (("openclaw", 409), ("no-such-runtime", 400)):
        body = {"runtime_type": runtime, "machine_id": world.node.machine_id}
        status, answer = await world.user.call("POST", "/sessions", body)
        assert (status, answer["error"]["code"]) == (refusal, "RUNTIME_UNSUPPORTED")
        assert runtime in answer["error"]["message"]
        assert "semigraph" in answer["error"]["message"]


async def test_the_page_and_yeafts_are_told_of_a_title_of_the_message_and_then_of_the_models(
    world: World,
) -> None:
    gate = Gate()
    world.model.when(
        lambda request: "You name conversations" in request.system,
        Turn(chunks=[gate, '"Mending the **build**."']),
    )
    world.model.script(Turn(text="Done."))
    async with (
        AccountReader(world.user) as lists,
        page_of(world.user) as page,
        await world.session(session_config={"titles": True}) as talk,
    ):
        await talk.ask("# Please   mend it\nThe build is broken.")
        told = await lists.until_news("session", id=talk.id, titled_by="message")
        assert told["title"] == "Please mend it"
        await page.until(lambda: page.row(talk.id)["title"] == "Please mend it", "its words")
        await gate.reached.wait()
        gate.open()
        told = await lists.until_news("session", id=talk.id, titled_by="model")
        assert told["title"] == "Mending the build"
        await page.until(lambda: page.row(talk.id)["title"] == "Mending the build", "the model's")

        async def calls() -> int:
            [used] = (await world.user.ok("GET", f"/usage?session_id={talk.id}"))["items"]
            return int(used["calls"])

        await eventually(calls, lambda count: count == 2)  # it is counted behind the title
