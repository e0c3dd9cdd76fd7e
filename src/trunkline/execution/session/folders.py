"""Where a session works: the folder that it names, or its machine's; a worktree of it if wanted."""

import asyncio
from functools import partial
from typing import Any

import msgspec
import structlog

from trunkline.execution.errors import StartFailed
from trunkline.execution.roots import Roots
from trunkline.execution.session import ipc
from trunkline.execution.session.session import Session
from trunkline.execution.worktree_turns import AsOf
from trunkline.execution.worktrees import Worktrees

_log = structlog.get_logger(__name__)

_UNKEPT = "the machine has not kept the files of that turn: the worktree has them as they were"
_NOT_OF_THE_TURN: dict[AsOf, str] = {
    "now": f"{_UNKEPT} in the other session when this copy was made",
    "beginning": f"{_UNKEPT} when the other session, a copy itself, began",
}


class Folders:
    def __init__(self, roots: Roots, worktrees: Worktrees) -> None:
        self._roots = roots
        self._worktrees = worktrees
        self._keeping: dict[str, asyncio.Task[None]] = {}
        """By session, the note that is just taken of its worktree."""

    def placed(self, start: ipc.Start) -> ipc.Start:
        """With the folder that the session, else its agent, else the machine's owner chose. Raises
        StartFailed."""
        place = self._roots.workspace_of(_chosen(start).get("workspace"))
        if _wants_worktree(start):
            place = self._worktrees.known(start.session_id) or place
        return self._with(start, str(place))

    async def prepare(self, session: Session) -> None:
        """Makes the worktree of one that wants it: of a copy, with the files of the other as they
        were at the end of its turn; where they are not, its readers are told. Raises StartFailed.
        """
        start = session.config
        if not _wants_worktree(start) or self._worktrees.known(session.id) is not None:
            return
        fork = start.fork
        if fork is not None and fork.session_id and self._worktrees.known(fork.session_id):
            asked = (fork.session_id, session.id, fork.turn_id, fork.turns)
            place, as_of = await self._worktrees.forked(*asked)
            if (problem := _NOT_OF_THE_TURN.get(as_of)) is not None:
                session.emit("session_status", machine="online", problems=[problem])
        else:
            chosen = self._roots.workspace_of(start.workspace)
            place = await self._worktrees.make(session.id, chosen)
        session.config = self._with(start, str(place))

    def _with(self, start: ipc.Start, place: str) -> ipc.Start:
        return msgspec.structs.replace(
            start,
            workspace=place,
            roots=self._roots.names(),
            writable=self._worktrees.writable(start.session_id),
        )

    def turn_ended(self, session: Session) -> None:
        """Notes how its worktree is now, if it has one."""
        turn_id = session.turns.last_ended
        if turn_id is not None and self._worktrees.known(session.id) is not None:
            keeping = asyncio.create_task(self._worktrees.keep_turn(session.id, turn_id))
            self._keeping[session.id] = keeping
            keeping.add_done_callback(partial(self._kept, session.id))

    def _kept(self, session_id: str, keeping: "asyncio.Task[None]") -> None:
        if self._keeping.get(session_id) is keeping:
            del self._keeping[session_id]

    async def settled(self, session_id: str) -> None:
        """The next turn may change files."""
        if (keeping := self._keeping.get(session_id)) is not None:
            await asyncio.wait({keeping})

    async def closed(self, session_id: str) -> None:
        """Work in a worktree that nobody has applied stays."""
        if (kept := await self._worktrees.close(session_id)) is not None:
            _log.info("unapplied work of a closed session is kept", path=str(kept))


def _chosen(start: ipc.Start) -> dict[str, Any]:
    return {**start.agent_config, **start.session_config}


def _wants_worktree(start: ipc.Start) -> bool:
    wanted = _chosen(start).get("worktree")
    if wanted not in (None, True, False):
        raise StartFailed("worktree must be true or false", code="WORKSPACE_REFUSED")
    return wanted is True
