"""What a MyAgent client that waits for an answer is told of its session's troubles."""

import pytest

from tests.support.control import TestUser
from tests.support.myagent import client_of
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import new_agent

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_an_error_that_a_yeaft_agent_shows_in_a_turn_is_read_by_a_person(
    user: TestUser,
) -> None:
    async with await new_agent(user) as agent, client_of(user) as client:
        session = await client.create_session({"machine_id": agent.id})
        await client.say(session, "go")
        await agent.prompt("go")
        await agent.output(session, type="system", subtype="error", message="boom")
        told = await client.expect("agent.thinking", lambda one: "boom" in str(one["content"]))
        assert told["content"] == "boom"
        await agent.result(session, result="done")
        await client.expect("agent.final_answer")


async def test_what_a_machine_does_without_is_named(user: TestUser, vm: ScriptedVm) -> None:
    async with client_of(user) as client:
        session = await client.create_session()
        await client.say(session, "go")
        await vm.expect("user_message")
        lacks = ["long_term_memory", "remote_mcp"]
        await vm.event(session, type="session_status", machine="degraded", degraded=lacks)
        told = await client.expect("agent.thinking")
        assert "lost its line" in told["content"]
        assert all(one in told["content"] for one in lacks)
