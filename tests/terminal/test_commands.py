"""Slash commands of `trunkline chat` that change what is talked to, in a real terminal."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.terminal.desk import Desk
from tests.terminal.harness import CTRL_D, ENTER, terminal

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _machines(desk: Desk) -> list[tuple[str, str]]:
    """The ids and names of its machines, the oldest first."""
    machines = [one async for one in desk.client.each("machines")]
    return sorted((one["id"], one["name"]) for one in machines)


async def test_another_model_is_taken_from_the_next_turn_on(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("/model gpt-next", ENTER)
        await screen.until("the model is gpt-next, from the next turn on")
        screen.type("hello", ENTER)
        turn = await desk.turn("hello")
        await turn.done()
        screen.type("/model", ENTER)
        await screen.until("the model is gpt-next; /model NAME")
        told = await desk.vm.expect("config_update")
        assert told["data"]["model"] == "gpt-next"


async def test_another_agent_begins_a_session_of_its_own(desk: Desk) -> None:
    body = {"name": "helper", "system_prompt": "Help.", "model": "gpt-4o"}
    agent = await desk.client.post("agents", body=body)
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("/agent nobody", ENTER)
        await screen.until("'nobody'")
        screen.type("/agent helper", ENTER)
        await screen.until("a new session with helper")
        screen.type("hello", ENTER)
        turn = await desk.turn("hello")
        assert (await desk.client.get("sessions", turn.session_id))["agent_id"] == agent["id"]
        await turn.text("hello from helper\n")
        await turn.done()
        await screen.until("hello from helper")


async def test_a_chat_goes_on_in_a_copy_of_it(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("remember blue", ENTER)
        first = await desk.turn("remember blue")
        await first.text("it is blue\n")
        await first.done()
        await screen.until("it is blue")
        screen.type("/fork", ENTER)
        await screen.until(lambda text: text.count("it is blue") == 2)  # as any that is resumed
        screen.type("and now", ENTER)
        second = await desk.turn("and now")
        assert second.session_id != first.session_id
        record = await desk.client.get("sessions", second.session_id)
        assert record["forked_from"]["session_id"] == first.session_id
        await second.done()


async def test_a_copy_may_end_with_an_earlier_turn(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        for number in (1, 2):
            screen.type(f"question {number}", ENTER)
            turn = await desk.turn(f"question {number}")
            await turn.text(f"answer {number}\n")
            await turn.done()
            await screen.until(f"answer {number}")
        screen.type("/fork 7", ENTER)
        await screen.until("· error: turn '7' not found")
        screen.type("/fork 1", ENTER)
        await screen.until(lambda text: text.count("answer 1") == 2)
        screen.type("and now", ENTER)
        second = await desk.turn("and now")
        assert second.session_id != turn.session_id
        assert screen.text.count("answer 2") == 1
        await second.done()


async def test_the_questions_of_all_sessions_are_listed_and_answered_as_it_says(desk: Desk) -> None:
    other = (await desk.client.post("sessions", body={}))["id"]
    await desk.client.sessions.send(other, "clean up")
    away = await desk.turn("clean up")
    await away.ask("q-away", message="May it all go?", kind="approve")
    async with desk.chat(columns=120) as screen:
        await screen.prompt()
        screen.type("look", ENTER)
        turn = await desk.turn("look")
        await turn.ask("q-here", tool_name="shell", tool_input={"command": "ls"})
        await screen.until("answer>")
        screen.type("/approvals", ENTER)
        shown = await screen.until("trunkline session answer ID --yes answers one of another")
        found = re.search(rf"(\S+)  session {other}: May it all go\?", shown)
        assert found
        assert f"session {turn.session_id}: shell" in shown
        answering = ("session", "answer", found[1], "--yes")
        async with terminal(*answering, env=desk.env, columns=200) as said:
            assert await said.ended() == 0, said.text
        assert (await desk.answer("q-away"))["confirmed"] is True
        screen.type("1", ENTER)
        assert (await desk.answer("q-here"))["confirmed"] is True
        screen.type("/approvals", ENTER)
        await screen.until("no question waits")
        await turn.done()


async def test_help_lists_every_command_of_ours_and_of_the_runtime_and_the_keys(desk: Desk) -> None:
    async with desk.chat(columns=120, rows=60) as screen:
        await screen.prompt()
        screen.type("hello", ENTER)
        turn = await desk.turn("hello")
        commands = [{"name": "review", "description": "Looks at it."}]
        await turn.event("session_status", machine="online", commands=commands)
        await turn.text("good evening\n")
        await turn.done()
        await screen.until("good evening")
        screen.type("/help", ENTER)
        shown = await screen.until("something that begins with a slash")
        listed = re.findall(r"^· /(\w+)", shown, re.MULTILINE)
        wanted = "help model agent machine compact fork diff files cost approvals export quit"
        assert set(wanted.split()) | {"review"} <= set(listed)
        for key in ("Enter", "Alt-Enter", "Ctrl-O", "Ctrl-C"):
            assert re.search(rf"^· {key} ", shown, re.MULTILINE)


async def test_a_chat_moves_to_another_machine_and_is_saved_to_a_file(
    desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / "chat.md"
    [(here, _)] = await _machines(desk)
    async with (
        await desk.user.vm("seq", name="other"),
        desk.chat("--machine", here, columns=200) as screen,
    ):
        _, (machine_id, name) = await _machines(desk)
        await screen.prompt()
        screen.type("hello", ENTER)
        turn = await desk.turn("hello")
        await turn.text("good evening\n")
        await turn.done()
        await screen.until("good evening")
        screen.type(f"/machine {name}", ENTER)
        await screen.until(f"it runs on {name} now")
        moved = await desk.client.get("sessions", turn.session_id)
        assert moved["machine_id"] == machine_id
        for _ in range(2):  # nothing that is there is written over
            screen.type(f"/export {file}", ENTER)
            await screen.until(f"{file}: ")
        await screen.until("cannot write")
        saved = await asyncio.to_thread(file.read_text)
        assert "hello" in saved
        assert "good evening" in saved


async def test_a_default_machine_is_chosen_and_a_chat_says_which_and_why(desk: Desk) -> None:
    async with await desk.user.vm("seq", name="other"):
        _, (machine_id, name) = await _machines(desk)
        async with terminal("machine", "default", name, env=desk.env, columns=200) as said:
            assert await said.ended() == 0
            assert f"the default machine is {name} ({machine_id}), online" in said.text
        async with desk.chat(columns=120) as screen:
            shown = await screen.until("(--machine chooses another one)")
            assert f"on {name}: " in shown
            assert "default" in shown
            screen.type(CTRL_D)
            assert await screen.ended() == 0
