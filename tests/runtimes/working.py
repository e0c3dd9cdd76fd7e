"""What every runtime does with tools: they are shown, and wait for a person who is to be asked."""

import json

from tests.runtimes.absent import Promise
from tests.runtimes.marks import promises
from tests.runtimes.stage import Playing, Stage
from tests.support.matrix.story import Run, Say, echo

CAREFUL = {"confirm": "dangerous"}


def writing(name: str) -> Run:
    return Run(f"echo done | tee {name}", "")


class Working:
    @promises(Promise.TOOL)
    async def test_a_tool_is_shown_with_its_result_which_the_model_gets(self, stage: Stage) -> None:
        async with stage.session() as talk:
            turn = await talk.play(echo("forty-two"), Say("It is forty-two."))
            assert await turn.answer() == "It is forty-two."
            [started], [done] = turn.of("tool_call_start"), turn.of("tool_call_complete")
            assert started["tool_name"] == done["tool_name"] == stage.runtime.tool_name
            assert "echo forty-two" in json.dumps(started["tool_input"])
            assert started["tool_call_id"] == done["tool_call_id"]
            assert "forty-two" in json.dumps(done["result"])
            assert not done.get("is_error")
            assert "forty-two" in str(turn.requests[-1].tool_results)

    @promises(Promise.APPROVAL)
    async def test_a_tool_runs_after_a_yes_and_not_after_a_no(self, stage: Stage) -> None:
        allowed, denied = (stage.node.workspace / name for name in ("yes.txt", "no.txt"))
        async with stage.session(CAREFUL) as talk:
            turn = await talk.begin(writing("yes.txt"), Say("Written."))
            asked = await turn.until("approval_request")
            assert asked["tool_name"] == stage.runtime.tool_name
            assert "echo done | tee yes.txt" in json.dumps(asked["tool_input"])
            assert not allowed.exists()
            await talk.answer(asked["request_id"], True)
            assert await turn.answer() == "Written."
            assert allowed.read_text() == "done\n"

            turn = await talk.begin(writing("no.txt"), Say("Then not."))
            asked = await turn.until("approval_request")
            await talk.answer(asked["request_id"], False)
            await turn.end()
            assert not denied.exists()
            again = await talk.play(Say("Still here."))
            assert await again.answer() == "Still here."

    @promises(Promise.ALWAYS)
    async def test_who_says_always_is_not_asked_again_until_that_is_taken_back(
        self, stage: Stage
    ) -> None:
        async with stage.session(CAREFUL) as talk:
            turn = await talk.begin(writing("first.txt"), Say("Once."))
            asked = await turn.until("approval_request")
            await talk.answer(asked["request_id"], True, scope="always")
            assert await turn.answer() == "Once."
            again: Playing = await talk.play(writing("first.txt"), Say("Twice."))
            assert await again.answer() == "Twice."
            assert again.of("approval_request") == []
            assert asked["rule"]
            for rule in (await stage.user.ok("GET", "/rules"))["items"]:
                await stage.user.ok("DELETE", f"/rules/{rule['id']}")
            turn = await talk.begin(writing("first.txt"), Say("Not again."))
            asked = await turn.until("approval_request")
            await talk.answer(asked["request_id"], False)
            await turn.end()
