"""Found open: the rest of an answer that broke off went to whichever connection of that user came
next, for ever; on a server with `open_myagent`, to strangers, because all are the first user."""

from pathlib import Path

import pytest

from tests.support.control import ADMIN, TestUser, running
from tests.support.myagent import MyAgentClient
from trunkline.control.tuning import Tuning

SOON = Tuning(myagent_resume_s=0.0)


@pytest.mark.parametrize(("token", "others"), [(None, None), (ADMIN, None), (None, ADMIN)])
async def test_a_client_without_a_token_shares_no_answer_that_broke_off_with_another(
    tmp_path: Path, token: str | None, others: str | None
) -> None:
    async with running(tmp_path / "data", tuning=SOON, open_myagent=True) as control:
        first = TestUser(control, (await control.ok("GET", "/me"))["user"]["id"], ADMIN)
        url = f"{control.url}/ws/myagent"
        async with await first.vm() as vm:
            async with MyAgentClient(url, token) as asking:
                session = await asking.create_session()
                await asking.say(session, "what is my secret?")
                await vm.expect("user_message")
                await vm.text(session, "it ")
                await asking.expect("agent.partial_answer")
                await asking.drop()
            async with MyAgentClient(url, others) as stranger:
                await stranger.answered()
                await vm.text(session, "is 42")
                await vm.event(session, type="execution_complete", content="it is 42")
                await first.until_turns(session, "completed")
                await stranger.answered()
                assert stranger.of_session(session) == []
