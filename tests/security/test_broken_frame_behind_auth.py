"""A frame that cannot be read, right behind a Yeaft agent's `auth`, once ended its line with 1011:
whoever could put one byte on the line kept an agent away. It is skipped, as later on the line."""

from pathlib import Path

import pytest

from tests.support.control import running
from tests.support.yeaft_agent import auth, new_agent


@pytest.mark.parametrize("broken", ["{", "null", '{"type":["auth"]}', '{"type":"claude_output"}'])
async def test_a_broken_frame_behind_auth_does_not_end_an_agents_line(
    tmp_path: Path, broken: str
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        agent = await new_agent(user)
        await agent.connect()
        asked = await agent.expect("auth_required")
        await agent.send(auth(asked, agent.secret))
        await agent.send_text(broken)
        await agent.sync()
        assert (await agent.expect("error"))["code"] == "INVALID_REQUEST"
        session = await user.session(machine_id=agent.id)
        await user.say(session, "hello")
        await agent.prompt("hello")
        await agent.leave()
