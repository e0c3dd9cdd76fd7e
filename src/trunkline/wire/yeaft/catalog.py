"""How deployed pages list conversations (docs/protocols/yeaft.md#catalog). Pure."""

from typing import Any, Final

from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.providers import shown_to_pages

SESSION_LIST: Final = "session_list_updated"
"""How an agent lists the group chats that it runs itself."""
_HEAD_CHARS = 400
"""In which a message says what it is; most are not read any further."""

Json = dict[str, Any]


def key_of(session_id: str) -> str:
    return f"chat:{session_id}"


def session_of(key: Any) -> str | None:
    """The conversation that a row is of; None for a row that is an agent's own."""
    if not isinstance(key, str) or not key.startswith("chat:"):
        return None
    return key.removeprefix("chat:") or None


def row(conversation: Json, agent_name: str, *, online: bool, shown: Json) -> Json:
    """One conversation of the lists, as a row. `shown`: how its owner wants it to be listed."""
    session_id, agent_id = conversation["id"], conversation["agentId"]
    provider = shown_to_pages(conversation.get("provider"))
    return {
        "catalogKey": key_of(session_id),
        "runtimeProvider": provider,
        "routeRef": {"runtimeProvider": provider, "agentId": agent_id, "sessionId": session_id},
        "title": conversation["title"],
        "workDir": conversation["workDir"],
        "agentId": agent_id,
        "agentName": agent_name,
        "availability": "online" if online else "offline",
        "pinned": shown.get("pinned") is True,
        "hidden": shown.get("hidden") is True,
        "sortRank": shown.get("sort_rank"),
        "createdAt": conversation["createdAt"],
        "metadataUpdatedAt": shown.get("changed_at") or conversation["updatedAt"],
    }


def group_chats_in(text: str) -> list[Json] | None:
    """The group chats that an agent lists, in a message of its own or as an event of a
    `yeaft_output`; None if it does not."""
    if f'"{SESSION_LIST}"' not in text[:_HEAD_CHARS]:
        return None
    try:
        message = codec.fields(text)
    except Malformed:
        return None
    event = message.get("event")
    listed = event if isinstance(event, dict) else message
    sessions = listed.get("sessions")
    if listed.get("type") != SESSION_LIST or not isinstance(sessions, list):
        return None
    return [one for one in sessions if isinstance(one, dict)]
