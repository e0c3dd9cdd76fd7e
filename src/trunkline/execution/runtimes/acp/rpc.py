"""JSON-RPC with an ACP agent over its input and output, by the protocol's own Python library.

Importing that library takes most of a second: this module is imported when the first agent of a
process is being started, beside it.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import PROTOCOL_VERSION

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.content import obj, text
from trunkline.execution.runtimes.acp.errors import AgentError
from trunkline.execution.runtimes.acp.launched import Launched
from trunkline.execution.runtimes.errors import AgentGone

_log = structlog.get_logger(__name__)

Answer = Callable[[str, Json], Awaitable[Json]]
"""A request of the agent's: method and params. Raises ToolError."""
Tell = Callable[[str, Any], None]
"""A notification of the agent's. Never waits, so that their order stays."""
_NOT_DONE = -32603  # not -32000: agents take that for a login that is missing
_NO_SUCH_METHOD = -32601
VERSION: int = PROTOCOL_VERSION


class Frames:
    """A line each way is a message; bounded, as the library's own is not."""

    def __init__(self, process: Launched, flush: Callable[[], Awaitable[None]]) -> None:
        self._process = process
        self._flush = flush

    async def send(self, message: Json) -> None:
        await self._process.send(msgspec.json.encode(message) + b"\n")

    async def receive(self) -> Json | None:
        """None at the end, or when nothing that follows can be trusted."""
        while True:
            await self._flush()  # an agent that floods us is read no faster than we are
            try:
                line = await self._process.reader.readline()
            except (ValueError, ConnectionError) as error:
                _log.error("an agent's message is beyond all bounds", problem=str(error))
                return None
            if not line:
                return None
            try:
                message = msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError):
                continue  # programs print other things too
            if isinstance(message, dict) and _is_rpc(message):
                return message

    async def close(self) -> None:
        return


class Peer:
    """The agent's end, as its driver sees it."""

    def __init__(
        self,
        process: Launched,
        answer: Answer,
        tell: Tell,
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._answer = answer
        self._tell = tell
        self._connection = Connection(self._handle, Frames(process, flush))

    async def request(self, method: str, params: Json) -> Json:
        """Raises AgentError (its own words), AgentGone."""
        try:
            return obj(await self._connection.send_request(method, params))
        except RequestError as error:
            raise AgentError(error.code, _words(error)) from error
        except (ConnectionError, RuntimeError) as error:
            raise AgentGone from error

    async def notify(self, method: str, params: Json) -> None:
        try:
            await self._connection.send_notification(method, params)
        except (ConnectionError, RuntimeError) as error:
            raise AgentGone from error

    async def close(self) -> None:
        await self._connection.close()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        if is_notification:
            self._tell(method, params)
            return None
        try:
            return await self._answer(method, obj(params))
        except NotImplementedError as error:
            raise RequestError(_NO_SUCH_METHOD, "Method not found", {"method": method}) from error
        except ToolError as error:
            raise RequestError(_NOT_DONE, error.message) from error


def _is_rpc(message: Json) -> bool:
    """What the library can take: it trusts ids and methods to be plain."""
    method, number = message.get("method"), message.get("id")
    if "method" in message and not isinstance(method, str):
        return False
    return number is None or isinstance(number, str | int)


def _words(error: RequestError) -> str:
    said = text(str(error), limits.LOG_VALUE_CHARS_MAX)
    data = error.data
    more = data if isinstance(data, str) else obj(data).get("details", obj(data).get("message"))
    return f"{said}: {text(more, 2_000)}" if isinstance(more, str) and more else said
