"""A session that was exported, here or elsewhere, as a new session of this system.

The file is read twice: as it comes, when all of it is checked, and from a file without a name that
goes with this process. What it is made of is written as `Histories` does it: a killed import leaves
nothing that anybody could see.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from pathlib import Path
from typing import IO, Annotated

import msgspec
import structlog
from msgspec import Meta
from sqlalchemy import select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import InvalidRequest, LimitReached, TooLarge
from trunkline.control.ids import id_at
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.log.store import Head, Segment
from trunkline.control.log.weighing import Weighing
from trunkline.control.quotas import Quotas
from trunkline.control.records.fields import Json, Label
from trunkline.control.sessions.choosing import Choice
from trunkline.control.sessions.histories import Histories
from trunkline.control.sessions.records import NewSession, Session
from trunkline.control.sessions.session_file import LINE_BYTES_MAX, Reading, Record
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.sessions.survey import Item, Rewriting, Survey
from trunkline.control.storage import Storage
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import turns, users
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)

BYTES_MAX = 4 * limits.GIB
_AT_ONCE_MAX = 4
_OF_ONE_MAX = 2  # who sends slowly is in the way of nobody else
_IDS_AT_ONCE = 500
_LINES_AT_ONCE = 500
_COMMIT_BYTES = 1 * limits.MIB
_SAME_MOMENT_MS = 250  # events of which are one commit

_AGENT = ("name", "system_prompt", "model", "temperature", "max_tokens", "tools")
_SESSION = (
    *("max_turns", "max_tool_calls", "timeout_seconds", "thinking_tokens", "context_window"),
    *("command_timeout_seconds", "approval_timeout_seconds", "evolution"),
)
_CAREFUL = {"confirm": ("dangerous", "always"), "permission_mode": ("plan", "ask")}
"""What a stranger's file may say about when to ask: never less than without it."""


class ImportQuery(msgspec.Struct, kw_only=True):
    machine_id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=limits.ID_CHARS_MAX,
                description="Where it goes on; one of yours without it.",
            ),
        ]
        | None
    ) = None
    title: Annotated[Label, Meta(description="Instead of the file's.")] | None = None


class _Dated(SessionLog):
    """A log that is written with the times of its past."""

    __slots__ = ("at",)

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id, Head(0, None))
        self.at = 0

    def segment(self, at: int) -> Segment:
        return super().segment(self.at)


class Importing:
    """`folder`: where the file is kept meanwhile."""

    def __init__(
        self,
        store: Store,
        log: Log,
        sessions: Sessions,
        histories: Histories,
        storage: Storage,
        quotas: Quotas,
        tasks: Tasks,
        clock: Clock,
        folder: Path,
        bytes_max: int = BYTES_MAX,
    ) -> None:
        self._store = store
        self._log = log
        self._sessions = sessions
        self._histories = histories
        self._storage = storage
        self._quotas = quotas
        self._tasks = tasks
        self._clock = clock
        self._folder = folder
        self._bytes_max = bytes_max
        self._under_way: Counter[str] = Counter()
        self._one = asyncio.Lock()
        """Ids of turns that are free stay so until they are taken."""

    async def read(
        self, who: Principal, chunks: AsyncIterable[bytes], query: ImportQuery
    ) -> Session:
        """The new session. All of the file is good, or nothing happens."""
        who.require("talk")
        self._storage.check()
        under_way = self._under_way
        if under_way.total() >= _AT_ONCE_MAX or under_way[who.user_id] >= _OF_ONE_MAX:
            raise LimitReached("other sessions are being imported; try again later")
        under_way[who.user_id] += 1
        kept: IO[bytes] | None = None
        try:
            kept = await asyncio.to_thread(_nameless, self._folder)
            record, survey, size = await self._check(kept, chunks)
            choice = await self._choice(who, record, query)
        except BaseException:
            self._done(who, kept)
            raise
        title = (query.title or record.title or "").replace("\0", "").strip() or None
        making = self._tasks.spawn(self._made(who, kept, survey, size, choice, title), "import")
        made: Session | Exception = await asyncio.shield(making)  # who asked may go away
        if isinstance(made, Exception):
            raise made
        return made

    def _done(self, who: Principal, kept: IO[bytes] | None) -> None:
        self._under_way -= Counter([who.user_id])
        if kept is not None:
            kept.close()

    async def _check(
        self, kept: IO[bytes], chunks: AsyncIterable[bytes]
    ) -> tuple[Record, Survey, int]:
        """Also how many bytes it will take in the store."""
        reading, survey, weighing = Reading(), Survey(), Weighing()

        def take(lines: list[bytes]) -> None:
            for line in lines:
                event = reading.take(line)
                if event is not None:
                    survey.take(event)
                    weighing.take(event.text)
            kept.writelines(lines)

        async for lines in _lines(chunks, self._bytes_max):
            self._storage.check()  # a file that takes the last room is nobody's
            await asyncio.to_thread(take, lines)
        return reading.close(), survey, weighing.bytes

    async def _made(
        self,
        who: Principal,
        kept: IO[bytes],
        survey: Survey,
        size: int,
        choice: Choice,
        title: str | None,
    ) -> Session | Exception:
        try:
            async with self._one:
                owner = choice.machine.user_id
                await self._quotas.check_stored(owner, size, f"a session of {size:,} bytes")
                made = await self._make(who, kept, survey, choice, title)
                self._quotas.stored.forget(owner)  # the next import finds this one counted
                return made
        except Exception as error:
            return error
        finally:
            self._done(who, kept)

    async def _make(
        self, who: Principal, kept: IO[bytes], survey: Survey, choice: Choice, title: str | None
    ) -> Session:
        now = self._clock()
        names: dict[str, str] = {}
        if not survey.may_keep(now) or await self._taken(list(survey.names)):
            names = survey.renamed(id_at, now)
        rewriting = Rewriting(names, await self._others(who, survey.people), now)
        last_id = 0

        async def write(session_id: str) -> None:
            nonlocal last_id
            last_id = await self._write(session_id, kept, rewriting)

        def record(_: str) -> Json:
            return {"imported_id": last_id}

        new = NewSession(title=title)
        make = self._histories.make
        session = await make(who, choice.machine, new, choice.made_of, write, record)
        _log.info("session imported", session=session.id, machine=choice.machine.id)
        return session

    async def _choice(self, who: Principal, record: Record, query: ImportQuery) -> Choice:
        """Where it goes on, and how. A model that nobody serves there is left out."""
        agent = {name: one for name in _AGENT if (one := record.agent_config.get(name)) is not None}
        for name, careful in _CAREFUL.items():
            if record.agent_config.get(name) in careful:
                agent[name] = record.agent_config[name]
        acp = record.agent_config.get("acp") or record.session_config.get("acp")
        if isinstance(acp, dict) and isinstance(acp.get("preset"), str):
            agent["acp"] = {"preset": acp["preset"]}
        config = {name: one for name, one in record.session_config.items() if name in _SESSION}
        new = NewSession(
            machine_id=query.machine_id,
            runtime_type=record.runtime_type,
            agent_config=agent,
            session_config=config,
        )
        try:
            return await self._sessions.choice.of(who, new)
        except InvalidRequest as error:
            if error.code not in ("MODEL_NOT_FOUND", "MODEL_KEY_MISSING"):
                raise
        return await self._sessions.choice.of(
            who, msgspec.structs.replace(new, agent_config={**agent, "model": None})
        )

    async def _taken(self, names: list[str]) -> bool:
        for start in range(0, len(names), _IDS_AT_ONCE):
            some = among(turns.c.id, names[start : start + _IDS_AT_ONCE])
            if await self._store.first(select(turns.c.id).where(some).limit(1)) is not None:
                return True
        return False

    async def _others(self, who: Principal, people: set[str]) -> dict[str, str]:
        """Those of the people who are others of this system: nobody speaks for them."""
        known = await self._store.scalars(select(users.c.id).where(among(users.c.id, people)))
        return {one: who.user_id for one in known if one != who.user_id}

    async def _write(self, session_id: str, kept: IO[bytes], rewriting: Rewriting) -> int:
        """Returns the id of the last event."""
        writer = _Writer(self._log, _Dated(session_id))
        reading = Reading()
        await asyncio.to_thread(kept.seek, 0)
        while lines := await asyncio.to_thread(kept.readlines, _COMMIT_BYTES):
            for line in lines:
                event = reading.take(line)
                if event is not None:
                    await writer.take(rewriting.take(event))
        await writer.take(rewriting.rest())
        await writer.flush()
        return writer.log.tail_id


class _Writer:
    """Commits a past, moment by moment."""

    def __init__(self, log: Log, session: _Dated) -> None:
        self.log = session
        self._log = log
        self._lines = self._size = 0

    async def take(self, items: Iterable[Item]) -> None:
        for item in items:
            is_later = item.at - self.log.at > _SAME_MOMENT_MS
            if is_later or self._lines >= _LINES_AT_ONCE or self._size > _COMMIT_BYTES:
                await self.flush()
            self.log.at = item.at
            if item.is_note:
                self._log.note(self.log, item.text)
            else:
                self._log.append(self.log, item.text)
            self._lines += 1
            self._size += len(item.text)

    async def flush(self) -> None:
        await self._log.committed(self.log)
        self._lines = self._size = 0


def _nameless(folder: Path) -> IO[bytes]:
    return tempfile.TemporaryFile(dir=folder)


async def _lines(chunks: AsyncIterable[bytes], bytes_max: int) -> AsyncIterator[list[bytes]]:
    """Whole lines, as they come; of a line that is too long no more than that is kept."""
    begun: list[bytes] = []
    size = total = 0
    async for chunk in chunks:
        total += len(chunk)
        if total > bytes_max:
            raise TooLarge(f"a file of a session may have {bytes_max} bytes")
        whole, found, rest = chunk.rpartition(b"\n")
        if found:
            lines = b"".join([*begun, whole]).split(b"\n")
            begun, size = [], 0
            yield [line + b"\n" for line in lines]
        begun.append(rest)
        size += len(rest)
        if size > LINE_BYTES_MAX:
            raise TooLarge(f"a line may have {LINE_BYTES_MAX} bytes")
    if size:
        yield [b"".join(begun)]
