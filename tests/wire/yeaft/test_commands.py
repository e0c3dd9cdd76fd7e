"""What an agent is told of a session that it is to create."""

import json
from typing import Any

import pytest

from trunkline.wire.commands import Say, Start
from trunkline.wire.yeaft.agent import Talk
from trunkline.wire.yeaft.codec import encode
from trunkline.wire.yeaft.commands import create, opening, resume, say


def start_of(runtime_type: str = "semigraph", **configs: dict[str, Any]) -> Start:
    return Start(
        session_id="s",
        runtime_type=runtime_type,
        agent_config=configs.get("agent_config", {}),
        skill_index=[],
        mcp_servers=[],
        sub_agents=[],
        session_config=configs.get("session_config", {}),
    )


def told(runtime_type: str = "semigraph", **configs: dict[str, Any]) -> dict[str, Any]:
    start = start_of(runtime_type, **configs)
    made = create(start, user_id="u", username="ada", work_dir="/srv/own")
    found: dict[str, Any] = json.loads(opening(start, made))
    return found


def test_without_a_choice_it_is_the_usual_provider_where_the_agent_works() -> None:
    assert told() == {
        "type": "create_conversation",
        "conversationId": "s",
        "provider": "claude-code",
        "workDir": "/srv/own",
        "userId": "u",
        "username": "ada",
    }


@pytest.mark.parametrize(
    ("runtime_type", "session_config", "agent_config", "provider"),
    [
        ("semigraph", {"provider": "copilot"}, {"provider": "other"}, "copilot"),
        ("semigraph", {}, {"provider": "copilot"}, "copilot"),
        ("acp", {}, {}, "acp"),
        ("claude-code", {}, {}, "claude-code"),
        ("semigraph", {"provider": 5}, {}, "claude-code"),
    ],
)
def test_the_provider_is_the_nearest_choice(
    runtime_type: str, session_config: dict[str, Any], agent_config: dict[str, Any], provider: str
) -> None:
    found = told(runtime_type, session_config=session_config, agent_config=agent_config)
    assert found["provider"] == provider


@pytest.mark.parametrize("name", ["work_dir", "workDir"])
def test_the_folder_may_be_named_in_either_way(name: str) -> None:
    assert told(session_config={name: "/srv/x"})["workDir"] == "/srv/x"


def test_options_are_the_clients_or_made_of_the_agents() -> None:
    agent = {"model": "m", "system_prompt": "Be kind.", "max_tokens": 5, "temperature": None}
    made = told(agent_config=agent)
    assert made["options"] == {"model": "m", "systemPrompt": "Be kind.", "maxTokens": 5}
    assert made["providerOptions"] == made["options"]
    chosen = {"options": {"a": 1}, "providerOptions": {"b": 2}, "disallowedTools": ["bash", 5]}
    found = told(agent_config=agent, session_config=chosen)
    assert (found["options"], found["providerOptions"]) == ({"a": 1}, {"b": 2})
    assert found["disallowedTools"] == ["bash"]


@pytest.mark.parametrize("odd", [5, "text", [1], True])
def test_odd_choices_are_left_out(odd: Any) -> None:
    found = told(session_config={"options": odd, "disallowed_tools": {"a": 1}})
    assert "options" not in found
    assert "disallowedTools" not in found


def test_a_conversation_is_taken_up_under_all_its_names_with_what_it_was_created_with() -> None:
    chosen = {
        "workDir": "/srv/x",
        "options": {"a": 1},
        "providerOptions": {"b": 2},
        "disallowedTools": ["bash"],
    }
    created = create(
        start_of(session_config=chosen), user_id="u", username="ada", work_dir="/srv/own"
    )
    talk = Talk(conversation_id="s", remote_id="own", work_dir="/srv", provider="copilot")
    assert json.loads(encode(resume(created, talk))) == {
        "type": "resume_conversation",
        "conversationId": "s",
        "sessionId": "own",
        "claudeSessionId": "own",
        "provider": "copilot",
        "userId": "u",
        "username": "ada",
        **chosen,
    }
    unnamed = json.loads(encode(resume(created, Talk(conversation_id="s"))))
    assert "sessionId" not in unnamed
    assert unnamed["provider"] == "claude-code"


def test_other_words_of_the_client_that_created_it_reach_the_agent_each_time() -> None:
    own = {"zzz": {"a": [1]}, "more": 2, "more_of_it": None}
    config = {"workDir": "/srv/x", "yeaft": {**own, "resume": {"sessionId": "r"}}}
    start = start_of(session_config=config)
    created = create(start, user_id="u", username="", work_dir="")
    fields = {
        "conversationId": "s",
        "provider": "claude-code",
        "workDir": "/srv/x",
        "userId": "u",
        **own,
    }
    assert json.loads(opening(start, created)) == {"type": "create_conversation", **fields}
    resumed = json.loads(opening(start, resume(created, Talk(conversation_id="s"))))
    assert resumed == {"type": "resume_conversation", **fields}


def test_other_words_take_no_name_of_ours() -> None:
    names = ["type", "conversationId", "userId", "username", "sessionId", "claudeSessionId"]
    names += ["provider", "workDir", "options", "providerOptions", "disallowedTools"]
    config = {"yeaft": dict.fromkeys(names, "theirs")}
    start = start_of(session_config=config)
    created = create(start, user_id="u", username="", work_dir="")
    for message in (created, resume(created, Talk(conversation_id="s"))):
        assert "theirs" not in json.loads(opening(start, message)).values()


@pytest.mark.parametrize("odd", [None, 5, "text", ["zzz"], True])
def test_odd_words_of_a_client_are_left_out(odd: Any) -> None:
    assert told(session_config={"yeaft": odd}) == told()


def test_what_a_client_said_besides_reaches_the_agent() -> None:
    own = {"clientMessageId": "c", "requestId": 7, "mentions": ["a"], "workDir": "/srv/y", "x": 1}
    files = [{"name": "a", "mime": "m", "base64": "QQ==", "size": 1}]
    command = Say("s", "t", "hi", [], {"yeaft": own, "attachments": files})
    documented = Talk(conversation_id="s", dialect="documented")
    said = json.loads(say(documented, command))
    assert said == {
        "type": "send_message",
        "conversationId": "s",
        "text": "hi",
        "attachments": files,
        **own,
    }
    deployed = Talk(conversation_id="s", dialect="deployed", work_dir="/srv")
    told = json.loads(say(deployed, command))
    assert told["files"] == [{"name": "a", "mimeType": "m", "data": "QQ==", "size": 1}]
    assert {name: told[name] for name in own} == own


def test_mentions_of_any_client_reach_the_agent() -> None:
    command = Say("s", "t", "hi", [], {"mentions": ["a"]})
    assert json.loads(say(Talk(conversation_id="s"), command))["mentions"] == ["a"]
