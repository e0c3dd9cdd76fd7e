"""Which memories have vectors, and that all get one: those of earlier versions, those that were
written while a server of embeddings was away, and all of them when another model is set.

`keep` runs in the background, a batch at a time; each batch is a transaction, so that a restart
goes on where the last one ended. Without vectors a search goes by words alone, and `state` says
why.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import structlog
from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.clock import Seconds
from trunkline.control.services.embeddings import (
    Embeddings,
    Model,
    NoEmbeddings,
    Vector,
    is_nothing,
)
from trunkline.control.services.memory_vectors import Place, Vectors, open_vectors, owner_of
from trunkline.control.store.among import among
from trunkline.control.store.engine import AnyRow, Store
from trunkline.control.store.service_schema import memories

_log = structlog.get_logger(__name__)

_AWAY_S = 10.0  # after a failure, in which nobody waits for another
_RETRY_S = (5.0, 15.0, 60.0, 300.0)
_PAUSE_S = 0.02  # between two batches: others want the database too
_TOLD_EVERY_S = 10.0
_HARMLESS = "text"  # that every server takes


class Meaning(NamedTuple):
    """What a text means, and where that can be looked for."""

    vectors: Vectors
    vector: Vector
    by: str


class MemoryIndexState(msgspec.Struct, frozen=True):
    """How memories are searched. `model` is null, and `problem` says why, when that goes by words
    alone. `pending`: memories that have no vector of this model yet."""

    model: str | None
    dimension: int | None
    pending: int
    problem: str | None


class MemoryIndex:
    def __init__(self, store: Store, embeddings: Embeddings, now: Seconds = time.monotonic) -> None:
        self._store = store
        self._embeddings = embeddings
        self._now = now
        self._opened: tuple[Model, Vectors] | None = None
        self._opening = asyncio.Lock()
        self._problem: str | None = None
        self._away_until = 0.0
        self._waiting = asyncio.Event()

    async def state(self) -> MemoryIndexState:
        model = self._opened[0] if self._opened and not self._problem else None
        pending = 0
        if self._opened:
            pending = await self._store.scalar(
                select(func.count()).where(_is_pending(self._opened[0]))
            )
        return MemoryIndexState(
            model=model.name if model else None,
            dimension=model.dimension if model else None,
            pending=pending,
            problem=self._problem,
        )

    async def meaning(self, text: str, *, is_query: bool = False) -> Meaning | None:
        """None where there are no vectors now: whoever asks goes on without."""
        if self._now() < self._away_until:
            return None
        try:
            model, vectors = await self._open()
            (vector,) = await self._embeddings.encode([text], is_query=is_query)
        except NoEmbeddings as error:
            if not error.is_refused:  # else it is this text's fault, and nobody else's
                self._failed(error)
            return None
        self._worked()
        return Meaning(vectors, vector, model.fingerprint)

    async def note(self, connection: AsyncConnection, place: Place, meaning: Meaning) -> None:
        """Indexes a memory in the transaction that writes it."""
        if not is_nothing(meaning.vector):
            await meaning.vectors.put(connection, [(place, meaning.vector)])

    def wake(self) -> None:
        """Something was left to do."""
        self._waiting.set()

    async def keep(self) -> None:
        """For ever: catches up, and waits until there is more to do."""
        failures = 0
        while True:
            self._waiting.clear()
            wait_s: float | None = None
            try:
                await self.catch_up()
                failures = 0
            except NoEmbeddings as error:
                self._failed(error)
                wait_s = _RETRY_S[min(failures, len(_RETRY_S) - 1)]
                failures += 1
            except Exception:
                _log.exception("memories could not be embedded")
                wait_s = _RETRY_S[-1]
            try:
                async with asyncio.timeout(wait_s):
                    # What failed is not tried again because more came.
                    await (self._waiting.wait() if wait_s is None else asyncio.Event().wait())
            except TimeoutError:
                continue

    async def catch_up(self) -> None:
        """Gives every memory that has none a vector of the present model."""
        model, vectors = await self._open()
        async with self._store.write() as connection:
            await vectors.sweep(connection)
        pending = await self._store.scalar(select(func.count()).where(_is_pending(model)))
        if not pending:
            return
        _log.info("memories are being embedded", model=model.name, pending=pending)
        began = told = self._now()
        done, after = 0, ""
        while rows := await self._next(model, after):
            await self._index(model, vectors, rows)
            done, after = done + len(rows), rows[-1].id
            if self._now() - told > _TOLD_EVERY_S:
                told = self._now()
                _log.info("memories are being embedded", model=model.name, done=done, of=pending)
            await asyncio.sleep(_PAUSE_S)
        async with self._store.write() as connection:
            await vectors.grown(connection)
        took_s = round(self._now() - began, 1)
        _log.info("memories are embedded", model=model.name, count=done, seconds=took_s)
        self._worked()

    async def _next(self, model: Model, after: str) -> Sequence[AnyRow]:
        columns = ("id", "fts_rowid", "org_id", "user_id", "content")
        return await self._store.all(
            select(*(memories.c[name] for name in columns))
            .where(_is_pending(model), memories.c.id > after)
            .order_by(memories.c.id)
            .limit(self._embeddings.batch_max)
        )

    async def _index(self, model: Model, vectors: Vectors, rows: Sequence[AnyRow]) -> None:
        found = await self._encode([row.content for row in rows])
        placed = [
            (Place(row.id, row.fts_rowid, owner_of(row.org_id, row.user_id)), vector)
            for row, vector in zip(rows, found, strict=True)
            if vector is not None and not is_nothing(vector)
        ]
        # By their rows in the index: one that was changed meanwhile has another.
        these = among(memories.c.fts_rowid, [row.fts_rowid for row in rows])
        async with self._store.write() as connection:
            done = update(memories).where(these).values(embedded_by=model.fingerprint)
            await connection.execute(done)
            left = set(await connection.scalars(select(memories.c.fts_rowid).where(these)))
            if still := [one for one in placed if one[0].row in left]:
                await vectors.put(connection, still)

    async def _encode(self, texts: list[str]) -> Sequence[Vector | None]:
        """A text that the server refuses must not stop all others: it goes without a vector."""
        try:
            return await self._embeddings.encode(texts)
        except NoEmbeddings as error:
            if not error.is_refused:
                raise
        found: list[Vector | None] = []
        for text in texts:
            try:
                found += await self._embeddings.encode([text])
            except NoEmbeddings as error:
                if not error.is_refused:
                    raise
                await self._check()
                _log.warning("a memory has no vector", reason=str(error))
                found.append(None)
        return found

    async def _check(self) -> None:
        """Raises NoEmbeddings where it is not the text that the server refuses."""
        try:
            await self._embeddings.encode([_HARMLESS])
        except NoEmbeddings as error:
            raise NoEmbeddings(f"the server of embeddings refuses every text: {error}") from error

    async def _open(self) -> tuple[Model, Vectors]:
        async with self._opening:
            if self._opened is None:
                model = await self._embeddings.model()
                self._opened = model, await open_vectors(self._store, model)
            return self._opened

    def _failed(self, error: NoEmbeddings) -> None:
        self._away_until = self._now() + _AWAY_S
        if self._problem is None:
            _log.warning("memory search is full text only", reason=str(error))
        self._problem = str(error)

    def _worked(self) -> None:
        if self._problem is not None:
            _log.info("memory search knows meanings again")
        self._problem = None


def _is_pending(model: Model) -> ColumnElement[bool]:
    return or_(memories.c.embedded_by.is_(None), memories.c.embedded_by != model.fingerprint)
