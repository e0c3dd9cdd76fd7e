"""What may wait for a Yeaft agent, or until it is known what it named: bounded, never silently."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.unit.control.edges.yeaft_line import World, world
from trunkline import limits
from trunkline.control.ids import new_id
from trunkline.wire.commands import Forward
from trunkline.wire.yeaft import names

Json = dict[str, Any]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path / "data") as made:
        yield made


async def _problems(here: World, session: str) -> list[str]:
    found = await here.events(session)
    return [problem for one in found for problem in one.get("problems", [])]


def _forward(here: World, session: str, number: int, chars: int = 100) -> str:
    text = f'{{"type":"custom","n":{number},"pad":"{"x" * chars}"}}'
    here.line.deliver(Forward(session, "yeaft", text))
    return text


@pytest.mark.parametrize(
    ("limit", "most"), [("YEAFT_FORWARDS_MAX", 2), ("YEAFT_FORWARDS_CHARS_MAX", 300)]
)
async def test_what_waits_for_a_conversation_is_bounded_and_the_rest_is_told(
    here: World, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(limits, limit, most)
    session = await here.session(ready=False)
    sent = [_forward(here, session, number) for number in range(3)]
    (problem,) = await _problems(here, session)
    assert problem == "a message was not passed on: too much waits for the agent"
    here.line.hear({"type": "session_ready", "conversationId": session})
    await here.line.until("custom")
    assert [text for text in here.line.texts if '"custom"' in text] == sent[:2]


async def test_what_waits_in_all_conversations_of_an_agent_is_bounded_together(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "YEAFT_FORWARDS_CHARS_MAX", 200)
    first, second = await here.session(ready=False), await here.session(ready=False)
    _forward(here, first, 1)
    _forward(here, second, 2)
    assert await _problems(here, first) == []
    assert len(await _problems(here, second)) == 1


async def test_a_conversation_that_can_be_talked_to_does_not_wait_for_another(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "YEAFT_FORWARDS_CHARS_MAX", 200)
    starting, ready = await here.session(ready=False), await here.session()
    _forward(here, starting, 1)
    sent = [_forward(here, ready, 2), _forward(here, ready, 3, chars=1_000)]
    assert [text for text in here.line.texts if '"custom"' in text] == sent
    assert await _problems(here, ready) == []


async def test_messages_for_a_conversation_that_does_not_start_are_told_as_lost(
    here: World,
) -> None:
    session = await here.session(ready=False)
    _forward(here, session, 1)
    here.line.hear({"type": "error", "conversationId": session, "message": "no such folder"})
    assert "a message was not passed on: no such folder" in await _problems(here, session)


@pytest.mark.parametrize(
    ("limit", "most"), [("YEAFT_OUTSIDE_WAITING_MAX", 2), ("YEAFT_OUTSIDE_WAITING_CHARS_MAX", 500)]
)
async def test_what_waits_for_a_look_up_is_bounded_and_the_agent_is_told(
    here: World, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(limits, limit, most)
    passed: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: passed.append(text))
    own = new_id()
    texts = [
        f'{{"type":"crew_output","sessionId":"{own}","n":{number},"pad":"{"x" * 100}"}}'
        for number in range(4)
    ]
    for text in texts[:3]:
        here.line.hear(text)
    assert [one["code"] for one in here.line.of_type("error")] == ["INVALID_REQUEST"]

    async def heard() -> list[str]:
        return list(passed)

    await eventually(heard, lambda found: len(found) == 2)
    here.line.hear(texts[3])  # there is room again
    assert passed == [*texts[:2], texts[3]]


async def test_a_question_may_have_only_so_many_words(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "YEAFT_QUESTION_CHARS_MAX", 500)
    session = await here.turn()
    question = {"type": "ask_user_question", "conversationId": session, "requestId": "q"}
    here.line.hear({**question, "prompt": "?" * 500})
    assert here.line.of_type("error")[0]["code"] == "INVALID_REQUEST"
    assert "approval_request" not in [one["type"] for one in await here.events(session)]


@pytest.mark.parametrize("name", sorted(names.SERVERS))
async def test_an_agent_does_not_speak_in_the_servers_name(here: World, name: str) -> None:
    """A client that is told `auth_result` by somebody else logs its person out."""
    passed: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: passed.append(text))
    session = await here.turn()
    for of in ({}, {"conversationId": session}):
        here.line.hear({"type": name, "success": False, **of})
    assert [one["code"] for one in here.line.of_type("error")] == ["INVALID_REQUEST"] * 2
    assert passed == []
    assert name not in [one.get("name") for one in await here.events(session)]
