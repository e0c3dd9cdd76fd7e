"""The pure part of an agent's line: the handshake, and messages in the words of each dialect."""

import json
from typing import Any

import pytest

from trunkline.wire.errors import CloseLine
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.agent import (
    Handshake,
    Talk,
    capabilities_of,
    message_of,
    slash_commands_of,
    visitor_of,
)
from trunkline.wire.yeaft.messages import SlashCommandsUpdate

DOCUMENTED = Talk(conversation_id="c", dialect="documented", remote_id="own", work_dir="/srv")
DEPLOYED = Talk(
    conversation_id="c", dialect="deployed", remote_id="own", work_dir="/srv", provider="copilot"
)
FILE = {"name": "a.txt", "mime": "text/plain", "base64": "aGk="}


def told(talk: Talk, text: str = "hello", attachments: Any = None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message_of(talk, text, attachments, more))
    return found


def test_the_challenge_is_answered_once() -> None:
    handshake = Handshake("temp-1")
    assert json.loads(handshake.challenge()) == {"type": "auth_required", "tempId": "temp-1"}
    auth = handshake.take('{"type":"auth","tempId":"temp-1","secret":"s","version":"1"}')
    assert (auth.secret, auth.version) == ("s", "1")
    assert handshake.auth is auth


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"type":"auth"}',
        '{"type":"auth","tempId":"temp-1"}',
        '{"type":"auth","tempId":"temp-2","secret":"s"}',
        '{"type":"auth","tempId":null,"secret":"s"}',
        '{"type":"registered","tempId":"temp-1","secret":"s"}',
    ],
)
def test_anything_else_ends_the_line(text: str) -> None:
    with pytest.raises(CloseLine) as refused:
        Handshake("temp-1").take(text)
    assert refused.value.code == 1008


@pytest.mark.proves("notes-3-instance-names-the-agent")
@pytest.mark.parametrize(
    ("query", "instance"),
    [
        ({"id": "desk", "name": "two", "instanceId": "i-1"}, "i-1"),
        ({"id": "desk", "name": "two", "instanceId": ""}, "desk"),
        ({"id": "desk"}, "desk"),
        ({"name": "two"}, ""),
        ({"id": "desk", "instanceId": "x" * 11}, ""),
        ({"id": "a\x00b"}, ""),
        ({"id": "a\nb"}, ""),
        ({"id": "\ud800"}, ""),
        ({}, ""),
    ],
)
def test_an_agent_is_called_by_its_instance_else_by_its_id(
    query: dict[str, str], instance: str
) -> None:
    assert visitor_of(query, chars_max=10, path_chars_max=10).instance == instance


def test_what_an_agents_url_says_of_it_is_bounded() -> None:
    query = {"name": "n" * 11, "workDir": "/" * 11, "platform": "y" * 99}
    visitor = visitor_of(query, chars_max=10, path_chars_max=10)
    assert (visitor.name, visitor.work_dir, visitor.platform) == ("n" * 10, "", "y" * 10)
    assert visitor_of({"name": "a\x00"}, chars_max=10, path_chars_max=10).name == ""


@pytest.mark.proves("notes-3-slash-commands")
@pytest.mark.parametrize(
    ("given", "names", "descriptions"),
    [
        ({"slashCommands": ["cost", "init"]}, ["cost", "init"], {}),
        (
            {"slashCommands": ["cost"], "slashCommandDescriptions": {"cost": "x" * 11, "b": "c"}},
            ["cost"],
            {"cost": "x" * 10},
        ),
        ({"slashCommands": ["a", "b", "c", "d"]}, ["a", "b", "c"], {}),
        ({"slashCommands": ["x" * 11, "", 5, None, ["a"], "b"]}, ["b"], {}),
        ({"slashCommands": {"a": 1}, "slashCommandDescriptions": [1]}, [], {}),
        ({"slashCommands": ["a"], "slashCommandDescriptions": {"a": {"b": 1}}}, ["a"], {}),
        ({}, [], {}),
    ],
)
def test_slash_commands_are_names_with_descriptions(
    given: dict[str, Any], names: list[str], descriptions: dict[str, str]
) -> None:
    update = codec.read(json.dumps(given), SlashCommandsUpdate)
    found = slash_commands_of(update, count_max=3, chars_max=10)
    assert (found.names, found.descriptions) == (names, descriptions)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["a", "b"], {"a", "b"}),
        ("a, b,", {"a", "b"}),
        (["a", 5, "x" * 11], {"a"}),
        ([None, "", ["b"]], set()),
        (["a", "a", "a", "late"], {"a"}),
        ({"a": True}, set()),
        (None, set()),
    ],
)
def test_capabilities_are_a_list_or_text_with_commas(given: Any, found: set[str]) -> None:
    assert capabilities_of(given, count_max=3, chars_max=10) == found


def test_a_message_in_the_documents_words() -> None:
    assert told(DOCUMENTED) == {"type": "send_message", "conversationId": "c", "text": "hello"}
    assert told(DOCUMENTED, attachments=[FILE])["attachments"] == [FILE]


def test_a_message_in_the_words_of_deployed_agents() -> None:
    common = {
        "conversationId": "c",
        "prompt": "hello",
        "workDir": "/srv",
        "claudeSessionId": "own",
        "provider": "copilot",
    }
    assert told(DEPLOYED) == {"type": "execute", **common}
    assert told(DEPLOYED, attachments=[FILE]) == {
        "type": "transfer_files",
        **common,
        "files": [{"name": "a.txt", "mimeType": "text/plain", "data": "aGk="}],
    }


def test_what_is_not_known_is_not_said() -> None:
    talk = Talk(conversation_id="c", dialect="deployed")
    assert told(talk) == {"type": "execute", "conversationId": "c", "prompt": "hello"}


@pytest.mark.parametrize("talk", [DOCUMENTED, DEPLOYED], ids=["documented", "deployed"])
def test_a_clients_own_fields_travel_and_override_nothing(talk: Talk) -> None:
    more = {"expert": "r", "type": "x", "conversationId": "other", "text": "x", "prompt": "x"}
    found = json.loads(message_of(talk, "hello", [FILE], more))
    assert (found["expert"], found["conversationId"]) == ("r", "c")
    assert found["type"] in ("send_message", "transfer_files")
    assert found["text" if talk is DOCUMENTED else "prompt"] == "hello"


@pytest.mark.parametrize("attachments", [None, [], "x", {"name": "a"}, [5, None], [[]]])
@pytest.mark.parametrize("talk", [DOCUMENTED, DEPLOYED], ids=["documented", "deployed"])
def test_odd_attachments_do_not_keep_a_message_back(talk: Talk, attachments: Any) -> None:
    found = told(talk, attachments=attachments)
    assert "hello" in (found.get("text"), found.get("prompt"))
