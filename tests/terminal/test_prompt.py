"""The prompt of `trunkline chat` in a real terminal: what is typed is what is said."""

import pytest

from tests.terminal.desk import Desk
from tests.terminal.harness import ALT_ENTER, CTRL_C, CTRL_D, ENTER, TAB, UP, pasted

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_paste_of_three_lines_is_one_message(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type(pasted("one\r二：你好\rthree"), ALT_ENTER, "四", ENTER)
        turn = await desk.turn()
        assert turn.message == "one\n二：你好\nthree\n四"
        await turn.text("the answer")
        await turn.done()
        await screen.until("the answer")
        screen.type("a last word", ENTER, CTRL_D)
        assert await screen.ended() == 0
    await desk.turn("a last word")


async def test_the_up_key_gives_what_was_typed_in_an_earlier_chat(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("a first message", ENTER)
        await (await desk.turn("a first message")).done()
        screen.type("/quit", ENTER)
        assert await screen.ended() == 0
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type(UP)
        await screen.until("> /quit")
        screen.type(UP)
        await screen.until("> a first message")
        screen.type(" again", ENTER)
        await (await desk.turn("a first message again")).done()
    history = desk.folder / "state" / "trunkline" / "chat-history"
    assert history.stat().st_mode & 0o777 == 0o600


async def test_ctrl_c_cancels_the_turn_and_twice_leaves(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("half a line", CTRL_C, "count to ten", ENTER)
        turn = await desk.turn()
        assert turn.message == "count to ten"
        await screen.until("Ctrl-C cancels")
        screen.type(CTRL_C)
        await desk.vm.expect("cancel")
        await turn.event("execution_complete", cancelled=True)
        await screen.until("stopped")
        screen.type("again", ENTER)
        await desk.turn("again")
        await screen.until(lambda text: text.endswith("Ctrl-C cancels"))
        screen.type(CTRL_C, CTRL_C)
        assert await screen.ended() == 130


async def test_the_only_completion_is_taken_by_tab_and_enter_sends_the_line(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("/app")
        await screen.until("\n /approvals")
        screen.type(TAB, ENTER)
        await screen.until("no question waits")


async def test_a_tab_in_the_same_moment_as_the_word_completes_it(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("/app" + TAB)
        await screen.until("> /approvals")
        screen.type(ENTER)
        await screen.until("no question waits")


async def test_what_was_refused_is_not_suggested(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("/cost ", ENTER)
        await screen.until("no model was asked yet")
        screen.type("/cosmos", ENTER)
        await screen.until("unknown command 'cosmos'")
        screen.type("/cos")
        await screen.until("> /cost")


async def test_persons_of_a_group_are_completed_and_answer_under_their_names(desk: Desk) -> None:
    persons = [await desk.user.ok("POST", "/persons", {"name": one}) for one in ("Ada", "Bo")]
    ids = [one["id"] for one in persons]
    await desk.user.ok("POST", "/groups", {"name": "team", "person_ids": ids})
    async with desk.chat("--machine", "team") as screen:
        await screen.until(lambda text: text.endswith("\nteam"))
        screen.type("@b")
        await screen.until("\n @Bo")
        screen.type(TAB, ", hello", ENTER)
        turn = await desk.turn()
        assert "@Bo, hello" in turn.message
        await turn.text("hello there")
        await turn.done()
        await screen.until("\nBo\nhello there")
