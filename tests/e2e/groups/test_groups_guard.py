"""Persons that would talk to each other for ever: the guard of a group, with a clock of its own."""

import asyncio
from pathlib import Path

import pytest

from tests.support.control import Control, running
from tests.support.group import ScriptedGroup, ScriptedPerson, ended, of


class Turned:
    """A clock that goes on by a step whenever it is looked at."""

    def __init__(self, step_ms: int) -> None:
        self.now_ms = 1_900_000_000_000
        self.step_ms = step_ms

    def __call__(self) -> int:
        self.now_ms += self.step_ms
        return self.now_ms


async def two_that_mention_each_other(control: Control) -> tuple[dict[str, int], list[str]]:
    """How often each answered, and what the group said about it."""
    user = await control.user()
    group = await ScriptedGroup.make(user, "alice", "bob")
    async with group.reader() as reader:
        turn = await group.say("@alice start")
        babbling = [
            asyncio.create_task(_babble(group["alice"], "bob")),
            asyncio.create_task(_babble(group["bob"], "alice")),
        ]
        await ended(reader, turn)
        for task in babbling:
            task.cancel()
        await asyncio.gather(*babbling, return_exceptions=True)
        answers = [one["person"]["name"] for one in of(reader, "person_complete")]
        notes = [one["content"] for one in of(reader, "thinking") if one["stage"] == "group"]
        assert len(of(reader, "execution_complete")) == 1
    await group.leave()
    return {name: answers.count(name) for name in ("alice", "bob")}, notes


async def _babble(person: ScriptedPerson, other: str) -> None:
    while True:
        await person.answers(f"what do you think, @{other}?")


@pytest.mark.proves("notes-3-guard")
async def test_a_person_is_addressed_only_so_often_in_a_few_seconds(tmp_path: Path) -> None:
    async with running(tmp_path / "data", Turned(0), rate_limit_per_minute=0) as control:
        answers, notes = await two_that_mention_each_other(control)
    assert answers == {"alice": 9, "bob": 8}  # one of alice's is the user's own doing
    assert notes == ["not passed on from alice to bob: addressed 8 times within 5 s"]


async def test_answers_to_answers_end_at_a_depth_however_slow_they_are(tmp_path: Path) -> None:
    clock = Turned(5_000 // 8)  # slow enough for 8 hits in 5 s
    async with running(tmp_path / "data", clock, rate_limit_per_minute=0) as control:
        answers, notes = await two_that_mention_each_other(control)
    assert sum(answers.values()) == 31  # the first one, and 30 answers to answers
    assert notes == ["not passed on from alice to bob: answers went back and forth 30 times"]
