"""OpenClaw keeps what every runtime promises."""

import pytest

from tests.runtimes.ending import Ending
from tests.runtimes.lasting import Lasting
from tests.runtimes.stage import Stage
from tests.runtimes.talking import Talking
from tests.runtimes.working import Working
from tests.support.matrix.story import Hold, Run, Say
from tests.support.model_server import Gate, ToolUse, Turn
from tests.support.runtimes.openclaw import OpenClaw
from tests.support.runtimes.semigraph import SemiGraph

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.slow,
    pytest.mark.programs,
    pytest.mark.openclaw,
]

RUNTIME = OpenClaw()


class TestOpenClaw(Talking, Working, Ending, Lasting):
    """The shared suite, and what OpenClaw has no question of its own for."""

    async def test_its_file_tools_ask_as_well_and_write_nothing_in_a_session_that_plans(
        self, stage: Stage
    ) -> None:
        file = stage.node.workspace / "claw.txt"

        def writes(answers: list[Turn]) -> None:
            given = {"path": str(file), "content": "written"}
            answers[0].tool_calls = [ToolUse(name="write", arguments=given)]

        story = (Run("", ""), Say("Done."))
        async with stage.session({"permission_mode": "plan"}) as talk:
            turn = await talk.begin(*story, turns=writes)
            assert await turn.answer() == "Done."
            assert "only plans" in str(turn.requests[-1].tool_results)
            assert not file.exists()
            mode = {"permission_mode": "ask"}
            await stage.user.ok("PATCH", f"/sessions/{talk.id}/config", mode)
            turn = await talk.begin(*story, turns=writes)
            asked = await turn.until("approval_request")
            assert (asked["tool_name"], asked["tool_input"]["content"]) == ("write", "written")
            assert not file.exists()
            await talk.answer(asked["request_id"], True)
            assert await turn.answer() == "Done."
            assert file.read_text() == "written"

    async def test_a_dead_gateway_is_none_of_another_runtimes_business(self, stage: Stage) -> None:
        gate = Gate()
        async with stage.session(runtime=SemiGraph()) as other, stage.session() as talk:
            beside = await other.begin(Say("I go "), Hold(gate), Say("on."))
            await beside.until_said("I go ")
            turn = await talk.begin(Say("I am "), Hold(gate), Say("doomed."))
            await turn.until_said("I am ")
            stage.runtime.victim("gateway", stage.node).kill()
            assert (await turn.end())["code"] == "RUNTIME_CRASHED"
            gate.open()
            assert await beside.answer() == "I go on."
