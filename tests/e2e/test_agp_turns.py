"""A device's turns: a prompt down, pieces and an answer up, all in the session's log."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.agp import ScriptedDevice, new_device
from tests.support.control import TestUser

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def device(user: TestUser) -> AsyncIterator[ScriptedDevice]:
    async with await new_device(user) as live:
        yield live


def _fields(event: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: event[name] for name in names if name in event}


async def test_a_message_becomes_a_prompt_and_its_answer_reaches_readers(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    async with user.reader(session_id) as reader:
        turn_id = await user.say(session_id, "what is the weather?")
        prompt = await device.prompt("what is the weather?")
        assert prompt["guid"] == device.guid
        assert prompt["user_id"] == user.id
        assert prompt["payload"] == {
            "session_id": session_id,
            "prompt_id": turn_id,
            "agent_app": "openclaw",
            "content": [{"type": "text", "text": "what is the weather?"}],
        }
        await device.text(prompt, "sunny, ", "15 degrees")
        await device.respond(prompt, "sunny, 15 degrees")
        end = await reader.until_type("execution_complete")
        assert _fields(end, "content", "turn_id") == {
            "content": "sunny, 15 degrees",
            "turn_id": turn_id,
        }
        assert reader.texts() == ["sunny, ", "15 degrees"]
