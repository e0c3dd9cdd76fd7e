"""More access for one command, as a person has allowed it: checked and carried out by the daemon.

A session cannot loosen its own fence. The daemon sees which command and which access a question
shows, and whether the answer to that question was a yes. What the session then wants run has to be
the same, and is run once, by a program that the daemon starts.
"""

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import structlog
from msgspec import Meta

from trunkline import limits, names
from trunkline.execution.errors import RequestFailed, StartFailed
from trunkline.execution.fence.access import Access
from trunkline.execution.fence.launcher import Order, Report
from trunkline.execution.fence.profile import Profile
from trunkline.execution.json_object import Json
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.process.programs import children, ended

_log = structlog.get_logger(__name__)

METHOD = "local.run_granted"
OPEN_MAX = 1_000  # questions of a session that are remembered; the oldest go first
_ENDING_S = 5.0


class _Question(msgspec.Struct):
    """As much of an event as concerns this."""

    type: str = ""
    request_id: str = ""
    tool_name: str = ""
    tool_input: Json = {}


class _Answer(msgspec.Struct):
    request_id: str = ""
    confirmed: bool = False


class _Wanted(msgspec.Struct):
    request_id: str
    tool_input: Json
    timeout_s: Annotated[float, Meta(gt=0, le=limits.COMMAND_TIMEOUT_S_LIMIT)]


class Wider(msgspec.Struct, frozen=True):
    """Where and how a command of the session runs."""

    profile: Profile
    cwd: str
    secrets: list[str]
    """Values that its environment must not hold."""


class Grants:
    """Of one session."""

    def __init__(
        self, widen: Callable[[Access], Wider], env: Mapping[str, str] = os.environ
    ) -> None:
        """`widen` raises RequestFailed and StartFailed."""
        self._widen = widen
        self._env = env
        self._asked: dict[str, str] = {}
        """By question, the digest of what it shows; empty for one that can grant nothing."""
        self._granted: set[str] = set()
        self._running: set[asyncio.Task[Any]] = set()

    def saw(self, event: str) -> None:
        """An event that goes to people, as they will see it."""
        if "approval_request" not in event:
            return
        with suppress(msgspec.MsgspecError):
            asked = msgspec.json.decode(event, type=_Question)
            if asked.type == "approval_request":
                self._note(asked)

    def _note(self, asked: _Question) -> None:
        """People see the first question of an id, and their answer is for that one. So whatever
        else is asked under it later, also after its answer, is never granted."""
        shown = _digest(asked.tool_input) if asked.tool_name == names.ACCESS_TOOL else ""
        if self._asked.setdefault(asked.request_id, shown) != shown:
            self._asked[asked.request_id] = ""
            self._granted.discard(asked.request_id)
        for oldest in list(self._asked)[:-OPEN_MAX]:
            self._forget(oldest)

    def answered(self, data: Json) -> None:
        """What a person said; it comes from the control plane, never from the session."""
        with suppress(msgspec.ValidationError):
            answer = msgspec.convert(data, _Answer)
            if not answer.confirmed:
                self._void(answer.request_id)
            elif self._asked.get(answer.request_id):
                self._granted.add(answer.request_id)

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def run(self, params: Json, _tell: Any) -> Json:
        """Raises RequestFailed."""
        try:
            wanted = msgspec.convert(params, _Wanted)
            self._take(wanted)
            access = msgspec.convert(wanted.tool_input, Access)
            wider = self._widen(access)
        except msgspec.ValidationError as error:
            raise RequestFailed("INVALID_PARAMS", str(error)) from error
        except StartFailed as error:
            raise RequestFailed(error.code, str(error)) from error
        _log.info("a command runs with more access", access=access.told)
        order = Order(
            parent=os.getpid(),
            profile=wider.profile,
            argv=["bash", "--noprofile", "--norc", "-c", str(wanted.tool_input.get("command"))],
            cwd=wider.cwd,
            timeout_s=wanted.timeout_s,
        )
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            return await _launched(order, scrubbed(self._env, secrets=wider.secrets))
        finally:
            self._running.discard(task)

    def _take(self, wanted: _Wanted) -> None:
        """A grant is used up by whoever comes with it, rightly or not."""
        is_granted = wanted.request_id in self._granted
        is_same = self._asked.get(wanted.request_id) == _digest(wanted.tool_input)
        self._void(wanted.request_id)
        if not (is_granted and is_same):
            _log.warning("more access than was allowed", is_granted=is_granted)
            why = "nobody has allowed this command with this access; ask for it once more"
            raise RequestFailed("NOT_GRANTED", why)

    def _void(self, request_id: str) -> None:
        """Its answer is given, or used up: the id is good for nothing any more."""
        if request_id in self._asked:
            self._asked[request_id] = ""
        self._granted.discard(request_id)

    def _forget(self, request_id: str) -> None:
        self._asked.pop(request_id, None)
        self._granted.discard(request_id)


def _digest(tool_input: Json) -> str:
    return hashlib.sha256(msgspec.json.encode(tool_input, order="deterministic")).hexdigest()


async def _launched(order: Order, env: Mapping[str, str]) -> Json:
    process = await children.start(
        sys.executable,
        # Nothing of the folder that this process was started in is part of the program: it may be
        # one that sessions write.
        *("-P", "-m", "trunkline.execution.fence.launcher"),
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        said, _ = await process.communicate(msgspec.json.encode(order))
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        await ended(process, _ENDING_S)
        raise
    try:
        report = msgspec.json.decode(said, type=Report)
    except msgspec.MsgspecError as error:
        raise RequestFailed("ACCESS_FAILED", "the command's launcher has failed") from error
    if report.finished is None:
        raise RequestFailed("ACCESS_FAILED", report.problem or "the command was not run")
    done: Json = msgspec.to_builtins(report)
    return done
