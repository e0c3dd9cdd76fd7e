"""What a session did to files, as its machine tells: which it changed, one of them, its worktree.

The machine is asked, and has to be there. What it says is checked here.
"""

import base64
import binascii
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import TooLarge, Unavailable
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.queries import Queries
from trunkline.control.records.fields import Json
from trunkline.control.services import Services
from trunkline.control.sessions.records import Session
from trunkline.control.sessions.sessions import Sessions

T = TypeVar("T")

FILES_MAX = 2_000
DIFF_CHARS_MAX = 8 * limits.MIB

_Path = Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX)]
_Count = Annotated[int, Meta(ge=0, le=limits.JSON_INT_MAX)]
_Change = Literal["created", "modified", "deleted"]


class SessionFile(msgspec.Struct, kw_only=True):
    """A file that a session made or changed. `path` is as its events say it; `size` is null when
    it is gone, or no plain file of the session's folder; `modified_at` in Unix ms."""

    path: _Path
    change: _Change
    size: _Count | None = None
    modified_at: _Count | None = None


class SessionFiles(msgspec.Struct, kw_only=True):
    """The newest 2,000, those that were changed last at the end."""

    files: Annotated[list[SessionFile], Meta(max_length=FILES_MAX)]


class DiffFile(msgspec.Struct, kw_only=True):
    path: _Path
    change: _Change
    additions: _Count = 0
    deletions: _Count = 0


class SessionDiff(msgspec.Struct, kw_only=True):
    """Everything in a session's worktree that differs from the commit that it began with, `base`;
    committed there or not. `truncated`: there is more of it than is shown. `applied`: just this was
    brought onto the user's working tree. `folder`: where the worktree is on its machine, `branch`
    what it is called in the `repository`."""

    files: Annotated[list[DiffFile], Meta(max_length=FILES_MAX)]
    diff: Annotated[str, Meta(max_length=DIFF_CHARS_MAX)]
    truncated: bool = False
    applied: bool = False
    branch: _Path
    base: _Path
    folder: _Path
    repository: _Path


class Applied(msgspec.Struct, kw_only=True):
    """The files of the `repository` that were changed; none where they were like that already."""

    files: Annotated[list[_Path], Meta(max_length=FILES_MAX)]
    repository: _Path


class Discarded(msgspec.Struct, kw_only=True):
    branch: _Path
    repository: _Path


class _Part(msgspec.Struct, kw_only=True):
    size: _Count
    data: Annotated[str, Meta(max_length=2 * limits.SESSION_FILE_PART_BYTES_MAX)]


class FilePart(msgspec.Struct, kw_only=True):
    """Some bytes of a file, of which there are `size`."""

    offset: int
    size: int
    data: bytes


_CHANGES = {
    "session.apply": "has applied what this session did to the folder that it was made from",
    "session.discard": "has thrown away what this session did in its worktree",
}


class Work:
    """Asks the machine that has the session, be it closed: work that nobody applied is kept."""

    def __init__(
        self,
        sessions: Sessions,
        machines: Machines,
        queries: Queries,
        services: Services,
        log: Log,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._log = log
        self._clock = clock
        self._machines = machines
        self._queries = queries
        self._services = services

    async def files(self, who: Principal, session_id: str) -> SessionFiles:
        return await self._ask(who, session_id, "session.files", SessionFiles)

    async def part(
        self, who: Principal, session_id: str, path: str, offset: int, length: int | None
    ) -> FilePart:
        """Without a length the whole file from there on, where it is not too large for that."""
        most = limits.SESSION_FILE_PART_BYTES_MAX
        count = most if length is None else length
        wanted: Json = {"path": path, "offset": offset, "length": count}
        found = await self._ask(who, session_id, "session.file", _Part, **wanted)
        try:
            data = base64.b64decode(found.data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise Unavailable("the machine sent no file", code="MACHINE_FAULT") from error
        if len(data) > count:
            raise Unavailable("the machine sent more than was asked", code="MACHINE_FAULT")
        if length is None and offset + len(data) < found.size:
            raise TooLarge(
                f"the file has {found.size} bytes: ask for parts of at most {most} bytes with"
                " offset and length"
            )
        return FilePart(offset=offset, size=found.size, data=data)

    async def diff(self, who: Principal, session_id: str) -> SessionDiff:
        return await self._ask(who, session_id, "session.diff", SessionDiff)

    async def apply(self, who: Principal, session_id: str) -> Applied:
        who.require("talk")
        return await self._ask(who, session_id, "session.apply", Applied)

    async def discard(self, who: Principal, session_id: str) -> Discarded:
        who.require("talk")
        return await self._ask(who, session_id, "session.discard", Discarded)

    async def _ask(
        self, who: Principal, session_id: str, method: str, kind: type[T], **params: Any
    ) -> T:
        session = await self._sessions.get(who, session_id)
        machine = await self._machines.of(session)
        told: Json = {"session_id": session.id, **params}
        result = await self._queries.ask(machine, method, told)
        if who.user_id != session.user_id:
            await self._note(who, session, method, params.get("path"))
            if method in _CHANGES:
                await self._tell(who, session, _CHANGES[method])
        try:
            return msgspec.convert(result, kind)
        except msgspec.ValidationError as error:
            why = f"what the machine said cannot be used: {error}"[:500]
            raise Unavailable(why, code="MACHINE_FAULT") from error

    async def _tell(self, who: Principal, session: Session, what: str) -> None:
        """To the session's own user, in its log: their files are not what they were."""
        log = await self._log.open(session.id)
        message = f"Somebody else, {who.role} {who.user_id}, {what}."
        told = {"changed_by": who.user_id, "message": message}
        self._log.append(log, events.make("session_status", self._clock(), **told))
        await self._log.committed(log)

    async def _note(self, who: Principal, session: Session, method: str, path: Any) -> None:
        details = {"owner": session.user_id, "asked": method}
        if isinstance(path, str):
            details["path"] = path[: limits.AUDIT_VALUE_CHARS_MAX]
        await self._services.audit.append(
            "session.work_read",
            details,
            org_id=session.org_id,
            user_id=who.user_id,
            session_id=session.id,
        )
