"""A chat at a terminal: what is typed, how it is interrupted, and how it ends.

The prompt stands before the server is asked for anything: what is typed early waits, in order.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from trunkline.cli.chat.completing import Names
from trunkline.cli.chat.entry import CODES, INTERRUPTED, Entry
from trunkline.cli.chat.history import Typed, file_of
from trunkline.cli.chat.screen import Screen
from trunkline.cli.chat.slash_names import COMMANDS, command_of

if TYPE_CHECKING:
    from trunkline.cli.chat.room import Room

_TICKS_PER_S = 5

Open = Callable[["Talk"], Awaitable["Room"]]


class Talk:
    """`open_room` connects and finds or makes the session. `message`: the one thing that is said
    before it ends; without it, whatever is typed, until the person leaves."""

    def __init__(self, open_room: Open, message: Entry | None = None, *, colours: bool) -> None:
        self._open_room = open_room
        self._message = message
        self._entries: asyncio.Queue[Entry | None] = asyncio.Queue()
        """What was typed; at last None, when the person is done."""
        self._leaving: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._cancelled: str | None = None
        """The turn that Ctrl-C was pressed in."""
        self.room: Room | None = None
        self.colours = colours
        self.names = Names()
        history = Typed(file_of(os.environ))
        self.screen = Screen(self, self.names, history, sys.stdout, colours=colours)

    @property
    def is_once(self) -> bool:
        """Whether it ends with the turn of its one message."""
        return self._message is not None

    async def run(self) -> int:
        """The exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            # The terminal is to be left as it was.
            loop.add_signal_handler(number, self.leave, 128 + number)
        drawing = asyncio.create_task(self._draw())
        self.spawn(self._work())
        self.spawn(self._tick())
        try:
            return await self._leaving
        finally:
            for task in self._tasks:
                task.cancel()
            if self.room is not None:
                await self.room.leave(is_over=self.is_once)
            self.screen.exit()
            await drawing

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Something beside the prompt; if it fails, the chat ends with it."""
        self.watch(asyncio.create_task(work))

    def watch(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or self._leaving.done():
            return
        if (error := task.exception()) is not None:
            self._leaving.set_exception(error)

    def leave(self, code: int) -> None:
        if not self._leaving.done():
            self._leaving.set_result(code)

    async def enter(self, room: "Room") -> None:
        """Goes on in that session."""
        before, self.room = self.room, room
        if before is not None:
            await before.close()
        self.watch(room.start())

    async def _draw(self) -> None:
        with contextlib.suppress(EOFError):  # the terminal was closed
            await self.screen.run()
        self.leave(INTERRUPTED)

    async def _work(self) -> None:
        await self.screen.drawn.wait()
        await self.enter(await self._open_room(self))
        if self._message is not None:
            self.spawn(self._once(self._message))
        while (entry := await self._entries.get()) is not None:
            assert self.room is not None
            await self.room.take(entry)
        self.leave(0)

    async def _once(self, message: Entry) -> None:
        assert self.room is not None
        talk = self.room.conversation
        self.leave(CODES[await talk.outcome(await talk.say(message.text, message.files))])

    async def _tick(self) -> None:
        """What runs shows how long it does."""
        while True:
            await asyncio.sleep(1 / _TICKS_PER_S)
            if self.is_busy() or (self.room is not None and self.room.is_sending):
                self.screen.refresh()

    def prompt(self) -> str:
        return "answer> " if self.is_answering() else "> "

    def tail(self) -> str:
        return "" if self.room is None else self.room.tail()

    def choices(self) -> list[str]:
        return [] if self.room is None else self.room.asking.choices()

    def status(self) -> str:
        if self.room is None:
            return "connecting …"
        hint = " · Ctrl-C cancels" if self.is_busy() else ""
        return self.room.facts.line(self.screen.columns - len(hint)) + hint

    def is_busy(self) -> bool:
        return self.room is not None and self.room.conversation.is_busy

    def is_answering(self) -> bool:
        return self.room is not None and self.room.asking.is_answering()

    def entered(self, text: str, *, later: bool = False) -> None:
        if text.strip():
            self._entries.put_nowait(Entry(text, is_later=later))

    def answered(self, text: str) -> None:
        """To the question at the prompt; our own commands are understood there too."""
        command = command_of(text)
        if command is not None and command[0] in COMMANDS:
            self.entered(text)
        elif self.room is not None:
            self.room.asking.entered(text)

    def interrupted(self) -> None:
        """Ctrl-C: the turn that runs, then what is typed, then the chat."""
        running = None if self.room is None else self.room.conversation.running
        if self.room is not None and running is not None:
            if running == self._cancelled:
                self.leave(INTERRUPTED)
            else:
                self._cancelled = running
                self.spawn(self.room.cancel())
        elif self.screen.is_empty:
            self.leave(INTERRUPTED)
        else:
            self.screen.clear()

    def ended(self) -> None:
        """Ctrl-D: what was typed before it is still said."""
        if self.room is None and self._entries.empty():
            self.leave(0)
        else:
            self._entries.put_nowait(None)

    def unfolded(self) -> None:
        if self.room is not None:
            self.room.unfold()
