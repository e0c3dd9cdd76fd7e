"""Conversations that other programs have on a machine, as the control plane knows them: it asks.

What a machine says is checked here, and nobody else reads it before.
"""

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.queries import Queries
from trunkline.control.records.fields import Json
from trunkline.control.records.page import Page
from trunkline.control.sessions.imported import Entry
from trunkline.wire import resuming

T = TypeVar("T")

RUNTIMES = ("claude-code", "acp")
PRESETS = ("opencode", "codex")
ENTRIES_MAX = 10_000
CURSOR_CHARS_MAX = 400

_Short = Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)]
_Path = Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX)]
_Ms = Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX)]


class ForeignSession(msgspec.Struct, kw_only=True):
    """`session_id`: of the session here that goes on with it already. `command` goes on with it in
    a terminal, in its `folder`; people paste it, so it is no machine's to write."""

    runtime: _Short
    preset: _Short = ""
    id: Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX)]
    title: _Short = ""
    folder: _Path
    started_at: _Ms = 0
    updated_at: _Ms = 0
    message_count: _Ms | None = None
    command: Annotated[str, Meta(max_length=1_000)] = ""
    session_id: _Short | None = None

    def __post_init__(self) -> None:
        self.command = resuming.command(self.preset or self.runtime, self.id)

    @property
    def key(self) -> str:
        """What it is known by on its machine."""
        return f"{self.runtime} {self.preset} {self.id}"


class _Listed(msgspec.Struct, kw_only=True):
    sessions: Annotated[list[ForeignSession], Meta(max_length=limits.PAGE_MAX)]
    next_cursor: Annotated[str, Meta(max_length=CURSOR_CHARS_MAX)] | None = None


class Conversation(msgspec.Struct, kw_only=True):
    session: ForeignSession
    entries: Annotated[list[Entry], Meta(max_length=ENTRIES_MAX)]


class Foreign:
    """Asks machines. Who may ask was checked before."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    async def page(self, machine: Machine, **wanted: Any) -> Page[ForeignSession]:
        """Newest first."""
        asked = {name: value for name, value in wanted.items() if value is not None}
        result = await self._queries.ask(machine, "foreign_sessions.list", asked)
        listed = _checked(result, _Listed)
        return Page(listed.sessions, listed.next_cursor)

    async def read(
        self, machine: Machine, runtime: str, preset: str, foreign_id: str
    ) -> Conversation:
        wanted: Json = {"runtime": runtime, "preset": preset, "id": foreign_id}
        result = await self._queries.ask(machine, "foreign_sessions.read", wanted)
        found = _checked(result, Conversation)
        one = found.session
        if (one.runtime, one.preset, one.id) != (runtime, preset, foreign_id):
            raise Unavailable("the machine answered with another one", code="MACHINE_FAULT")
        return found


def _checked(result: Json, kind: type[T]) -> T:
    try:
        return msgspec.convert(result, kind)
    except msgspec.ValidationError as error:
        why = f"what the machine said cannot be used: {error}"[:500]
        raise Unavailable(why, code="MACHINE_FAULT") from error
