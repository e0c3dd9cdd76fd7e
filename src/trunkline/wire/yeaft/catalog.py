"""How deployed pages list conversations (docs/protocols/yeaft.md#catalog). Pure."""

from typing import Any, Final

from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.outward_frames import encode, provider_of

SESSION_LIST: Final = "session_list_updated"
"""How an agent lists the group chats that it runs itself."""

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
    provider = provider_of(conversation.get("provider"))
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


def is_session_list(text: str) -> bool:
    """Whether an agent lists its group chats there; looked at before anything is read."""
    return f'"{SESSION_LIST}"' in text[:400]


def listed_in(text: str) -> list[Json] | None:
    """The group chats that an agent lists; None if it does not."""
    message = _message(text)
    sessions = None if message is None else _list_in(message).get("sessions")
    if not isinstance(sessions, list):
        return None
    return [one for one in sessions if isinstance(one, dict)]


def with_projects(text: str, agent_id: str) -> bytes | None:
    """An agent's list as a deployed page needs it: one that does not say that it is all there is
    empties the page's own. None if it is no such list."""
    message = _message(text)
    if message is None:
        return None
    listed = _list_in(message)
    listed["projectsAuthoritative"] = True
    listed.setdefault("projects", [])
    message.setdefault("agentId", agent_id)
    return encode(message)


def _message(text: str) -> Json | None:
    if not is_session_list(text):
        return None
    try:
        message = codec.fields(text)
    except Malformed:
        return None
    return message if _list_in(message).get("type") == SESSION_LIST else None


def _list_in(message: Json) -> Json:
    """Agents say it as a message of its own, or as an event of a `yeaft_output`."""
    event = message.get("event")
    return event if isinstance(event, dict) else message
