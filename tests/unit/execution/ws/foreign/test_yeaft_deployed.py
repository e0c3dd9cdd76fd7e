"""This machine on a Yeaft server as it is deployed, which drops what it does not expect."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.deployed_yeaft import DeployedYeaft
from tests.unit.execution.ws.foreign.machine import Machine, connected, yeaft_machine
from trunkline import limits


@pytest.fixture
async def server() -> AsyncIterator[DeployedYeaft]:
    async with DeployedYeaft() as made:
        yield made


@pytest.fixture
def waiting_max() -> int:
    """How many messages a session takes behind the one at work."""
    return limits.SESSION_PROMPTS_MAX


@pytest.fixture
async def machine(
    server: DeployedYeaft, tmp_path: Path, waiting_max: int
) -> AsyncIterator[Machine]:
    async with connected(yeaft_machine(server, tmp_path, waiting_max=waiting_max)) as made:
        await server.first("agent_sync_complete")
        yield made


async def opened(server: DeployedYeaft, *conversation_ids: str) -> None:
    for one in conversation_ids:
        await server.say("create_conversation", conversationId=one, userId="u", username="ada")
        await server.first("conversation_created", one)


@pytest.mark.proves("notes-3-node-keeps-the-catalog-whole")
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"provider": "copilot"}, "copilot"),
        ({"provider": "claude-code"}, "claude-code"),
        ({"provider": "trunkline"}, "claude-code"),
        ({"provider": None}, "claude-code"),
        ({}, "claude-code"),
    ],
)
async def test_the_catalog_of_a_deployed_server_has_only_providers_that_it_knows(
    server: DeployedYeaft, machine: Machine, asked: dict[str, Any], named: str
) -> None:
    whose = {"userId": "u", "username": "ada"}
    await server.say("create_conversation", conversationId="c", **whose, **asked)
    await server.first("conversation_created", "c")
    again = {"conversationId": "d", "claudeSessionId": "c"}
    await server.say("resume_conversation", **again, **whose, **asked)
    await server.first("conversation_resumed", "d")
    assert server.catalog == {"c": named, "d": named}


@pytest.mark.proves("notes-3-node-answers-vp-subscribe")
@pytest.mark.parametrize("name", ["yeaft_vp_subscribe", "unify_vp_subscribe"])
async def test_a_page_that_asks_for_virtual_persons_is_told_that_there_are_none(
    server: DeployedYeaft, machine: Machine, name: str
) -> None:
    await server.say(name, requestId="vp-1", _requestClientId="page-7")
    told = await server.first("yeaft_output")
    assert told["event"] == {"type": "vp_snapshot", "vps": [], "emptyLibrary": True}
    assert (told["requestId"], told["_requestClientId"]) == ("vp-1", "page-7")


async def shown(server: DeployedYeaft, kind: str, conversation_id: str, count: int = 1) -> None:
    await server.until(
        lambda: len(server.pages(kind, conversation_id)) >= count, f"{kind} number {count}"
    )


def said_by_people(server: DeployedYeaft, conversation_id: str) -> list[str]:
    return [text for who, text in server.kept.get(conversation_id, []) if who == "user"]


async def test_every_message_of_a_queue_has_its_end_on_the_pages(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c")
    for text in ("One.", "Two.", "Three."):
        await server.chat("c", text)
    for number in (1, 2, 3):
        told = await machine.until_told("user_message", number)
        assert server.conversations["c"]["processing"] is True
        machine.end("c", told["turn_id"])
        await shown(server, "turn_completed", "c", number)
    assert server.conversations["c"]["processing"] is False
    flags = [one.get("hasQueuedFollowUp") for one in server.pages("turn_completed", "c")]
    assert flags == [True, True, None]


async def test_what_waits_behind_a_turn_that_was_cancelled_has_its_end_on_the_pages(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c")
    await server.chat("c", "One.")
    await server.chat("c", "Two.")
    first = await machine.until_told("user_message")
    cancelled = {"turn_id": first["turn_id"], "content": "", "cancelled": True}
    machine.event("c", "execution_complete", **cancelled)
    await shown(server, "execution_cancelled", "c")
    second = await machine.until_told("user_message", 2)
    machine.end("c", second["turn_id"])
    await shown(server, "turn_completed", "c")
    assert server.conversations["c"]["processing"] is False


async def test_ends_that_a_break_held_back_reach_the_pages_with_the_state_that_follows_them(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c", "other")
    await server.chat("c", "One.")
    await server.chat("c", "Two.")
    first = await machine.until_told("user_message")
    await server.chat("other", "Go.")
    other = await machine.until_told("user_message", 2)
    await machine.has_delivered()
    server.cut()
    machine.end("other", other["turn_id"])
    cancelled = {"turn_id": first["turn_id"], "content": "", "cancelled": True}
    machine.event("c", "execution_complete", **cancelled)
    await shown(server, "turn_completed", "other")
    await shown(server, "execution_cancelled", "c")
    second = await machine.until_told("user_message", 3)
    machine.end("c", second["turn_id"])
    await shown(server, "turn_completed", "c")
    working = {id_: one["processing"] for id_, one in server.conversations.items()}
    assert working == {"c": False, "other": False}


@pytest.mark.parametrize("waiting_max", [0])
async def test_a_message_that_is_refused_does_not_cost_the_one_at_work_its_end(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c")
    await server.chat("c", "One.")
    first = await machine.until_told("user_message")
    await server.chat("c", "Two.")
    await shown(server, "turn_completed", "c")
    machine.end("c", first["turn_id"])
    await shown(server, "turn_completed", "c", 2)
    assert server.conversations["c"]["processing"] is False


async def test_a_turn_whose_conversation_is_taken_up_meanwhile_has_its_end_on_the_pages(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c")
    await server.chat("c", "Go.")
    told = await machine.until_told("user_message")
    await server.say("resume_conversation", conversationId="c", claudeSessionId="c")
    await server.first("conversation_resumed", "c")
    machine.end("c", told["turn_id"])
    await shown(server, "turn_completed", "c")


class _Asking(DeployedYeaft):
    """A page asks for the list as soon as it sees a turn's end, before anything is confirmed."""

    asking: asyncio.Task[None] | None = None

    def took(self, message: dict[str, Any]) -> None:
        super().took(message)
        if message["type"] == "turn_completed":
            self.received.clear()
            self.asking = asyncio.create_task(self.say("get_conversations"))


async def test_a_list_that_is_asked_for_at_a_turns_end_says_that_it_has_ended(
    tmp_path: Path,
) -> None:
    async with _Asking() as server, connected(yeaft_machine(server, tmp_path)) as machine:
        await server.first("agent_sync_complete")
        await opened(server, "c")
        await server.chat("c", "Go.")
        told = await machine.until_told("user_message")
        machine.end("c", told["turn_id"])
        await server.until(lambda: server.asking, "end")
        [listed] = (await server.first("conversation_list"))["conversations"]
        assert (listed["id"], listed["processing"]) == ("c", False)
        assert server.conversations["c"]["processing"] is False


async def test_the_first_message_of_a_conversation_that_nobody_opened_is_kept(
    server: DeployedYeaft, machine: Machine
) -> None:
    await server.say("execute", conversationId="new", prompt="Hello.", clientMessageId="m-1")
    told = await machine.until_told("user_message")
    machine.end("new", told["turn_id"], "Hi.")
    await shown(server, "turn_completed", "new")
    assert server.kept["new"] == [("user", "Hello."), ("assistant", "Hi.")]


@pytest.mark.parametrize("waiting_max", [0])
async def test_a_message_is_kept_once_however_often_it_was_refused_before(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c")
    await server.chat("c", "One.")
    first = await machine.until_told("user_message")
    for number in (1, 2):
        await server.chat("c", "Two.", clientMessageId="m-2")
        await shown(server, "turn_completed", "c", number)
    assert said_by_people(server, "c") == ["One."]
    machine.end("c", first["turn_id"])
    await shown(server, "turn_completed", "c", 3)
    await server.chat("c", "Two.", clientMessageId="m-2")
    second = await machine.until_told("user_message", 2)
    machine.end("c", second["turn_id"])
    await shown(server, "turn_completed", "c", 4)
    assert said_by_people(server, "c") == ["One.", "Two."]


async def test_a_conversation_that_is_taken_up_and_deleted_stays_deleted(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c")
    await server.say("resume_conversation", conversationId="c", claudeSessionId="c")
    await server.say("delete_conversation", conversationId="c")
    await server.first("conversation_deleted", "c")
    # Files are looked at in order, as a rule: the first look is over when the second is.
    await server.say("resume_conversation", conversationId="d", claudeSessionId="d")
    await server.first("conversation_resumed", "d")
    assert server.of("conversation_resumed", "c") == []
    assert (machine.starts, machine.running) == (["c", "d"], ["d"])
    await opened(server, "e")
    await server.say("get_conversations")
    await server.until(lambda: set(server.conversations) == {"d", "e"}, "list without it")


async def test_nothing_more_is_said_in_a_conversation_that_was_deleted(
    server: DeployedYeaft, machine: Machine
) -> None:
    await opened(server, "c")
    await server.chat("c", "Go.")
    told = await machine.until_told("user_message")
    await server.say("delete_conversation", conversationId="c")
    await server.first("conversation_deleted", "c")
    machine.event("c", "execution_error", turn_id=told["turn_id"], error="closed", code="X")
    await opened(server, "d")
    assert server.of("turn_completed", "c") == []
    assert set(server.conversations) == {"d"}
    await server.say("execute", conversationId="c", prompt="Again.")
    again = await machine.until_told("user_message", 2)
    machine.end("c", again["turn_id"])
    await shown(server, "turn_completed", "c")
    assert said_by_people(server, "c") == ["Go.", "Again."]


async def test_a_machine_that_is_closed_takes_nothing_up_any_more(
    server: DeployedYeaft, tmp_path: Path
) -> None:
    made = yeaft_machine(server, tmp_path)
    async with connected(made):
        await server.first("agent_sync_complete")
        taken_up = {"type": "resume_conversation", "conversationId": "c", "claudeSessionId": "c"}
        made.client.take(json.dumps(taken_up))
    made.client.take(json.dumps({**taken_up, "conversationId": "d"}))
    async with connected(yeaft_machine(server, tmp_path)):
        await server.first("agent_sync_complete", count=2)
        await server.say("resume_conversation", conversationId="e", claudeSessionId="e")
        await server.first("conversation_resumed", "e")
    assert made.starts == []
