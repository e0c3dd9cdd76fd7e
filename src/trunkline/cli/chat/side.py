"""Questions on the side, while the answer goes into a file or a pipe: a person still sits at the
terminal, and is asked there."""

import asyncio
import sys
from collections.abc import Callable

import typer

from trunkline.cli.chat.answers import NotUnderstood, choices, understood
from trunkline.cli.chat.conversation import Conversation, approval_name
from trunkline.client import ClientError, Event
from trunkline.log_form import one_line


class Side:
    """Asks one question after the other; `give_up` is told of one that the person leaves."""

    def __init__(self, conversation: Conversation, give_up: Callable[[Event], None]) -> None:
        self._conversation = conversation
        self._give_up = give_up
        self._waiting: dict[str, Event] = {}
        self._asking: tuple[str, asyncio.Task[None]] | None = None

    def add(self, event: Event) -> None:
        name = approval_name(event)
        if name is not None:
            self._waiting[name] = event
            self._next()

    def resolved(self, event: Event) -> None:
        """Somebody has answered it, maybe elsewhere."""
        name = approval_name(event)
        self._waiting.pop(name or "", None)
        if self._asking is not None and self._asking[0] == name:
            self._asking[1].cancel()

    async def close(self) -> None:
        self._waiting.clear()
        if self._asking is not None:
            self._asking[1].cancel()
            await asyncio.wait([self._asking[1]])

    def _next(self) -> None:
        if self._asking is None and self._waiting:
            name = next(iter(self._waiting))
            task = asyncio.create_task(self._ask(self._waiting[name]))
            self._asking = name, task
            task.add_done_callback(lambda _: self._done(name))

    def _done(self, name: str) -> None:
        self._asking = None
        self._waiting.pop(name, None)
        self._next()

    async def _ask(self, event: Event) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.output import create_output

        prompt: PromptSession[str] = PromptSession(output=create_output(sys.stderr))
        typer.echo("\n".join(choices(event.data)), err=True)
        while True:
            try:
                typed = await prompt.prompt_async("answer> ", handle_sigint=False)
                await self._conversation.answer(event, understood(event.data, typed))
                return
            except NotUnderstood as problem:
                typer.echo(str(problem), err=True)
            except ClientError as error:
                typer.echo(f"not answered: {one_line(str(error))}", err=True)
            except (KeyboardInterrupt, EOFError):
                self._give_up(event)
                return
