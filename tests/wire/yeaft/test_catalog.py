"""A conversation as a row of a deployed page's list; an agent's list of its own group chats."""

import json
from typing import Any

import pytest

from trunkline.wire.yeaft import catalog
from trunkline.wire.yeaft.providers import shown_to_pages

CONVERSATION = {
    "id": "c-1",
    "agentId": "a-1",
    "title": "Talk",
    "provider": "copilot",
    "workDir": "/w",
    "createdAt": 5,
    "updatedAt": 7,
}


@pytest.mark.proves("notes-3-catalog")
def test_a_row_has_what_the_page_reads_and_nothing_it_breaks_at() -> None:
    shown = {"pinned": True, "sort_rank": 3, "changed_at": 9, "files": ["x"]}
    assert catalog.row(CONVERSATION, "laptop", online=True, shown=shown) == {
        "catalogKey": "chat:c-1",
        "runtimeProvider": "copilot",
        "routeRef": {"runtimeProvider": "copilot", "agentId": "a-1", "sessionId": "c-1"},
        "title": "Talk",
        "workDir": "/w",
        "agentId": "a-1",
        "agentName": "laptop",
        "availability": "online",
        "pinned": True,
        "hidden": False,
        "sortRank": 3,
        "createdAt": 5,
        "metadataUpdatedAt": 9,
    }
    plain = catalog.row(CONVERSATION, "", online=False, shown={})
    assert (plain["availability"], plain["metadataUpdatedAt"]) == ("offline", 7)
    assert (plain["pinned"], plain["sortRank"]) == (False, None)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("claude-code", "claude-code"),
        ("copilot", "copilot"),
        ("semigraph", "claude-code"),
        ("", "claude-code"),
        (None, "claude-code"),
        (["copilot"], "claude-code"),
        ({"a": 1}, "claude-code"),
    ],
)
@pytest.mark.proves("notes-3-catalog")
def test_no_page_is_given_a_provider_that_it_does_not_know(given: Any, shown: str) -> None:
    assert shown_to_pages(given) == shown


@pytest.mark.parametrize(
    ("key", "session_id"),
    [
        ("chat:c-1", "c-1"),
        ("chat:", None),
        ("yeaft:a:s", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_a_rows_key_names_its_conversation(key: Any, session_id: str | None) -> None:
    assert catalog.session_of(key) == session_id


LIST = {"type": "session_list_updated", "sessions": [{"id": "s"}, 7, None]}


@pytest.mark.parametrize(
    ("message", "chats"),
    [
        (LIST, [{"id": "s"}]),
        ({"type": "yeaft_output", "event": LIST}, [{"id": "s"}]),
        ({"type": "yeaft_output", "event": {"type": "session_list_updated"}}, None),
        ({"type": "other", "note": "session_list_updated", "sessions": []}, None),
        ({"type": "session_list_updated", "sessions": {}}, None),
    ],
)
def test_an_agents_own_group_chats_are_found_in_both_forms(
    message: dict[str, Any], chats: list[dict[str, Any]] | None
) -> None:
    assert catalog.group_chats_in(json.dumps(message)) == chats


@pytest.mark.parametrize("text", ["", "{", '"session_list_updated"', '["session_list_updated"]'])
def test_what_is_no_message_holds_none(text: str) -> None:
    assert catalog.group_chats_in(text) is None
