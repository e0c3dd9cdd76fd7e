"""Output of an agent that runs its groups itself: `yeaft_output` with a virtual person's id."""

import json
from typing import Any

from tests.wire.yeaft.inward_talk import (
    ID,
    TURN,
    assistant,
    conversation,
    heard,
    lines,
    message,
    result,
    settled,
)

ALICE = {"id": "vp-a", "name": "Alice"}
BOB = {"id": "vp-b", "name": "Bob"}


def says(person: dict[str, str], text: str) -> dict[str, Any]:
    return assistant(
        {"type": "text", "text": text},
        kind="yeaft_output",
        groupId="g-1",
        vpId=person["id"],
        vpName=person["name"],
    )


def done(person: dict[str, str], subtype: str = "success") -> dict[str, Any]:
    data = {"type": "result", "subtype": subtype}
    named = {"vpId": person["id"], "vpName": person["name"]}
    return {"type": "yeaft_output", "conversationId": ID, **named, "data": data}


def test_each_person_speaks_under_its_own_name() -> None:
    state = conversation()
    assert heard(state, says(ALICE, "a")) == [
        {"type": "text_chunk", "content": "a", "turn_id": TURN, "person": ALICE}
    ]
    assert heard(state, says(BOB, "b"))[0]["person"] == BOB


def test_the_turn_ends_when_everybody_who_spoke_is_done_and_nobody_else_begins() -> None:
    state = conversation()
    heard(state, says(ALICE, "a1 "))
    heard(state, says(BOB, "b"))
    heard(state, says(ALICE, "a2"))
    (alice,) = heard(state, done(ALICE))
    assert (alice["type"], alice["content"]) == ("person_complete", "a1 a2")
    assert state.turn_id == TURN
    (bob,) = heard(state, done(BOB, "error_during_execution"))
    assert (bob["type"], bob["code"]) == ("person_error", "AGENT_ERROR")
    (end,) = settled(state)
    content = "Alice: a1 a2\n\nBob: b"
    assert end == {"type": "execution_complete", "content": content, "turn_id": TURN}


def test_a_person_who_begins_when_another_is_done_is_waited_for() -> None:
    state = conversation()
    heard(state, says(ALICE, "a"))
    heard(state, done(ALICE))
    assert heard(state, says(BOB, "b"))[0]["turn_id"] == TURN
    assert settled(state) == []
    heard(state, done(BOB))
    end = heard(state, result())[-1]  # of nobody in particular: the turn's
    assert (end["type"], end["content"]) == ("execution_complete", "Alice: a\n\nBob: b")


def test_a_deployed_agent_ends_a_turn_of_persons_as_any_other() -> None:
    state = conversation("deployed")
    heard(state, says(ALICE, "a"))
    heard(state, done(ALICE))
    (end,) = heard(state, message("turn_completed"))
    assert (end["type"], end["content"]) == ("execution_complete", "Alice: a")


def test_a_group_that_nobody_here_asked_still_ends_for_each_person() -> None:
    state = conversation(turn=None)
    heard(state, says(ALICE, "a"))
    (alice,) = heard(state, done(ALICE))
    assert (alice["type"], alice["content"]) == ("person_complete", "a")


def test_words_of_nobody_in_particular_are_the_agents_own() -> None:
    state = conversation()
    plain = assistant({"type": "text", "text": "x"}, kind="unify_output")
    assert heard(state, plain) == [{"type": "text_chunk", "content": "x", "turn_id": TURN}]
    odd = assistant({"type": "text", "text": "y"}, kind="yeaft_output", vpId=7)
    assert "person" not in heard(state, odd)[0]


def test_more_persons_than_a_group_may_have_are_heard_and_not_waited_for() -> None:
    state = conversation(persons_max=2)
    for number in range(10):
        person = {"id": f"vp-{number}", "name": "x"}
        assert heard(state, says(person, "hi"))[0]["person"] == person
    assert len(state.persons) == 2


def test_a_persons_envelope_is_kept_as_it_came() -> None:
    text = json.dumps(says(ALICE, "a"))
    (line,) = lines(conversation(), text)
    assert text in line
