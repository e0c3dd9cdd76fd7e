"""Requests that wait for their answer, across broken lines."""

import asyncio
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.ws.messages import error_of
from trunkline.wire.semibot.messages import ErrorBody, Response

_log = structlog.get_logger(__name__)

_TIMEOUTS_S = {
    # The server's own limit decides; ours only ends what nobody will answer any more.
    "mcp_call": limits.MCP_TIMEOUT_S_MAX + limits.MCP_CONNECT_TIMEOUT_S,
    "mcp_tools": limits.MCP_TIMEOUT_S_MAX + limits.MCP_CONNECT_TIMEOUT_S,
}


def timeout_s(method: str) -> float:
    """60 s unless the method has its own."""
    return _TIMEOUTS_S.get(method, limits.REQUEST_TIMEOUT_S)


class PendingRequests:
    """By id: the frame, to send it again, and the future of who waits."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[bytes, asyncio.Future[Any]]] = {}

    @property
    def ids(self) -> list[str]:
        return list(self._waiting)

    @property
    def is_full(self) -> bool:
        """One place is left for a report."""
        return len(self._waiting) >= limits.REQUESTS_IN_FLIGHT_MAX - 1

    def add(self, request_id: str, frame: bytes) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = (frame, future)
        return future

    def remove(self, request_id: str) -> None:
        """Nobody waits any more: it is not asked for after a reconnect either."""
        self._waiting.pop(request_id, None)

    def answered(self, response: Response) -> None:
        self._settle(response.id, response.result, response.error)

    def resumed(self, ids: list[str], results: dict[str, Any]) -> list[bytes]:
        """What became of these while the line was down. Returns what must be sent again."""
        again = []
        for request_id in ids:
            frame, _ = self._waiting.get(request_id, (None, None))
            if frame is None:
                continue
            entry = results.get(request_id)
            if not isinstance(entry, dict):
                entry = {"status": "not_found"}
            match entry.get("status"):
                case "completed":
                    self._settle(request_id, entry.get("data"), None)
                case "failed":
                    self._settle(request_id, None, error_of(entry.get("error")))
                case "not_found" | "lost":
                    again.append(frame)
                case status:  # it may still run; the answer, or its timeout, will come
                    _log.warning("unknown status of a request", status=str(status)[:100])
        return again

    def fail_all(self, why: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            if not future.done():
                future.set_exception(ConnectionError(why))

    def _settle(self, request_id: str, result: Any, error: ErrorBody | None) -> None:
        _, future = self._waiting.pop(request_id, (None, None))
        if future is None or future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(RequestFailed(error.code, error.message))
