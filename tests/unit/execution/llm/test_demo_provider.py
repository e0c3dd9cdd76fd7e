"""The demo model: real tool calls, shown results, and no pretence of being a model."""

import pytest

from tests.support.model_server import ModelServer, Turn
from tests.support.models import (
    BASH,
    Control,
    Session,
    news_of,
    reply_of,
    text_of,
    tool,
    used_tool,
)
from trunkline.execution.errors import RequestFailed
from trunkline.execution.llm.base import Message


def session_without_keys(control: Control | None = None) -> Session:
    return Session(keys={}, control=control)


async def test_without_a_key_the_default_is_the_demo_and_says_so_once() -> None:
    async with session_without_keys() as session:
        first = await session.ask("", "help")
        second = await session.ask("", "help")
    assert "built-in demo model" in news_of(first)[0]
    assert news_of(second) == []
    assert "not an AI" in reply_of(first).text
    assert "".join(text_of(first)) == reply_of(first).text
    assert len(text_of(first)) > 1


async def test_help_in_chinese_is_answered_in_chinese() -> None:
    async with session_without_keys() as session:
        pieces = await session.ask("demo", "帮助")
    assert "演示模型" in news_of(pieces)[0]
    assert "演示模型" in reply_of(pieces).text


async def test_a_command_calls_the_tool() -> None:
    async with session_without_keys() as session:
        reply = reply_of(await session.ask("demo", "run echo hi", tools=[BASH]))
    [made] = reply.tool_calls
    assert (made["name"], made["arguments"]) == ("bash", {"command": "echo hi"})
    assert made["id"]
    assert reply.stop_reason == "tool_calls"


async def test_several_commands_call_their_tools_at_once() -> None:
    async with session_without_keys() as session:
        asked = "run date\nlist the files here"
        reply = reply_of(await session.ask("demo", asked, tools=[BASH, tool("list_files")]))
    assert [made["name"] for made in reply.tool_calls] == ["bash", "list_files"]
    assert len({made["id"] for made in reply.tool_calls}) == 2


async def test_a_tool_that_the_agent_has_not_is_named() -> None:
    async with session_without_keys() as session:
        reply = reply_of(await session.ask("demo", "run date", tools=[tool("read_file")]))
    assert reply.tool_calls == []
    assert "no tool `bash`" in reply.text


async def test_a_result_is_shown_with_its_tool() -> None:
    async with session_without_keys() as session:
        text = reply_of(await session.ask("demo", used_tool(result="a.txt\nb.txt"))).text
    assert text == "`bash` gave:\n\n```\na.txt\nb.txt\n```"


async def test_a_failed_tool_is_shown_as_one_that_failed() -> None:
    failed = Message(role="tool", content="denied", tool_call_id="call_1", is_error=True)
    async with session_without_keys() as session:
        text = reply_of(await session.ask("demo", [*used_tool(result=None), failed])).text
    assert text.startswith("`bash` could not do it:")
    assert "denied" in text


async def test_a_result_with_fences_in_it_stays_in_one_fence_and_a_huge_one_is_cut() -> None:
    content = "```\nx\n```\n" + "y" * 100_000
    async with session_without_keys() as session:
        text = reply_of(await session.ask("demo", used_tool(result=content))).text
    assert text.count("````") == 2
    assert len(text) < 10_000


async def test_free_text_goes_to_the_local_model_when_there_is_one(server: ModelServer) -> None:
    server.script(Turn(text="I am small."))
    control = Control({"local.model": {"base_url": server.openai_url, "model": "smol"}})
    async with session_without_keys(control) as session:
        pieces = await session.ask("demo", "Tell me a story", tools=[BASH])
    assert reply_of(pieces).text == "I am small."
    assert "small local model" in news_of(pieces)[-1]
    assert server.requests[0].model == "smol"
    assert server.requests[0].tool_names == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [("Tell me a story", "only the built-in demo model"), ("讲个故事", "只是内置的演示模型")],
)
async def test_free_text_without_a_local_model_says_what_to_do(asked: str, words: str) -> None:
    missing = RequestFailed("LOCAL_MODEL_UNAVAILABLE", "Install trunkline[local-model].")
    async with session_without_keys(Control({"local.model": missing})) as session:
        reply = reply_of(await session.ask("demo", asked))
    assert words in reply.text
    assert "Install trunkline[local-model]." in reply.text
    assert "API key" in reply.text


async def test_demo_calls_are_reported_like_any_other() -> None:
    async with session_without_keys() as session:
        reply = reply_of(await session.ask("demo", "help"))
    assert session.reports == [(reply.model, reply.latency_ms, reply.usage)]
    assert reply.model == "demo"
