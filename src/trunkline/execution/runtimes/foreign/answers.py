"""The machine's answers about conversations of other programs: parameters in, plain objects out.

Files are read beside the event loop, one question at a time: people may have thousands of them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.files import load_json
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.foreign.conversation import Conversation
from trunkline.execution.runtimes.foreign.library import Library

LIST = "foreign_sessions.list"
READ = "foreign_sessions.read"

_STATES_MAX = 5_000  # of our own sessions, looked through for conversations that are theirs

_Name = Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]


class Listing(msgspec.Struct, kw_only=True):
    runtime: _Name = ""
    preset: _Name = ""
    folder: Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX)] = ""
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT
    cursor: Annotated[str, Meta(max_length=400)] = ""


class Reading(msgspec.Struct, kw_only=True):
    runtime: _Name
    preset: _Name = ""
    id: _Name


class Answers:
    """`answer` is what the line asks."""

    def __init__(self, library: Library, home: Home) -> None:
        self._library = library
        self._home = home
        self._lock = asyncio.Lock()
        self._methods: dict[str, Callable[[Json], Awaitable[Json]]] = {
            LIST: self._list,
            READ: self._read,
        }

    async def answer(self, method: str, params: Json) -> Json:
        """Raises RequestFailed."""
        found = self._methods.get(method)
        if found is None:
            raise RequestFailed("METHOD_NOT_FOUND", f"there is no question {method[:100]!r}")
        async with self._lock:
            try:
                return await found(params)
            except (msgspec.ValidationError, ValueError) as error:
                raise RequestFailed("INVALID_REQUEST", str(error)[:500]) from error

    async def _list(self, params: Json) -> Json:
        asked = msgspec.convert(params, Listing)
        wanted = msgspec.structs.asdict(asked)
        page = await asyncio.to_thread(lambda: self._library.page(**wanted))
        ours = await asyncio.to_thread(own_conversations, self._home)
        return {
            "sessions": [_shown(one, ours) for one in page.conversations],
            "next_cursor": page.next_cursor,
        }

    async def _read(self, params: Json) -> Json:
        asked = msgspec.convert(params, Reading)
        read = await asyncio.to_thread(self._library.read, asked.runtime, asked.preset, asked.id)
        if read is None:
            raise RequestFailed("FOREIGN_SESSION_NOT_FOUND", asked.id)
        conversation, entries = read
        ours = await asyncio.to_thread(own_conversations, self._home)
        return {
            "session": _shown(conversation, ours),
            "entries": [msgspec.to_builtins(one) for one in entries],
        }


def _shown(one: Conversation, ours: dict[str, str]) -> Json:
    shown: Json = msgspec.to_builtins(one)
    if one.id in ours:
        shown["session_id"] = ours[one.id]
    return shown


class _Saved(msgspec.Struct):
    """As much of a session's runtime state as says whose conversation it goes on with."""

    state: Json = {}


def own_conversations(home: Home) -> dict[str, str]:
    """The programs' own ids of conversations that our sessions have there, with the sessions'."""
    found: dict[str, str] = {}
    paths = (path for path in _folders(home) if (path / "runtime.json").is_file())
    for path in paths:
        saved = load_json(path / "runtime.json", _Saved, "a session's runtime state")
        name = saved.state.get("session_id") if saved is not None else None
        if isinstance(name, str):
            found[name] = path.name
    return found


def _folders(home: Home) -> list[Path]:
    try:
        return [path for path in home.sessions.iterdir() if home.is_session(path)][:_STATES_MAX]
    except OSError:
        return []
