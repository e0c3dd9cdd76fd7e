"""Turns and questions of `trunkline chat` in a real terminal."""

import pytest

from tests.terminal.desk import Desk
from tests.terminal.harness import CTRL_D, ENTER, TAB

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_what_is_typed_while_it_works_steers_or_waits(desk: Desk) -> None:
    async with desk.chat("count") as screen:
        turn = await desk.turn("count")
        screen.type("faster", ENTER)
        steer = (await desk.vm.expect("steer"))["data"]
        assert (steer["message"], steer["steers"]) == ("faster", turn.id)
        await screen.until("↳ faster")
        await turn.event("steer_taken", message_id=steer["message_id"])
        screen.type("then backwards", TAB)
        await screen.until("then backwards")
        screen.type("/queue and stop", ENTER)
        await screen.until("and stop")
        screen.type("louder", ENTER)
        await desk.vm.expect("steer", lambda one: one["data"]["message"] == "louder")
        await turn.done()  # without having taken the last one
        for said in ("then backwards", "and stop", "louder"):
            other = await desk.turn(said)
            await other.text(f"heard {said}\n")
            await other.done()
        assert await screen.ended() == 0
        assert "heard louder" in screen.text


async def test_questions_are_asked_one_after_the_other_and_answered_by_number(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("clean up", ENTER)
        turn = await desk.turn("clean up")
        command = f"echo {'x' * 300}\necho \u202e && rm -r ."
        await turn.ask("q-1", tool_name="shell", tool_input={"command": command})
        await turn.ask("q-2", message="Which one?", kind="select", options=["red", "green"])
        shown = await screen.until("1 yes, once")
        assert "echo \\u202e && rm -r ." in shown  # to its last character, and nothing acts
        assert "3 yes" not in shown  # no rule, no always
        assert "Which one?" not in shown
        screen.type("3", ENTER)
        await screen.until("is none of the answers")
        screen.type("4 use the bin", ENTER)
        given = await desk.answer("q-1")
        assert (given["confirmed"], given["reason"]) == (False, "use the bin")
        await screen.until("2 green")
        screen.type("2", ENTER)
        given = await desk.answer("q-2")
        assert (given["confirmed"], given["answer"]) == (True, "green")
        await turn.done()
        screen.type(CTRL_D)
        assert await screen.ended() == 0


async def test_a_question_longer_than_the_screen_is_shown_to_its_end(desk: Desk) -> None:
    """Page by page, before it can be answered; here the pager is `cat`."""
    async with desk.chat(rows=12) as screen:
        await screen.prompt()
        screen.type("clean up", ENTER)
        turn = await desk.turn("clean up")
        command = "\n".join(f"step {number}" for number in range(40)) + "\nrm -r ."
        await turn.ask("q", tool_name="shell", tool_input={"command": command})
        shown = await screen.until(lambda text: text.count("| rm -r .") == 2 and "answer>" in text)
        assert shown.count("| step 39") == 2
        screen.type("/cost", ENTER)  # our own commands work meanwhile
        await screen.until("no model was asked yet")
        screen.type("1", ENTER)
        assert (await desk.answer("q"))["confirmed"] is True
        await turn.done()


async def test_a_question_answered_elsewhere_goes_away_and_says_by_whom(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("clean up", ENTER)
        turn = await desk.turn("clean up")
        await turn.ask("q", tool_name="shell", tool_input={"command": "rm -r ."}, rule="shell")
        await screen.until("3 yes, always: allow shell")
        screen.type("4 becau")
        await screen.until("answer> 4 becau")
        await desk.client.sessions.answer("q", True, session_id=turn.session_id)
        shown = await screen.until("answered by ada (you), elsewhere")
        assert "answer>" not in shown
        assert "becau" not in shown
        await turn.done()


async def test_a_question_never_takes_a_line_that_somebody_is_typing(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("go", ENTER)
        turn = await desk.turn("go")
        screen.type("1")
        await screen.until("> 1")
        await turn.ask("q", tool_name="shell", tool_input={"command": "rm -r ."})
        await screen.until("a question waits")
        screen.type(ENTER)
        assert (await desk.vm.expect("steer"))["data"]["message"] == "1"
        await screen.until("answer>")
        screen.type("s", ENTER)
        given = await desk.answer("q")
        assert (given["confirmed"], given["scope"]) == (True, "session")


async def test_slash_commands_are_not_for_the_model(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("/modle x", ENTER)
        await screen.until("unknown command 'modle': did you mean 'model'?")
        screen.type("/help", ENTER)
        await screen.until("/approvals")
        screen.type("//etc is a folder", ENTER)
        await (await desk.turn("/etc is a folder")).done()
        screen.type("/usr/bin too", ENTER)
        turn = await desk.turn("/usr/bin too")
        commands = [{"name": "review", "description": "Looks at it."}]
        await turn.event("session_status", machine="online", commands=commands)
        await turn.text("I know a command.\n")
        await turn.done()
        await screen.until("I know a command.")
        screen.type("/rev")
        await screen.until("Looks at it.")
        screen.type("iew this", ENTER)
        await (await desk.turn("/review this")).done()
        screen.type("/exit", ENTER)
        assert await screen.ended() == 0
    heard = [one["data"]["message"] for one in desk.vm.received if one["type"] == "user_message"]
    assert heard == ["/etc is a folder", "/usr/bin too", "/review this"]


async def test_a_session_is_taken_up_with_its_last_turns(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        for number in range(5):
            screen.type(f"question {number}", ENTER)
            turn = await desk.turn(f"question {number}")
            await turn.text(f"answer {number}\n")
            if number < 4:
                await turn.done()
        await turn.ask("q", message="And now?", kind="input")
        await screen.until("And now?")
    async with desk.chat("--continue") as screen:
        shown = await screen.until("answer>")
        assert "question 1" not in shown
        for number in range(2, 5):
            assert f"question {number}" in shown
            assert f"answer {number}" in shown
        assert shown.count("And now?") == 1
        screen.type("go on", ENTER)
        given = await desk.answer("q")
        assert given["answer"] == "go on"


async def test_a_chat_in_which_nothing_was_said_leaves_no_session(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type(CTRL_D)
        assert await screen.ended() == 0
    assert (await desk.client.sessions.page()).items == []
