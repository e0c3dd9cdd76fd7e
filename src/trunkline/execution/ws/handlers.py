"""Who gets which message: handlers by session, called in order, never in the reader's way.

A session's messages run one after the other; sessions do not wait for each other. What comes
before a session has handlers waits for them.
"""

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

import structlog

from trunkline import limits
from trunkline.execution.ws.downlink import ForSession
from trunkline.wire.semibot.messages import Json

_log = structlog.get_logger(__name__)

Handler = Callable[[Json], Awaitable[None] | None]

MACHINE = "__vm__"
"""The key of the handlers that are not one session's (document 004 §3.1)."""
_OF_MACHINE = frozenset(("start_session", "stop_session"))


class Handlers(dict[str, Mapping[str, Handler]]):
    """By session id, and under MACHINE: type → handler. What waited for an entry is handled when
    it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._early: dict[str, list[ForSession]] = {}
        self._lanes: dict[str, deque[tuple[Handler, ForSession]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __setitem__(self, key: str, handlers: Mapping[str, Handler]) -> None:
        super().__setitem__(key, handlers)
        for message in self._early.pop(key, ()):
            self.dispatch(message)

    def forget(self, session_id: str) -> None:
        self.pop(session_id, None)
        self._early.pop(session_id, None)

    def dispatch(self, message: ForSession) -> None:
        """Hands a message to its handler, now or in its turn."""
        is_machines = message.kind in _OF_MACHINE or message.session_id is None
        key = MACHINE if is_machines else message.session_id or MACHINE
        handlers = self.get(key)
        if handlers is None:
            self._keep(key, message)
            return
        handler = handlers.get(message.kind)
        if handler is None:
            _log.warning("nobody handles this message", type=message.kind, session=key)
            return
        # A session's start, its messages and its stop are one lane, whoever handles them.
        self._add(message.session_id or MACHINE, handler, message)

    def turns(self) -> set[str]:
        """Turns of messages that have come and were not handled yet."""
        waiting = [message for lane in self._lanes.values() for _, message in lane]
        waiting += [message for early in self._early.values() for message in early]
        turns = (message.data.get("turn_id") for message in waiting)
        return {turn for turn in turns if isinstance(turn, str)}

    async def close(self) -> None:
        """Ends what is being handled; what waits is not handled any more."""
        self._lanes.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, key: str, message: ForSession) -> None:
        early = self._early.get(key, [])
        most = limits.LANE_MESSAGES_MAX if key == MACHINE else limits.EARLY_MESSAGES_MAX
        is_one_more = key not in self._early and len(self._early) >= limits.EARLY_SESSIONS_MAX
        if len(early) >= most or is_one_more:
            _log.warning("too early, and too many", type=message.kind, session=key[:100])
            return
        self._early[key] = [*early, message]

    def _add(self, lane_id: str, handler: Handler, message: ForSession) -> None:
        lane = self._lanes.get(lane_id)
        if lane is None:
            lane = self._lanes[lane_id] = deque()
            task = asyncio.get_running_loop().create_task(self._run(lane_id, lane))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if len(lane) >= limits.LANE_MESSAGES_MAX:
            _log.error("a session does not take its messages", session=lane_id, type=message.kind)
            return
        lane.append((handler, message))

    async def _run(self, lane_id: str, lane: "deque[tuple[Handler, ForSession]]") -> None:
        while lane:
            handler, message = lane[0]
            try:
                result = handler(message.data)
                if inspect.isawaitable(result):
                    await result
            except Exception:
                _log.exception("a message was not handled", session=lane_id, type=message.kind)
            if lane:
                lane.popleft()
        if self._lanes.get(lane_id) is lane:
            del self._lanes[lane_id]
