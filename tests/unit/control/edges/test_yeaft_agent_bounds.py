"""What a Yeaft agent names that is not its own: bounded, never silently."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.unit.control.edges.yeaft_line import World, world
from trunkline import limits
from trunkline.control.ids import new_id
from trunkline.wire.yeaft import names

Json = dict[str, Any]

MOST_CHARS = limits.YEAFT_FORWARDS_CHARS_MAX * 3 // 4  # for which there is room once


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path / "data") as made:
        yield made


@pytest.mark.parametrize(
    ("count", "chars"),
    [
        (limits.YEAFT_OUTSIDE_WAITING_MAX, 100),
        (2, limits.YEAFT_OUTSIDE_WAITING_CHARS_MAX // 3 + 1),
    ],
)
async def test_what_waits_for_a_look_up_is_bounded_and_the_agent_is_told(
    here: World, count: int, chars: int
) -> None:
    passed: list[str] = []
    here.core.relay.listen("yeaft", here.who.user_id, lambda _machine, text: passed.append(text))
    own = new_id()
    texts = [
        f'{{"type":"crew_output","sessionId":"{own}","n":{number},"pad":"{"x" * chars}"}}'
        for number in range(count + 2)
    ]
    for text in texts[: count + 1]:
        here.line.hear(text)
    assert [one["code"] for one in here.line.of_type("error")] == ["INVALID_REQUEST"]

    async def heard() -> list[str]:
        return list(passed)

    await eventually(heard, lambda found: len(found) == count)
    here.line.hear(texts[-1])  # there is room again
    assert passed == [*texts[:count], texts[-1]]


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
