"""The Yeaft wire in the AsyncAPI document: every name of its page, on the side that says it."""

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from trunkline.control.api import asyncapi
from trunkline.control.edges.yeaft_web.connection import HANDLERS
from trunkline.wire.yeaft import fields, names

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/protocols/yeaft.md").read_text(encoding="utf-8")
OF_WEB = (ROOT / "tests/wire/yeaft/released_web_names.txt").read_text(encoding="utf-8").split()
DOCUMENT = asyncapi.describe()
NOT_SENT = {"conversations_list"}  # reserved: the answer is called `conversation_list`
KNOWN = {*names.RELEASED, *names.ALIASES, *OF_WEB} - NOT_SENT


def said(operation: str) -> set[str]:
    """The names that go one way on one channel."""
    keys = (one["$ref"].rpartition("/")[2] for one in DOCUMENT["operations"][operation]["messages"])
    return {DOCUMENT["components"]["messages"][key]["name"] for key in keys}


def section(title: str) -> str:
    return re.split(r"^##", PAGE.partition(f"## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def words(text: str) -> set[str]:
    """What stands in backticks, by itself or before its fields."""
    return set(re.findall(r"`([a-z]+(?:_[a-z]+)*)(?: \{[^`]*)?`", text))


def column(text: str, number: int) -> set[str]:
    rows = (
        re.split(r" \|(?= |$)", line[2:]) for line in text.splitlines() if line.startswith("| ")
    )
    return {
        word
        for row in rows
        if "server's own words" not in " ".join(row)
        for word in words(row[number])
    }


def test_what_the_page_says_that_web_clients_say_is_in_the_document() -> None:
    listed = column(section("Messages from web clients"), 0)
    assert {"send_message", "list_agents", "ping_session"} <= listed
    assert listed <= said("yeaft_web.up")
    assert {"client_hello", "ping"} <= said("yeaft_web.up")


def test_what_the_page_says_that_web_clients_hear_is_in_the_document() -> None:
    listed = column(section("Messages from web clients"), 2) | column(
        section("Messages to web clients"), 1
    )
    from_clients = said("yeaft_web.up") - said("yeaft_web.down")
    heard = (listed & KNOWN) - from_clients
    assert {"conversation_pinned", "ask_user_answered", "conversation_closed"} <= heard
    assert heard <= said("yeaft_web.down")
    assert {"auth_result", "client_hello_ack", "event_position", "error"} <= said("yeaft_web.down")


@pytest.mark.parametrize(
    ("channel", "known"),
    [("yeaft_web.up", fields.OF_CLIENTS), ("yeaft_agent.up", fields.OF_AGENTS)],
)
def test_every_field_in_the_document_is_known_and_not_counted(
    channel: str, known: frozenset[str]
) -> None:
    refs = (one["$ref"] for one in DOCUMENT["operations"][channel]["messages"])
    messages = [DOCUMENT["components"]["messages"][one.rpartition("/")[2]] for one in refs]
    named = {name for one in messages for name in properties(one["payload"])}
    assert len(named) > 25
    assert named <= known


def properties(payload: dict[str, Any]) -> dict[str, Any]:
    """Of a shape that stands there, or in another place of the document."""
    if "$ref" in payload:
        payload = DOCUMENT["components"]["schemas"][payload["$ref"].rpartition("/")[2]]
    found: dict[str, Any] = payload.get("properties", {})
    return found


def test_what_the_page_says_of_agents_is_in_the_document() -> None:
    up = column(section("Messages from agents"), 0) & KNOWN
    assert {"claude_output", "turn_completed", "ask_user_question"} <= up
    assert up <= said("yeaft_agent.up")
    assert {"auth", "agent_sync_complete", "conversation_list"} <= said("yeaft_agent.up")
    down = words(section("Messages to agents")) & KNOWN
    assert {"create_conversation", "execute", "cancel_execution"} <= down
    answers = {"session_ready", "conversation_created", "conversation_list"}
    assert down - answers <= said("yeaft_agent.down")
    assert {"auth_required", "registered", "error"} <= said("yeaft_agent.down")


@pytest.mark.proves("002-13-names-never-change")
def test_no_name_of_the_wire_is_missing() -> None:
    sides = ("yeaft_web.up", "yeaft_web.down", "yeaft_agent.up", "yeaft_agent.down")
    everything = set().union(*(said(side) for side in sides))
    assert everything >= KNOWN
    assert set(HANDLERS) <= said("yeaft_web.up")
    servers = said("yeaft_web.down") | said("yeaft_agent.down")
    assert servers >= names.SERVERS - NOT_SENT


def test_agents_are_told_apart_from_pages() -> None:
    secrets = {"auth", "registered", "auth_required", "transfer_files"}
    assert not secrets & (said("yeaft_web.up") | said("yeaft_web.down"))
    # What only the server says is refused from agents, and so is not theirs to say.
    assert not names.SERVERS & said("yeaft_agent.up")


@pytest.mark.parametrize(
    "message",
    [
        {"type": "auth_result"},
        {"type": "auth_result", "success": "yes"},
        {"type": "event_position", "conversationId": "c", "eventId": "five"},
        {"type": "ask_user_answered", "conversationId": "c", "confirmed": True},
        {"type": "agents_list", "agents": {}},
    ],
    ids=lambda message: "-".join(message),
)
def test_a_message_that_lacks_or_bends_a_field_does_not_fit(message: dict[str, object]) -> None:
    payload = DOCUMENT["components"]["messages"][f"yeaft.server.{message['type']}"]["payload"]
    assert not jsonschema_rs.is_valid({**payload, "components": DOCUMENT["components"]}, message)
