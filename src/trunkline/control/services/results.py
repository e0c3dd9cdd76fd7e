"""Results of a machine's requests, kept per user until the machine that lost its line asks again.

They outlive the connection and the control plane's process (document 000 §4.5, §5.8).
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import delete, insert, select

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import results

# Leaves room for the envelope of `resume_response` in one frame.
_ANSWER_BYTES_MAX = limits.FRAME_BYTES_MAX - 64 * 1024
_ID_CHARS_MAX = 200


class Results:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def completed(self, user_id: str, request_id: str, data: Any) -> None:
        await self._keep(user_id, request_id, {"status": "completed", "data": data})

    async def failed(self, user_id: str, request_id: str, error: dict[str, Any]) -> None:
        """`error` is the `{code, message}` that the response would have carried."""
        await self._keep(user_id, request_id, {"status": "failed", "error": error})

    async def _keep(self, user_id: str, request_id: str, entry: dict[str, Any]) -> None:
        if not _is_request_id(request_id):
            return  # nothing that `fetch` would ever look for
        body = msgspec.json.encode(entry)
        if len(body) > limits.RESUME_RESULT_BYTES_MAX:
            body = msgspec.json.encode(_too_large())
        row = {
            "user_id": user_id,
            "request_id": request_id,
            "body": body,
            "finished_at": self._clock(),
        }
        same = (results.c.user_id == user_id, results.c.request_id == request_id)
        async with self._store.write() as connection:
            await connection.execute(delete(results).where(*same))
            await connection.execute(insert(results).values(row))

    async def fetch(self, user_id: str, request_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The `results` of `resume_response`: an entry for every id that was asked for."""
        ids = list(dict.fromkeys(request_ids))[: limits.RESUME_IDS_MAX]
        query = (
            select(results.c.request_id, results.c.body)
            .where(
                results.c.user_id == user_id,
                results.c.request_id.in_([i for i in ids if _is_request_id(i)]),
                results.c.finished_at > self._oldest(),
            )
            .order_by(results.c.finished_at)
        )
        answer: dict[str, dict[str, Any]] = {i: {"status": "not_found"} for i in ids}
        room = _ANSWER_BYTES_MAX
        async with self._store.read() as connection:
            async for request_id, body in await connection.stream(query):
                room -= len(body)
                answer[request_id] = msgspec.json.decode(body) if room > 0 else _too_large()
        return answer

    async def purge(self) -> int:
        """Forgets what nobody asked for in time; returns how many."""
        async with self._store.write() as connection:
            gone = await connection.execute(
                delete(results).where(results.c.finished_at <= self._oldest())
            )
        return gone.rowcount

    def _oldest(self) -> int:
        return self._clock() - int(limits.RESUME_WINDOW_S * 1000)


def _is_request_id(text: str) -> bool:
    return 0 < len(text) <= _ID_CHARS_MAX and "\x00" not in text and text.isprintable()


def _too_large() -> dict[str, Any]:
    error = {"code": "RESULT_TOO_LARGE", "message": "the result does not fit into a frame"}
    return {"status": "failed", "error": error}
