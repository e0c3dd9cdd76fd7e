"""Names on the wire are for ever: software that is out there knows no others.

`released_names.txt` is the list, and `released_web_names.txt` that of the names which only web
clients and the server have between themselves. A name may be added, none taken out or changed.
"""

from pathlib import Path

import pytest

from trunkline.wire.yeaft import names, web

FOLDER = Path(__file__).parent
LINES = (FOLDER / "released_names.txt").read_text(encoding="utf-8").splitlines()
OF_WEB = (FOLDER / "released_web_names.txt").read_text(encoding="utf-8").splitlines()
RELEASED = {line for line in LINES if "=" not in line}
ALIASES = dict(line.split(" = ") for line in LINES if "=" in line)

TO_AGENTS = {
    *names.FROM_CLIENTS,
    "client_hello",
    "chat",
    "execute",
    "transfer_files",
    "get_agents",
    "get_conversations",
    "list_agents",
    "list_conversations",
    "ping",
    "ping_session",
    "refresh_conversation",
    "select_agent",
    "select_conversation",
    "sync_messages",
    "update_conversation_settings",
    "pin_session",
    "unpin_session",
    "set_session_ui_metadata",
    "reorder_session_catalog",
    "update_file_tabs",
    "restore_file_tabs",
    "perf_trace_events",
}
"""What clients say, and the server to agents for them."""
OF_AGENTS = {
    *names.FROM_AGENTS,
    "auth",
    "agent_sync_complete",
    "conversation_list",
    "conversation_created",
    "conversation_resumed",
    "conversation_closed",
    "conversation_deleted",
    "session_id_update",
    "turn_completed",
    "execution_cancelled",
    "context_usage",
    "slash_commands_update",
    "history_sessions_list",
    "folders_list",
    "error",
}
"""What agents say."""


@pytest.mark.proves("002-13-names-never-change")
def test_every_released_name_is_still_there_and_every_name_is_on_the_list() -> None:
    assert names.RELEASED == RELEASED


@pytest.mark.proves("002-1-aliases-stay")
def test_every_alias_still_means_what_it_meant() -> None:
    assert names.ALIASES == ALIASES
    for old, new in ALIASES.items():
        assert names.canonical(old) == new


@pytest.mark.parametrize("name", sorted(RELEASED))
@pytest.mark.proves("002-6-old-names-are-not-sent")
def test_a_released_name_is_its_own(name: str) -> None:
    assert names.canonical(name) == name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("unify_reset", "yeaft_reset"),
        ("unify_", "yeaft_"),
        ("yeaft_reset", "yeaft_reset"),
        ("unifier", "unifier"),
        ("", ""),
        ("Unify_output", "Unify_output"),
    ],
)
def test_unify_is_the_old_word_for_yeaft(name: str, meant: str) -> None:
    assert names.canonical(name) == meant


def test_output_is_known_under_all_its_names() -> None:
    assert {"claude_output", "yeaft_output", "unify_output"} <= names.OUTPUT
    assert {names.canonical(one) for one in names.OUTPUT} == {"claude_output", "yeaft_output"}


def test_whatever_neither_clients_nor_agents_say_is_the_servers_alone() -> None:
    """Whoever adds a name decides whose it is: an agent's is passed on to clients."""
    assert {*names.RELEASED, *OF_WEB} - TO_AGENTS - OF_AGENTS == names.SERVERS
    assert {*names.RELEASED, *OF_WEB} >= web.DEPLOYED_FIRST
