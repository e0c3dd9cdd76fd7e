"""The index of memories' vectors: `sqlite-vec` in SQLite, `pgvector` in PostgreSQL.

A table of its own for each model, made by the running server, as it needs an extension. It can be
lost and made again: `memories.embedded_by` says which memories are in it. An owner is a user of an
org, or the org itself; only the owners that are asked for are looked through.
"""

import sys
from array import array
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sqlalchemy import TextClause, bindparam, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import extras
from trunkline.control.services.embeddings import Model, NoEmbeddings, Vector
from trunkline.control.services.memory_search import CANDIDATES, Scores
from trunkline.control.store import sqlite_vec
from trunkline.control.store.engine import Store, reason

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_PREFIX = "memory_vectors_"
_HNSW_DIMENSION_MAX = 4_000  # pgvector's, for halfvec
_HNSW_SEARCHED = 200
_SIGNS = 1_024  # bits of a vector in the coarse search
# So many of an owner's are found coarsely before whole vectors are compared: it takes time that
# grows with their product.
_COARSE, _COARSE_OF_MANY = 1_000, 64
_FEW_PIECES = 8  # of 1,024 vectors each


class Place(NamedTuple):
    """One memory in the index."""

    memory_id: str
    row: int
    owner: str


Placed = tuple[Place, Vector]


def owner_of(org_id: str, user_id: str | None) -> str:
    return f"{org_id}/{user_id or ''}"


def owners_of(org_id: str, user_id: str | None) -> list[str]:
    """Whose memories a user finds: the org's, and their own."""
    return list({owner_of(org_id, None), owner_of(org_id, user_id)})


class Vectors(Protocol):
    """Every method runs in its caller's transaction."""

    async def put(self, connection: AsyncConnection, found: Sequence[Placed]) -> None: ...

    async def sweep(self, connection: AsyncConnection) -> None:
        """Takes out what belongs to memories that are gone."""
        ...

    async def grown(self, connection: AsyncConnection) -> None:
        """Much was put in."""
        ...

    async def nearest(
        self, connection: AsyncConnection, owners: Sequence[str], vector: Vector
    ) -> Scores:
        """The most similar, by cosine."""
        ...

    async def similarity(
        self, connection: AsyncConnection, ids: Sequence[str], vector: Vector
    ) -> Scores:
        """Of these memories; those that have no vector are left out."""
        ...


async def open_vectors(store: Store, model: Model) -> Vectors:
    """The index for that model, made if it is not there; those of other models are removed.
    Raises NoEmbeddings when the database cannot have one."""
    return await (_SqliteVectors if store.is_sqlite else _PgVectors).open(store, model)


class _Table:
    def __init__(self, table: str) -> None:
        self._table = table

    def _on(self, statement: str) -> TextClause:
        """The name has letters and digits only: it is made of a digest."""
        return text(statement.replace("TABLE", self._table, 1))


class _SqliteVectors(_Table):
    """Coarsely by on which sides of random planes vectors lie, then by the vectors themselves:
    sqlite-vec compares all of them, and bits are many times faster."""

    @classmethod
    async def open(cls, store: Store, model: Model) -> "_SqliteVectors":
        if why := sqlite_vec.problem():
            raise NoEmbeddings(f"{why}: {extras.fix('embeddings')}")
        table = _PREFIX + model.fingerprint
        listed = text(
            "SELECT name FROM sqlite_master WHERE name GLOB 'memory_vectors_*'"
            " AND sql LIKE 'CREATE VIRTUAL TABLE%'"
        )
        async with store.write() as connection:
            there = list((await connection.execute(listed)).scalars())
            for other in there:
                if other != table:
                    await connection.execute(text(f"DROP TABLE {other}"))
            if table not in there:
                await connection.execute(
                    text(
                        f"CREATE VIRTUAL TABLE {table} USING vec0"
                        f"(owner TEXT PARTITION KEY, signs BIT[{_SIGNS}], +vector BLOB)"
                    )
                )
                await connection.execute(_forget(model))
                await connection.execute(text("DELETE FROM memories_fts_gone"))
        return cls(table)

    async def put(self, connection: AsyncConnection, found: Sequence[Placed]) -> None:
        values = [
            {"row": place.row, "owner": place.owner, "vector": vector, "signs": signs}
            for (place, vector), signs in zip(found, _signs([one for _, one in found]), strict=True)
        ]
        gone = self._on("DELETE FROM TABLE WHERE rowid = :row")
        await connection.execute(gone, [{"row": place.row} for place, _ in found])
        await connection.execute(
            self._on(
                "INSERT INTO TABLE (rowid, owner, signs, vector)"
                " VALUES (:row, :owner, vec_bit(:signs), :vector)"
            ),
            values,
        )

    async def sweep(self, connection: AsyncConnection) -> None:
        await connection.execute(
            self._on("DELETE FROM TABLE WHERE rowid IN (SELECT fts_rowid FROM memories_fts_gone)")
        )
        await connection.execute(text("DELETE FROM memories_fts_gone"))

    async def grown(self, connection: AsyncConnection) -> None:
        pass

    async def nearest(
        self, connection: AsyncConnection, owners: Sequence[str], vector: Vector
    ) -> Scores:
        found: Scores = {}
        query = self._on(
            "SELECT m.id, near.similarity FROM (SELECT rowid AS row,"
            " 1 - vec_distance_cosine(vector, :vector) AS similarity"
            " FROM TABLE WHERE owner = :owner"
            " AND signs MATCH vec_bit(:signs) AND k = :coarse) AS near"
            " JOIN memories AS m ON m.fts_rowid = near.row"
            " ORDER BY near.similarity DESC LIMIT :count"
        )
        # sqlite-vec's own table of an owner's pieces: counting the owner's rows would take longer
        # than to find the nearest.
        size = self._on("SELECT count(*) FROM TABLE_chunks WHERE partition00 = :owner")
        (signs,) = _signs([vector])
        for owner in owners:
            pieces = await connection.scalar(size, {"owner": owner}) or 0
            values = {
                "vector": vector,
                "signs": signs,
                "owner": owner,
                "coarse": _COARSE if pieces <= _FEW_PIECES else _COARSE_OF_MANY,
                "count": CANDIDATES,
            }
            found |= {row.id: row.similarity for row in await connection.execute(query, values)}
        return found

    async def similarity(
        self, connection: AsyncConnection, ids: Sequence[str], vector: Vector
    ) -> Scores:
        query = self._on(
            "SELECT m.id, 1 - vec_distance_cosine(v.vector, :vector) AS similarity"
            " FROM memories AS m JOIN TABLE AS v ON v.rowid = m.fts_rowid"
            " WHERE m.id IN :ids"
        ).bindparams(bindparam("ids", expanding=True))
        rows = await connection.execute(query, {"vector": vector, "ids": list(ids)})
        return {row.id: row.similarity for row in rows}


class _PgVectors(_Table):
    """Half precision, with an HNSW index; the owner's own rows where the planner finds those
    fewer."""

    @classmethod
    async def open(cls, store: Store, model: Model) -> "_PgVectors":
        table = _PREFIX + model.fingerprint
        listed = text(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
            " AND starts_with(tablename, 'memory_vectors_')"
        )
        try:
            async with store.write() as connection:
                await connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
                there = list((await connection.execute(listed)).scalars())
                for other in there:
                    if other != table:
                        await connection.execute(text(f"DROP TABLE {other}"))
                if table not in there:
                    await cls._make(connection, table, model.dimension)
                    await connection.execute(_forget(model))
        except SQLAlchemyError as error:
            raise NoEmbeddings(f"PostgreSQL has no pgvector for us: {reason(error)}") from error
        return cls(table)

    @staticmethod
    async def _make(connection: AsyncConnection, table: str, dimension: int) -> None:
        await connection.execute(
            text(
                f"CREATE TABLE {table} (memory_id VARCHAR(36) PRIMARY KEY"
                " REFERENCES memories (id) ON DELETE CASCADE, owner VARCHAR(80) NOT NULL,"
                f" vector HALFVEC({dimension}) NOT NULL)"
            )
        )
        await connection.execute(text(f"CREATE INDEX ON {table} (owner)"))
        if dimension <= _HNSW_DIMENSION_MAX:
            await connection.execute(
                text(f"CREATE INDEX ON {table} USING hnsw (vector halfvec_cosine_ops)")
            )

    async def put(self, connection: AsyncConnection, found: Sequence[Placed]) -> None:
        await connection.execute(
            self._on(
                "INSERT INTO TABLE (memory_id, owner, vector)"
                " VALUES (:id, :owner, CAST(CAST(:vector AS TEXT) AS HALFVEC))"
                " ON CONFLICT (memory_id) DO UPDATE SET vector = excluded.vector"
            ),
            [
                {"id": place.memory_id, "owner": place.owner, "vector": _written(vector)}
                for place, vector in found
            ],
        )

    async def sweep(self, connection: AsyncConnection) -> None:
        pass  # rows go with their memories

    async def grown(self, connection: AsyncConnection) -> None:
        # The planner has to know whether an owner has few or nearly all.
        await connection.execute(self._on("ANALYZE TABLE"))

    async def nearest(
        self, connection: AsyncConnection, owners: Sequence[str], vector: Vector
    ) -> Scores:
        await connection.execute(
            text(
                "SELECT set_config('hnsw.iterative_scan', 'strict_order', true),"
                f" set_config('hnsw.ef_search', '{_HNSW_SEARCHED}', true)"
            )
        )
        query = self._on(
            "SELECT memory_id AS id,"
            " vector <=> CAST(CAST(:vector AS TEXT) AS HALFVEC) AS distance"
            " FROM TABLE WHERE owner IN :owners ORDER BY distance LIMIT :count"
        ).bindparams(bindparam("owners", expanding=True))
        rows = await connection.execute(
            query, {"vector": _written(vector), "owners": list(owners), "count": CANDIDATES}
        )
        return {row.id: 1 - row.distance for row in rows}

    async def similarity(
        self, connection: AsyncConnection, ids: Sequence[str], vector: Vector
    ) -> Scores:
        query = self._on(
            "SELECT memory_id AS id,"
            " vector <=> CAST(CAST(:vector AS TEXT) AS HALFVEC) AS distance"
            " FROM TABLE WHERE memory_id IN :ids"
        ).bindparams(bindparam("ids", expanding=True))
        rows = await connection.execute(query, {"vector": _written(vector), "ids": list(ids)})
        return {row.id: 1 - row.distance for row in rows}


def _forget(model: Model) -> TextClause:
    """A new index holds nothing, whatever an earlier one of the same name did."""
    return text("UPDATE memories SET embedded_by = NULL WHERE embedded_by = :by").bindparams(
        by=model.fingerprint
    )


def _signs(vectors: Sequence[Vector]) -> list[bytes]:
    """A bit for each plane."""
    import numpy

    matrix = numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    sides = matrix @ _planes(matrix.shape[1]) > 0
    return [one.tobytes() for one in numpy.packbits(sides, axis=1, bitorder="little")]


@cache
def _planes(dimension: int) -> "NDArray[float32]":
    """The same ones for ever: what RandomState gives is promised not to change."""
    import numpy

    return numpy.random.RandomState(7).standard_normal((dimension, _SIGNS)).astype("<f4")


def _written(vector: Vector) -> str:
    """As pgvector reads it."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return "[" + ",".join(map(repr, numbers)) + "]"
