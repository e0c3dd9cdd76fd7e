"""A turn on a scripted Yeaft agent: how tests of what becomes of one begin."""

import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from tests.support.control import Control, TestUser
from tests.support.yeaft_agent import DOCUMENTED, ScriptedAgent, new_agent


class YeaftTurn(NamedTuple):
    """A user, their agent, and the session whose message the agent is at."""

    user: TestUser
    agent: ScriptedAgent
    session: str

    def agent_at(self, control: Control) -> ScriptedAgent:
        """The agent, for a line to a control plane that was started on the same data; the user
        goes there too."""
        self.user.control = control
        return self.agent.again(url=control.url)

    async def pass_by(self, back: ScriptedAgent) -> None:
        """Whatever had to be said again has been: a message of another session came behind it."""
        other = await self.user.session(machine_id=self.agent.id)
        await self.user.say(other, "elsewhere")
        await back.prompt("elsewhere")


@contextlib.asynccontextmanager
async def turn_at(control: Control, dialect: str = DOCUMENTED) -> AsyncIterator[YeaftTurn]:
    """A turn of a new agent, whose line lasts as long as this does."""
    user = await control.user()
    async with await new_agent(user, dialect) as agent:
        session = await user.session(machine_id=agent.id)
        await user.say(session, "go")
        await agent.prompt("go")
        yield YeaftTurn(user, agent, session)
