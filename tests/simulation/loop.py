"""An event loop in virtual time, in which one part of the program can die and the rest lives on.

What is scheduled belongs to the life (`LIFE`) that was current then; the handles of a dead life
never run. Nothing here waits: time jumps to whatever is next.
"""

import asyncio
import contextlib
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any, TypeVar, cast

T = TypeVar("T")

LIFE: ContextVar[int] = ContextVar("life", default=0)
"""0 is the world, which does not die."""


class Died(SystemExit):
    """The control plane was killed: no `except Exception` and no task holds it up."""


class VirtualLoop(asyncio.AbstractEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        self._count = 0
        self._ready: deque[tuple[int, asyncio.Handle]] = deque()
        self._timers: list[tuple[float, int, int, asyncio.TimerHandle]] = []
        self.dead: set[int] = set()
        self.steps = 0
        self.on_step: Callable[[], None] = lambda: None
        """Called before each step of a life that can die."""
        self.problems: list[str] = []
        self._tasks: list[asyncio.Task[Any]] = []

    # Running

    def step(self) -> bool:
        """Runs what is next; False if there is nothing."""
        while not self._ready:
            if not self._timers:
                return False
            when, _, life, timer = heapq.heappop(self._timers)
            if life not in self.dead and not timer.cancelled():
                self._now = max(self._now, when)
                self._ready.append((life, timer))
        life, handle = self._ready.popleft()
        if life in self.dead or handle.cancelled():
            return True
        self.steps += 1
        try:
            if life:
                self.on_step()
            handle._run()
        except Died:
            pass
        return True

    def run_until(self, when: float) -> None:
        """Everything that is due until then."""
        asyncio._set_running_loop(self)
        try:
            while self._ready or (self._timers and self._timers[0][0] <= when):
                self.step()
            self._now = max(self._now, when)
        finally:
            asyncio._set_running_loop(None)

    def kill(self, life: int) -> None:
        """Nothing of that life runs any more."""
        self.dead.add(life)

    def bury(self) -> None:
        """At the end of a run: what was left in mid-air is closed without a word."""
        for task in self._tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine = task.get_coro()
            if coroutine is not None:
                with contextlib.suppress(BaseException):
                    coroutine.close()

    # What asyncio needs

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append((_life(context), handle))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, _life(context), timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is left out when its time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error, message = context.get("exception"), str(context.get("message"))
        if not isinstance(error, Died):
            self.problems.append(f"{message}: {error!r}")


def _life(context: Context | None) -> int:
    return LIFE.get() if context is None else context.get(LIFE, 0)


def within(life: int, call: Callable[..., Any], *args: Any) -> Any:
    """Calls into another life. If that dies of it, so be it."""
    token = LIFE.set(life)
    try:
        return call(*args)
    except Died:
        return None
    finally:
        LIFE.reset(token)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of something that need not wait."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise AssertionError("it waits")
