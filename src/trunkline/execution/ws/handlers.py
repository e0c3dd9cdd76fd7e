"""Who gets which message: handlers by session, called at once and in order.

A handler does not wait: a session has a queue of its own, and what takes long goes on in a task.
What comes before a session has handlers is kept for them.
"""

from asyncio import Future
from collections.abc import Mapping

import structlog

from trunkline.execution.line import MACHINE, Handler
from trunkline.execution.ws.messages import ForSession

_log = structlog.get_logger(__name__)

EARLY_MESSAGES_MAX = 20  # of a session that nobody handles yet
EARLY_SESSIONS_MAX = 100
EARLY_MACHINE_MESSAGES_MAX = 1_000  # starts and stops before the daemon takes them

_OF_MACHINE = frozenset(("start_session", "stop_session"))


class Handlers(dict[str, Mapping[str, Handler]]):
    """By session id, and under MACHINE: type → handler. What came too early for an entry is handled
    when it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._early: dict[str, list[ForSession]] = {}

    def __setitem__(self, key: str, handlers: Mapping[str, Handler]) -> None:
        super().__setitem__(key, handlers)
        for message in self._early.pop(key, ()):
            self.dispatch(message)

    def forget(self, session_id: str) -> None:
        self.pop(session_id, None)
        self._early.pop(session_id, None)

    def dispatch(self, message: ForSession) -> Future[None] | None:
        """Hands a message to its handler. Returns what the handler left to be done, if anything."""
        is_machines = message.kind in _OF_MACHINE or message.session_id is None
        key = MACHINE if is_machines else message.session_id or MACHINE
        handlers = self.get(key)
        if handlers is None:
            self._keep(key, message)
            return None
        handler = handlers.get(message.kind)
        if handler is None:
            _log.warning("nobody handles this message", type=message.kind, session=key)
            return None
        try:
            return handler(message.data)
        except Exception:
            _log.exception("a message was not handled", session=key, type=message.kind)
            return None

    def turns(self) -> set[str]:
        """Turns of messages that have come and were not handled yet."""
        early = (message for messages in self._early.values() for message in messages)
        turns = (message.data.get("turn_id") for message in early)
        return {turn for turn in turns if isinstance(turn, str)}

    def _keep(self, key: str, message: ForSession) -> None:
        early = self._early.get(key, [])
        most = EARLY_MACHINE_MESSAGES_MAX if key == MACHINE else EARLY_MESSAGES_MAX
        is_one_more = key not in self._early and len(self._early) >= EARLY_SESSIONS_MAX
        if len(early) >= most or is_one_more:
            _log.warning("too early, and too many", type=message.kind, session=key[:100])
            return
        self._early[key] = [*early, message]
