"""An event loop in a thread of its own, for callers that have none, or one that is busy.

A notebook's loop runs all the time and cannot be waited in; here whoever calls waits, in any
thread, and what they hand in is called in their own thread.
"""

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Call = Callable[[], None]


class LoopThread:
    """Begins with the first call, and ends with `close` or the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for it here; an interrupt here cancels it there."""
        task = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return task.result()
        except BaseException:
            task.cancel()
            raise

    def run_with_calls(
        self, work: Callable[[Callable[[Call], Coroutine[Any, Any, None]]], Coroutine[Any, Any, T]]
    ) -> T:
        """`run`, where the work can have something called in the thread that waits for it."""
        calls: queue.SimpleQueue[tuple[Call, Future[None]] | None] = queue.SimpleQueue()

        async def here(call: Call) -> None:
            done: Future[None] = Future()
            calls.put((call, done))
            await asyncio.wrap_future(done)

        task = asyncio.run_coroutine_threadsafe(work(here), self._started())
        task.add_done_callback(lambda _: calls.put(None))
        try:
            while (wanted := calls.get()) is not None:
                call, done = wanted
                call()
                done.set_result(None)
            return task.result()
        except BaseException:
            task.cancel()
            raise

    def each(self, items: AsyncIterator[T]) -> Generator[T, None, None]:
        """Item by item, as they are asked for; who leaves early ends it."""
        try:
            while (item := self.run(_next(items))) is not None:
                yield item[0]
        finally:
            # A loop that was closed meanwhile has ended it.
            if isinstance(items, AsyncGenerator) and self._loop is not None:
                self.run(_end(items))

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Ends all that runs, then does this; nothing where it never began."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_finish(loop, last), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                name = "trunkline-client"
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name=name, daemon=True
                )
                self._thread.start()
            return self._loop


async def _next(items: AsyncIterator[T]) -> tuple[T] | None:
    try:
        return (await anext(items),)
    except StopAsyncIteration:
        return None


async def _end(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()


async def _finish(
    loop: asyncio.AbstractEventLoop, last: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    running = asyncio.all_tasks() - {asyncio.current_task()}
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await last()
