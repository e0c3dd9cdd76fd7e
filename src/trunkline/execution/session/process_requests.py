"""What a session's process asks: passed on to the control plane, or answered on this machine."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.line import SessionLine
from trunkline.execution.session import ipc

_log = structlog.get_logger(__name__)

Tell = Callable[[str], None]
Local = Callable[[dict[str, Any], Tell], Awaitable[Any]]
"""Answers a method of this machine; may tell how far it is meanwhile."""

LOCAL_PREFIX = "local."


class ProcessRequests:
    """The questions of one session that are under way."""

    def __init__(
        self,
        session_id: str,
        line: SessionLine,
        local: dict[str, Local],
        reply: Callable[[ipc.Response | ipc.Progress], None],
    ) -> None:
        self._session_id = session_id
        self._line = line
        self._local = local
        self._reply = reply
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, request: ipc.Request) -> None:
        if len(self._tasks) >= limits.SESSION_REQUESTS_MAX:
            why = f"more than {limits.SESSION_REQUESTS_MAX} requests are under way"
            self._fail(request, "TOO_MANY_REQUESTS", why)
            return
        task = asyncio.create_task(self._answer(request), name=f"request {request.method[:50]}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self) -> None:
        """The process that asked is gone."""
        for task in self._tasks:
            task.cancel()

    async def _answer(self, request: ipc.Request) -> None:
        try:
            result = await self._result(request)
        except RequestFailed as error:
            self._fail(request, error.code, error.message)
        except TimeoutError:
            self._fail(request, "TIMEOUT", f"{request.method} was not answered in time")
        except ConnectionError as error:
            self._fail(request, "CONNECTION_LOST", str(error))
        except Exception as error:
            _log.exception("a request failed", session=self._session_id, method=request.method)
            self._fail(request, "INTERNAL_ERROR", f"{type(error).__name__} in the daemon")
        else:
            self._reply(ipc.Response(id=request.id, result=result))

    async def _result(self, request: ipc.Request) -> Any:
        if request.method.startswith(LOCAL_PREFIX):
            answer = self._local.get(request.method)
            if answer is None:
                raise RequestFailed("METHOD_NOT_FOUND", f"this machine has no {request.method}")
            return await answer(
                request.params,
                lambda text: self._reply(ipc.Progress(id=request.id, message=text)),
            )
        return await self._line.request(self._session_id, request.method, **request.params)

    def _fail(self, request: ipc.Request, code: str, message: str) -> None:
        self._reply(ipc.Response(id=request.id, error=ipc.ErrorBody(code=code, message=message)))
