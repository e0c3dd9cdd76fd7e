"""Those who want to know of something, and are told of each. For what happens seldom."""

from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

_log = structlog.get_logger(__name__)

T = TypeVar("T")


class Watchers(Generic[T]):
    def __init__(self) -> None:
        self._watchers: list[Callable[[T], None]] = []

    def watch(self, watcher: Callable[[T], None]) -> None:
        self._watchers.append(watcher)

    def tell(self, news: T) -> None:
        """One watcher's fault is not the teller's."""
        for watcher in self._watchers:
            try:
                watcher(news)
            except Exception:
                _log.exception("somebody who was told of a change failed")
