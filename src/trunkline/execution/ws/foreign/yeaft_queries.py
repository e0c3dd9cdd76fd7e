"""What a Yeaft server asks of a machine beside its conversations: lists, settings, upgrades.

People wait for these answers on a page, so each has one, if only that it cannot be done from there.
What conversations are is the line's; this knows the machine's files and what it says of itself.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trunkline import __version__, limits
from trunkline.execution.files import read_head, read_tail
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.memory import local_memory
from trunkline.execution.ws.foreign.yeaft_adopted import ForeignConversations
from trunkline.wire.yeaft import stream_json
from trunkline.wire.yeaft.outward_frames import envelope
from trunkline.wire.yeaft.web import Request

WIRE_HISTORY_SESSIONS_MAX = 200  # in one list, the newest
WIRE_HISTORY_BYTES_MAX = 256 * 1024  # of a conversation that is taken up again, its newest part


_CONVERSATION = "memory/conversation.md"
_HEAD_BYTES = 8 * 1024
_SHOWN = ("user", "assistant")

_THERE = "this machine is set up where it runs, not from here"
_NO_PERSONS: Json = {"type": "vp_snapshot", "vps": [], "emptyLibrary": True}
"""This machine runs no virtual persons; a page that asks for them waits until it is told so."""
_ASKED = ("requestId", "clientMessageId", "conversationId", "clientId")
_FOR = ("_requestClientId", "_requestUserId")
"""By these a server finds the person who asked; without them it may tell everybody."""


def back(request: Request) -> Json:
    """What goes back with an answer, as it came."""
    return {name: request.fields[name] for name in (*_ASKED, *_FOR) if name in request.fields}


class Queries:
    """`say` sends what is of use now, or not at all."""

    def __init__(
        self,
        home: Home,
        others: ForeignConversations,
        model: str,
        say: Callable[[bytes], None],
    ) -> None:
        """`others`: conversations of other programs, which can be gone on with too."""
        self._home = home
        self._others = others
        self._say = say
        self._looking: set[asyncio.Task[None]] = set()
        self._is_closed = False
        refused: Json = {"error": _THERE}
        model_config = {"providers": [], "primaryModel": model, "needsSetup": False}
        self.takes: dict[str, Callable[[Request], None]] = {
            "list_history_sessions": self._list_history,
            "list_folders": self._list_folders,
            "list_models": self._answer("models_list", models=[]),
            "get_llm_config": self._answer("llm_config", **model_config),
            "update_llm_config": self._answer("llm_config_updated", **model_config, **refused),
            "get_mcp_servers": self._answer("mcp_servers_list", servers=[]),
            "update_mcp_config": self._answer("mcp_config_updated", servers=[], **refused),
            "get_yeaft_settings": self._answer("yeaft_settings", **refused),
            "update_yeaft_settings": self._answer("yeaft_settings_updated", **refused),
            "restart_agent": self._answer("restart_agent_ack", success=False, **refused),
            "upgrade_agent": self._answer(
                "upgrade_agent_ack", success=False, version=__version__, **refused
            ),
            "btw_question": self._answer("btw_error", **refused),
            "yeaft_vp_subscribe": self._answer("yeaft_output", event=_NO_PERSONS),
        }

    def look(self, find: Callable[[], Json], then: Callable[[Json], None]) -> None:
        """Files are read beside the event loop; where too many are read, nothing is found."""

        async def looked() -> None:
            then(await asyncio.to_thread(find))

        if self._is_closed:
            return
        if len(self._looking) < limits.SESSION_REQUESTS_MAX:
            task = asyncio.create_task(looked(), name="looking")
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)
        else:
            then({})

    async def close(self) -> None:
        """What was not found yet is not waited for any more."""
        self._is_closed = True
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)

    def _answer(self, kind: str, **fields: Any) -> Callable[[Request], None]:
        return lambda request: self._say(envelope(kind, **back(request), **fields))

    def _list_history(self, request: Request) -> None:
        wanted = request.get("provider"), request.get("workDir")
        found = lambda: [*sessions(self._home), *self._others.listed(*wanted)]  # noqa: E731
        self._list(request, "history_sessions_list", "sessions", found)

    def _list_folders(self, request: Request) -> None:
        provider = request.get("provider")
        found = lambda: [*folders(self._home), *self._others.folders(provider)]  # noqa: E731
        self._list(request, "folders_list", "folders", found)

    def _list(self, request: Request, kind: str, name: str, find: Callable[[], list[Json]]) -> None:
        asked: Json = {one: request.fields.get(one) for one in ("provider", "workDir")}
        self.look(
            lambda: {name: find()},
            lambda found: self._say(envelope(kind, **asked, **back(request), **found)),
        )


def sessions(home: Home) -> list[Json]:
    """Those that can be resumed. Reads files: not for the event loop."""
    found = [(_changed_ms(path), path) for path in _folders(home)]
    found.sort(key=lambda one: one[0], reverse=True)
    work_dir = str(home.workspace)
    return [
        {
            "sessionId": path.name,
            "title": _title(path),
            "workDir": work_dir,
            "lastModified": changed_ms,
        }
        for changed_ms, path in found[:WIRE_HISTORY_SESSIONS_MAX]
    ]


def messages_of(home: Home, session_id: str) -> list[Json]:
    """What was said in a session, the newest part of it, in the shape of `data`."""
    try:
        tail, _ = read_tail(home.session(session_id) / _CONVERSATION, WIRE_HISTORY_BYTES_MAX)
    except (OSError, ValueError):
        return []
    text = local_memory.from_first_heading(tail.decode("utf-8", "replace"))
    return [
        {
            **stream_json.said_by(one.role, one.content),
            "timestamp": one.at,
        }
        for one in local_memory.parse(text)
        if one.role in _SHOWN
    ]


def folders(home: Home) -> list[Json]:
    """Work folders that have sessions: this machine has one."""
    found = _folders(home)
    if not found:
        return []
    newest = max(map(_changed_ms, found))
    return [{"path": str(home.workspace), "sessionCount": len(found), "lastModified": newest}]


def _folders(home: Home) -> list[Path]:
    return [path for path in home.sessions.iterdir() if home.is_session(path)]


def _changed_ms(path: Path) -> int:
    for name in (_CONVERSATION, ""):
        try:
            return int((path / name).stat().st_mtime * 1000)
        except OSError:
            continue
    return 0


def _title(path: Path) -> str:
    """The first thing that was said."""
    try:
        head, _ = read_head(path / _CONVERSATION, _HEAD_BYTES)
    except OSError:
        return ""
    said = local_memory.parse(head.decode("utf-8", "replace"))
    first = next((one.content for one in said if one.role == "user"), "")
    return " ".join(first.split())[: limits.NAME_CHARS_MAX]
