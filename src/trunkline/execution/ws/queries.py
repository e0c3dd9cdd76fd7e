"""What the control plane asks that only this machine knows: each answered once, on the same line.

An answer is of use now or not at all, so nothing of it is kept. What is known, and how it is found
out, is the daemon's (`answer`); it may take its time beside the line.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.json_object import Json
from trunkline.execution.ws import messages
from trunkline.wire.semibot.messages import Query

_log = structlog.get_logger(__name__)

QUERIES_MAX = 8  # under way

Answer = Callable[[str, Json], Awaitable[Json]]
"""By the method and its parameters. Raises RequestFailed."""


class Queries:
    """`send` puts a frame on the line that is up, if one is."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, query: Query, answer: Answer) -> None:
        if len(self._tasks) >= QUERIES_MAX:
            self._refuse(query, "BUSY", "too many questions are under way")
            return
        task = asyncio.create_task(self._answer(query, answer), name="query")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, query: Query, answer: Answer) -> None:
        try:
            result = await answer(query.data.method, query.data.params)
        except RequestFailed as error:
            self._refuse(query, error.code, error.message)
            return
        except Exception as error:
            _log.exception("a question could not be answered", method=query.data.method[:100])
            self._refuse(query, "FAULT", f"a fault on this machine: {type(error).__name__}")
            return
        frame = messages.query_result(query.id, result=result)
        if len(frame) > limits.FRAME_BYTES_MAX:
            self._refuse(query, "RESULT_TOO_LARGE", "the answer does not fit a frame")
        else:
            self._send(frame)

    def _refuse(self, query: Query, code: str, why: str) -> None:
        self._send(messages.query_result(query.id, error={"code": code, "message": why}))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
