"""What the deployed kind is told in the place of the document's fields, and beside them."""

import shlex
from typing import Any

import pytest

from trunkline.wire.semibot import deployed


@pytest.mark.proves("notes-1-history-ends-with-the-message")
def test_the_message_is_the_last_of_its_history() -> None:
    earlier = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    now = {"role": "user", "content": "c"}
    assert deployed.history(earlier, "c") == [*earlier, now]
    assert deployed.history([], "c") == [now]
    assert len(earlier) == 2


@pytest.mark.proves("notes-1-agent-id")
@pytest.mark.parametrize(
    ("config", "named"),
    [({"id": "a"}, "a"), ({}, "s"), ({"id": ""}, "s"), ({"id": 7}, "s"), ({"id": None}, "s")],
)
def test_an_agent_has_an_id_whatever_its_configuration_says(
    config: dict[str, Any], named: str
) -> None:
    assert deployed.agent_id(config, "s") == named


@pytest.mark.proves("notes-1-mcp-entries")
@pytest.mark.parametrize("args", [[], ["/a b", "--x='1'"], ['"', "$(id)", "\n"]])
def test_a_local_servers_command_line_is_read_back_as_it_was(args: list[str]) -> None:
    server = {"id": "1", "name": "fs", "type": "local", "command": "mcp fs", "args": args}
    entry = deployed.mcp_entry(server)
    assert shlex.split(entry["endpoint"]) == ["mcp fs", *args]
    assert entry["transport"] == "stdio"
    assert entry.items() >= server.items()


@pytest.mark.proves("notes-1-mcp-entries")
def test_a_remote_server_has_no_address_that_it_could_call() -> None:
    assert deployed.mcp_entry({"id": "1", "name": "hub", "type": "remote"}) == {
        "id": "1",
        "name": "hub",
        "type": "remote",
        "endpoint": "",
        "transport": "remote",
        "available_tools": [],
        "auth_config": None,
    }


@pytest.mark.proves("notes-1-config-update-has-all-in-data")
def test_a_change_names_its_session_and_the_whole_configuration_whatever_the_patch_says() -> None:
    patch = {"temperature": 1, "session_id": "other", "agent_config": 7}
    whole = {"model": "m", "temperature": 1}
    assert deployed.config_update("s", patch, whole) == {
        "temperature": 1,
        "session_id": "s",
        "agent_config": whole,
    }


@pytest.mark.proves("notes-1-default-model")
@pytest.mark.parametrize(
    ("providers", "like"),
    [([], "gpt"), (["openai"], "gpt"), (["anthropic", "openai"], "claude"), (["mine"], "gpt")],
)
def test_there_is_always_a_model(providers: list[str], like: str) -> None:
    assert deployed.default_model(providers).startswith(like)
