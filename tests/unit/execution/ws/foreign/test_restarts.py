"""A device that was restarted: every prompt has one answer, whoever asks again and when."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.foreign_servers import AgpServer
from tests.unit.execution.ws.foreign.machine import agp_machine, connected


@pytest.fixture
async def server() -> AsyncIterator[AgpServer]:
    async with AgpServer() as made:
        yield made


def all_answers(server: AgpServer, prompt_id: str) -> list[dict[str, Any]]:
    """With those that came again."""
    return [
        one
        for one in server.received
        if one["method"] == "session.promptResponse" and one["payload"]["prompt_id"] == prompt_id
    ]


async def test_a_prompt_that_was_answered_has_the_same_answer_after_a_restart(
    server: AgpServer, tmp_path: Path
) -> None:
    async with connected(agp_machine(server, tmp_path)) as first:
        await server.connected()
        prompt_id = await server.prompt("s-1", "Hello")
        await first.until_told("user_message")
        first.end("s-1", prompt_id, "The answer.")
        await server.answer(prompt_id)
    async with connected(agp_machine(server, tmp_path)) as second:
        await second.until_online()
        await server.connected()
        await server.prompt("s-1", "Hello", prompt_id)
        one, other = await server.until(
            lambda: all_answers(server, prompt_id)[1:] and all_answers(server, prompt_id),
            "second answer",
        )
        assert one == other
        await server.prompt("s-2", "Another session may call its prompt the same.", prompt_id)
        await second.until_told("user_message")
        assert second.starts == ["s-2"]


async def test_prompts_that_a_restart_cut_off_end_with_one_clear_error(
    server: AgpServer, tmp_path: Path
) -> None:
    async with connected(agp_machine(server, tmp_path)) as first:
        await server.connected()
        at_work = await server.prompt("s-1", "Begun")
        waiting = await server.prompt("s-1", "Waiting")
        behind = await server.prompt("s-2", "Begun behind them")
        await first.until_told("user_message", 2)
    async with connected(agp_machine(server, tmp_path)) as second:
        for prompt_id in (at_work, waiting, behind):
            answer = await server.answer(prompt_id)
            assert answer["stop_reason"] == "error"
            assert "restarted" in answer["error"]
        again = await server.prompt("s-1", "Waiting", waiting)
        await server.until(lambda: all_answers(server, again)[1:], "the same answer")
        assert len(server.answers(again)) == 1
        assert second.told == []
    async with connected(agp_machine(server, tmp_path)) as third:
        await third.until_online()
        await server.connected()
        await server.prompt("s-1", "Begun", at_work)
        await server.until(lambda: all_answers(server, at_work)[1:], "the same answer")
        assert len(server.answers(at_work)) == 1


async def test_a_turn_that_goes_on_after_a_restart_is_not_begun_again_and_ends_once(
    server: AgpServer, tmp_path: Path
) -> None:
    async with connected(agp_machine(server, tmp_path)) as first:
        await server.connected()
        prompt_id = await server.prompt("s-1", "Begun")
        await first.until_told("user_message")
    second = agp_machine(server, tmp_path)
    second.open_turns = [prompt_id]
    async with connected(second):
        await second.until_online()
        await server.connected()
        await server.prompt("s-1", "Begun", prompt_id)
        other = await server.prompt("s-2", "Behind it")
        assert (await second.until_told("user_message"))["turn_id"] == other
        second.end("s-1", prompt_id, "At last.")
        answer = await server.answer(prompt_id)
        assert answer["content"] == [{"type": "text", "text": "At last."}]


async def test_an_end_that_was_told_and_not_noted_before_a_restart_is_the_same_end_again(
    server: AgpServer, tmp_path: Path
) -> None:
    async with connected(agp_machine(server, tmp_path)) as first:
        await server.connected()
        prompt_id = await server.prompt("s-1", "Begun")
        await first.until_told("user_message")
        first.end("s-1", prompt_id, "Done.")
        await server.answer(prompt_id)
    async with connected(agp_machine(server, tmp_path)) as second:
        second.event("s-1", "execution_error", turn_id=prompt_id, error="restarted", code="X")
        await server.until(lambda: all_answers(server, prompt_id)[1:], "the same answer")
        assert len(server.answers(prompt_id)) == 1


@pytest.mark.proves("notes-4-echo")
async def test_a_prompt_that_was_cut_off_is_answered_to_whom_it_named(
    server: AgpServer, tmp_path: Path
) -> None:
    content = [{"type": "text", "text": "Hello"}]
    payload = {"session_id": "s", "prompt_id": "p", "agent_app": "x", "content": content}
    address = {"guid": "other", "user_id": "ada"}
    async with connected(agp_machine(server, tmp_path)) as first:
        await server.connected()
        await server.send(
            {"msg_id": "m", **address, "method": "session.prompt", "payload": payload}
        )
        await first.until_told("user_message")
    async with connected(agp_machine(server, tmp_path)):
        assert "restarted" in (await server.answer("p"))["error"]
        [answer] = all_answers(server, "p")
        assert (answer["guid"], answer["user_id"]) == ("other", "ada")
