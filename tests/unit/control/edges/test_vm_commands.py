"""Every command to a machine has the JSON that source document 000 §5 gives for it."""

from typing import Any, get_args

import msgspec
import pytest

from tests.wire.golden import Golden
from trunkline.control.edges.semibot.commands import to_wire
from trunkline.wire.commands import (
    Answer,
    Cancel,
    Command,
    Configure,
    Forward,
    Query,
    Say,
    Start,
    Steer,
    Stop,
)
from trunkline.wire.semibot import deployed
from trunkline.wire.semibot.codec import encode

golden = Golden("semibot")

SESSION = "7b0c1f5e-3d7c-4f7e-9d0a-1f5e3d7c4f7e"
START = golden.load("downlink", "start_session")["data"]
HISTORY = golden.load("downlink", "user_message")["data"]["history"]

DOCUMENTED: dict[str, Command] = {
    "start_session": Start(**START),
    "user_message": Say(SESSION, "turn-1", "string", HISTORY, {}),
    "cancel": Cancel(SESSION, "user_cancelled"),
    "config_update": Configure(SESSION, {"temperature": 0.5}),
    "stop_session": Stop(SESSION, "user_closed"),
}


def _sent(command: Command, *, named_turns: bool = False) -> Any:
    return _told(command, deployed.DOCUMENTED, named_turns=named_turns)


def _told(command: Command, dialect: str | None, *, named_turns: bool = False) -> Any:
    message = to_wire(command, named_turns=named_turns, dialect=dialect)
    assert message is not None
    return msgspec.json.decode(encode(message))


@pytest.mark.proves(
    "000-5.2-start-session-fields",
    "000-5.3-stop-session-fields",
    "000-5.5-user-message-fields",
    "000-5.6-cancel-fields",
    "000-5.7-config-update-fields",
)
@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_command_is_the_documents_message(name: str) -> None:
    assert _sent(DOCUMENTED[name]) == golden.load("downlink", name)


def test_every_command_is_tried_here() -> None:
    tried = {type(command) for command in DOCUMENTED.values()} | {Answer, Forward, Query, Steer}
    assert tried == set(get_args(Command))


def test_a_message_to_a_running_turn_names_both() -> None:
    assert _sent(Steer(SESSION, "message-2", "turn-1", "faster", {"a": 1})) == {
        "type": "steer",
        "session_id": SESSION,
        "data": {
            "message_id": "message-2",
            "steers": "turn-1",
            "message": "faster",
            "metadata": {"a": 1},
        },
    }


def test_a_question_to_the_machine_has_an_id_to_be_answered_by() -> None:
    assert _sent(Query("q-1", "foreign_sessions.list", {"limit": 5})) == {
        "type": "query",
        "id": "q-1",
        "data": {"method": "foreign_sessions.list", "params": {"limit": 5}},
    }


def test_a_message_of_another_protocol_has_no_words_on_this_wire() -> None:
    forward = Forward(SESSION, "yeaft", "{}")
    assert to_wire(forward, named_turns=True, dialect=deployed.DOCUMENTED) is None


@pytest.mark.proves("000-5.2-openclaw-config-optional")
def test_a_session_without_openclaw_config_or_snapshot_has_no_such_field() -> None:
    command = msgspec.structs.replace(Start(**START), openclaw_config=None)
    sent = _sent(command)
    expected = {name: value for name, value in START.items() if name != "openclaw_config"}
    assert sent == {"type": "start_session", "data": expected}


def test_a_session_that_ran_before_starts_from_its_snapshot() -> None:
    command = msgspec.structs.replace(Start(**START), snapshot={"checkpoint": {"step": 3}})
    assert _sent(command)["data"]["snapshot"] == {"checkpoint": {"step": 3}}


@pytest.mark.parametrize("reason", ["user_closed", "timeout", "admin"])
def test_a_stop_carries_its_reason(reason: str) -> None:
    assert _sent(Stop("s", reason))["data"]["reason"] == reason


@pytest.mark.parametrize("named_turns", [False, True])
def test_only_a_machine_with_capabilities_gets_the_turns_id(named_turns: bool) -> None:
    data = _sent(DOCUMENTED["user_message"], named_turns=named_turns)["data"]
    assert data.get("turn_id") == ("turn-1" if named_turns else None)
    assert ("turn_id" in data) is named_turns


@pytest.mark.parametrize(
    ("confirmed", "answer"), [(True, None), (False, "use the other file"), (True, {"choice": 2})]
)
def test_a_persons_answer_names_the_question(confirmed: bool, answer: Any) -> None:
    assert _sent(Answer("s", "r-1", confirmed, answer)) == {
        "type": "approval_response",
        "session_id": "s",
        "data": {"request_id": "r-1", "confirmed": confirmed, "answer": answer},
    }


def test_an_answer_for_longer_or_with_a_reason_says_so() -> None:
    told = _sent(Answer("s", "r-1", True, None, "session", "it is safe"))["data"]
    assert (told["scope"], told["reason"]) == ("session", "it is safe")


@pytest.mark.proves("notes-1-others-by-the-document", "notes-1-agent-id", "notes-1-mcp-entries")
@pytest.mark.parametrize("dialect", [None, deployed.DEPLOYED])
def test_what_the_deployed_kind_looks_for_is_kept_only_from_who_follows_the_document(
    dialect: str | None,
) -> None:
    """Which kind a machine is may be known only when its first session runs already."""
    servers = [{"id": "1", **one} for one in START["mcp_servers"]]
    command = msgspec.structs.replace(Start(**START), mcp_servers=servers)
    assert _sent(command)["data"] == START
    told = _told(command, dialect)["data"]
    assert told["agent_id"] == deployed.agent_id(START["agent_config"], START["session_id"])
    assert told["mcp_servers"] == [deployed.mcp_entry(one) for one in servers]
    assert {name: one for name, one in told.items() if name not in ("agent_id", "mcp_servers")} == {
        name: one for name, one in START.items() if name != "mcp_servers"
    }


@pytest.mark.proves("notes-1-no-snapshot")
@pytest.mark.parametrize(
    ("dialect", "has_it"),
    [(deployed.DOCUMENTED, True), (None, True), (deployed.DEPLOYED, False)],
)
def test_only_the_deployed_kind_is_told_nothing_of_a_snapshot(
    dialect: str | None, has_it: bool
) -> None:
    command = msgspec.structs.replace(Start(**START), snapshot={"checkpoint": {}})
    assert ("snapshot" in _told(command, dialect)["data"]) is has_it


@pytest.mark.proves("notes-1-config-update-has-all-in-data")
@pytest.mark.parametrize("dialect", [None, deployed.DOCUMENTED])
def test_the_whole_configuration_is_for_the_deployed_kind_alone(dialect: str | None) -> None:
    command = Configure(SESSION, {"temperature": 0.5}, {"model": "m", "temperature": 0.5})
    assert _told(command, dialect)["data"] == {"temperature": 0.5}
    told = _told(command, deployed.DEPLOYED)
    assert told["session_id"] == SESSION
    assert told["data"] == {
        "temperature": 0.5,
        "session_id": SESSION,
        "agent_config": {"model": "m", "temperature": 0.5},
    }
