"""A chat without a terminal: the answer on stdout, everything else on stderr; or each event as a
line of JSON."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import typer

from trunkline.cli import session_work
from trunkline.cli.chat.answers import kind_of, rule_of
from trunkline.cli.chat.conversation import Conversation, approval_name
from trunkline.cli.chat.entry import CODES, INTERRUPTED, Entry
from trunkline.cli.chat.opening import Opened
from trunkline.cli.chat.render.plain import Plain
from trunkline.cli.chat.side import Side
from trunkline.cli.output import plain
from trunkline.client import ClientError, Event
from trunkline.log_form import one_line


class Failures:
    """What keeps a session from starting ends its first turn too, in the same words: once is
    enough."""

    def __init__(self) -> None:
        self._start: Any = None

    def is_again(self, event: Event) -> bool:
        if event.type != "execution_error":
            return False
        said = (event.data.get("error"), event.data.get("code"))
        is_of_start = event.data.get("turn_id") is None
        before, self._start = self._start, said if is_of_start else None
        return bool(before == said)


class Pipe:
    """One thing is said, and followed to its end; or a session is only watched. `is_whole`: all of
    it on stdout, for people who read there."""

    def __init__(self, opened: Opened, *, as_json: bool, is_whole: bool) -> None:
        self._as_json = as_json
        self._is_here = opened.is_here
        self._failures = Failures()
        self._out = Plain("all" if is_whole else "answer")
        self._err = None if is_whole else Plain("rest")
        self._conversation = Conversation(
            opened.client,
            opened.session_id,
            self._show,
            after=opened.position,
            running=opened.running,
        )
        is_somebody_here = sys.stdin.isatty() and sys.stderr.isatty() and not as_json
        self._side = Side(self._conversation, self._say_how) if is_somebody_here else None

    async def say(self, message: Entry) -> int:
        """The exit code."""
        return await self._interruptible(self._say(message))

    async def watch(self) -> int:
        """Until it is interrupted. Nobody is asked anything."""
        self._side = None
        return await self._interruptible(self._conversation.start(), is_cancelling=False)

    async def _say(self, message: Entry) -> int:
        self._conversation.start()
        try:
            turn_id = await self._conversation.say(message.text, message.files, when_busy="queue")
            return CODES[await self._conversation.outcome(turn_id)]
        finally:
            if self._side is not None:
                await self._side.close()
            await self._conversation.close()

    async def _interruptible(
        self, work: "Coroutine[Any, Any, int] | asyncio.Task[None]", *, is_cancelling: bool = True
    ) -> int:
        """Ctrl-C cancels first on the machine, then here."""
        loop = asyncio.get_running_loop()
        turn = asyncio.ensure_future(work)
        cancelling: list[asyncio.Task[None]] = []

        def interrupt() -> None:
            if cancelling or not is_cancelling:
                turn.cancel()
            else:
                cancelling.append(loop.create_task(self._cancel()))

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            return await turn or 0
        except asyncio.CancelledError:
            return INTERRUPTED
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            await asyncio.gather(*cancelling)

    async def _cancel(self) -> None:
        try:
            await self._conversation.cancel()
        except ClientError as error:
            typer.echo(f"could not cancel: {one_line(str(error))} (Ctrl-C leaves)", err=True)

    def _show(self, event: Event) -> None:
        if event.type == "user_message" and self._conversation.is_own(event):
            return
        if not self._as_json and self._failures.is_again(event):
            return
        if self._as_json:
            typer.echo(json.dumps({"id": event.id, **event.data}))
        else:
            _write(sys.stdout, self._out.feed(event))
            if self._err is not None:
                _write(sys.stderr, self._err.feed(event))
        if event.data.get("code") == "WORKSPACE_REFUSED" and self._is_here:
            typer.echo(session_work.REFUSED, err=True)
        if event.type == "approval_request":
            self._asked(event)
        elif event.type == "approval_resolved" and self._side is not None:
            self._side.resolved(event)

    def _asked(self, event: Event) -> None:
        if self._side is None:
            self._say_how(event)
        else:
            self._side.add(event)

    def _say_how(self, event: Event) -> None:
        typer.echo(waits(self._conversation.session_id, event), err=True)


def waits(session_id: str, event: Event) -> str:
    """How to answer a question from elsewhere."""
    name = shlex.quote(one_line(approval_name(event) or ""))
    command = f"trunkline session answer {name} --session {session_id} --yes"
    if kind_of(event.data) != "approve":
        command += ' --answer "…"'
    elif rule := rule_of(event.data):
        command += f" (or --scope always: allow {plain(rule)})"
    return f"waits for an answer: {command}"


def _write(stream: Any, text: str) -> None:
    if text:
        stream.write(text)
        stream.flush()
