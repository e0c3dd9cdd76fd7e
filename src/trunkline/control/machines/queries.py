"""What a machine is asked that only it knows, and its answers. An edge brings them; this waits.

Nothing of it is kept: a machine that is away, or that a line breaks from, is not asked again.
"""

import asyncio
from typing import Any, NamedTuple, Protocol

from trunkline.control.errors import (
    Conflict,
    InvalidRequest,
    LimitReached,
    NotFound,
    Timeout,
    Unavailable,
)
from trunkline.control.ids import new_id
from trunkline.control.machines.machine import Line, Machine
from trunkline.control.watchers import Watchers
from trunkline.wire.commands import Query

Json = dict[str, Any]

_PER_MACHINE_MAX = 8  # under way
_ERROR_CHARS_MAX = 500


class Refusal(Protocol):
    """What a machine says instead of a result."""

    code: str
    message: str


class _Asked(NamedTuple):
    machine: Machine
    line: Line
    answer: asyncio.Future[Json]


class Queries:
    """Those of all machines that are under way."""

    def __init__(self, changed: Watchers[Machine], within_s: float) -> None:
        self._within_s = within_s
        self._asked: dict[str, _Asked] = {}
        changed.watch(self._changed)

    async def ask(self, machine: Machine, method: str, params: Json) -> Json:
        """The machine's result, as it came: to be checked like everything from outside."""
        line = machine.line
        if line is None:
            raise Unavailable("the machine is not online", code="MACHINE_OFFLINE")
        if not line.traits.answers:
            raise Unavailable("this machine cannot say that", code="MACHINE_CANNOT_SAY")
        if sum(one.machine is machine for one in self._asked.values()) >= _PER_MACHINE_MAX:
            raise LimitReached("too many questions wait for this machine", code="MACHINE_BUSY")
        query_id = new_id()
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[query_id] = _Asked(machine, line, answer)
        try:
            line.deliver(Query(query_id, method, params))
            async with asyncio.timeout(self._within_s):
                return await answer
        except TimeoutError:
            raise Timeout("the machine did not answer in time") from None
        finally:
            del self._asked[query_id]

    def answered(
        self, machine: Machine, query_id: str, result: Json | None, error: Refusal | None
    ) -> None:
        """Another machine's answer, or one that nobody waits for any more, is none."""
        asked = self._asked.get(query_id)
        if asked is None or asked.machine is not machine or asked.answer.done():
            return
        if error is not None:
            asked.answer.set_exception(_error(error))
        else:
            asked.answer.set_result(result or {})

    def _changed(self, machine: Machine) -> None:
        for asked in self._asked.values():
            is_lost = asked.machine is machine and machine.line is not asked.line
            if is_lost and not asked.answer.done():
                why = Unavailable("the machine's line broke", code="MACHINE_OFFLINE")
                asked.answer.set_exception(why)


def _error(error: Refusal) -> Exception:
    message = error.message[:_ERROR_CHARS_MAX]
    match error.code:
        case "INVALID_REQUEST":
            return InvalidRequest(message)
        case "FOREIGN_SESSION_NOT_FOUND" | "FILE_NOT_FOUND" | "SESSION_NOT_FOUND":
            kind = error.code.removesuffix("_NOT_FOUND").lower().replace("_", " ")
            return NotFound(kind, message)
        case "SESSION_NOT_RUNNING" | "CANNOT_COMPACT":
            return Conflict(message, code=error.code)
        case "NO_WORKTREE" | "APPLY_CONFLICT" | "GIT_FAILED" | "SESSION_BUSY":
            return Conflict(message, code=error.code)
        case "METHOD_NOT_FOUND":
            return Unavailable("this machine cannot say that", code="MACHINE_CANNOT_SAY")
        case _:
            return Unavailable(f"the machine failed to answer: {message}", code="MACHINE_FAULT")
