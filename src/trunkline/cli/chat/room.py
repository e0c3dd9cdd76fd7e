"""One session at the terminal: what happens in it is shown, what is typed is said to it."""

import asyncio
import contextlib
import re
from collections.abc import Coroutine
from time import monotonic
from typing import TYPE_CHECKING, Any

from trunkline.cli import session_work
from trunkline.cli.chat import slash
from trunkline.cli.chat.asking import Asking
from trunkline.cli.chat.conversation import Conversation
from trunkline.cli.chat.entry import Entry
from trunkline.cli.chat.facts import Facts
from trunkline.cli.chat.opening import Opened, last_turns
from trunkline.cli.chat.questions import rows_on_screen
from trunkline.cli.chat.render.layout import clip, indented, paint, safe, wrap
from trunkline.cli.chat.render.plain import printable
from trunkline.cli.chat.render.transcript import Transcript
from trunkline.client import ClientError, Event

if TYPE_CHECKING:
    from trunkline.cli.chat.talk import Talk

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ERASE_S = 5.0
_SENDING_S = 1.0  # it is said that something is not sent yet only after this
_NAMES_MAX = 100
_SHOWN_ROWS_MAX = 60  # of what was said before


class Room:
    """A session that was opened, and the terminal that it is shown on."""

    def __init__(self, desk: "Talk", opened: Opened) -> None:
        self.desk = desk
        self.screen = desk.screen
        self.client = opened.client
        self.opened = opened
        self.facts = Facts(opened)
        self.transcript = Transcript(width=lambda: self.screen.columns, colours=desk.colours)
        self.asking = Asking(self)
        self._sending: tuple[str, float] | None = None
        """What is being said, and since when."""
        self.conversation = Conversation(
            opened.client,
            opened.session_id,
            self._show,
            after=opened.position,
            running=opened.running,
            broken=lambda _: self.note("the server does not answer; trying again"),
        )

    def start(self) -> "asyncio.Task[None]":
        if self.desk.is_once and self.opened.is_new:
            self.note(f"session {self.opened.session_id}")
        for line in self.opened.notices:
            self.note(line)
        self._replay()
        self.spawn(self._learn())
        return self.conversation.start()

    async def leave(self, *, is_over: bool) -> None:
        """The person goes; `is_over`: with what was wanted done, and nothing left to say."""
        await self.close()
        if not is_over and not self._is_unused:
            session_id = self.opened.session_id
            self.note(f"trunkline chat --session {session_id} goes on with it; so does -c")

    async def close(self) -> None:
        await self.conversation.close()
        self.screen.write(self.transcript.end())
        if self._is_unused:
            with contextlib.suppress(ClientError):
                await self.client.http.call(
                    "DELETE",
                    *("sessions", self.opened.session_id),
                    query={"erase": True},
                    timeout_s=_ERASE_S,
                )

    @property
    def _is_unused(self) -> bool:
        """Made here, and nothing was said in it: nobody wants to find it in a list."""
        return self.opened.is_new and not self.conversation.has_turns

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.desk.spawn(work)

    def note(self, text: str) -> None:
        """Something of ours, beside the conversation."""
        width = self.screen.columns - 2
        lines = [
            row
            for line in text.split("\n")
            for row in indented(wrap([(safe(line), "dim")], width), ("· ", "dim"))
        ]
        self.screen.write(paint(lines, colours=self.desk.colours))

    async def take(self, entry: Entry) -> None:
        """What was typed: a command, or something to say."""
        said = None
        try:
            said = await slash.taken(self, entry)
            if said is not None:
                when_busy = "queue" if said.is_later else "steer"
                self._sending = (said.text, monotonic())
                await self.conversation.say(said.text, when_busy=when_busy)
        except ClientError as error:
            self.note(f"error: {error}")
            if said is not None:
                self.screen.restore(entry.text)
            else:
                self.screen.refused(entry.text)
        finally:
            self._sending = None

    @property
    def is_sending(self) -> bool:
        return self._sending is not None

    def tail(self) -> str:
        """What is not finished, and what the server has not taken yet."""
        shown = self.transcript.tail()
        if self._sending is None or monotonic() - self._sending[1] < _SENDING_S:
            return shown
        first = safe(self._sending[0].partition("\n")[0])
        after = " · not sent yet"
        head = clip([(f"> {first}", "dim")], self.screen.columns - len(after))
        return shown + paint([[*head, (after, "dim")]], colours=self.desk.colours)

    async def cancel(self) -> None:
        try:
            await self.conversation.cancel()
        except ClientError as error:
            self.note(f"could not cancel: {error} (Ctrl-C leaves)")

    def unfold(self) -> None:
        if shown := self.transcript.unfold():
            self.screen.write(shown)
        else:
            self.note("nothing is folded yet")

    def again(self, opened: Opened) -> "Room":
        """Another session at the same terminal."""
        return Room(self.desk, opened)

    def text(self, text: str) -> None:
        """Something long that was asked for; page by page where it does not fit."""
        self.painted(printable(text))

    def painted(self, text: str) -> None:
        """The same for what has its colours already, and nothing else that acts on a terminal."""
        rows = rows_on_screen(_COLOUR.sub("", text), self.screen.columns)
        if rows >= self.screen.rows:
            self.page(text)
        else:
            self.screen.write(text)

    def page(self, text: str) -> None:
        import pydoc

        self.spawn(self.screen.aside(lambda: pydoc.pager(_COLOUR.sub("", text))))

    def _show(self, event: Event) -> None:
        self.facts.take(event)
        self.desk.names.take(event.data)
        if event.ends_turn:
            self.spawn(self._learn_files())
        if event.type == "approval_request":
            self.asking.add(event)
            return
        self.screen.write(self.transcript.feed(event))
        self.screen.refresh()
        if event.data.get("code") == "WORKSPACE_REFUSED" and self.opened.is_here:
            self.note(session_work.REFUSED)
        if event.type == "approval_resolved":
            self.asking.resolved(event)

    def _replay(self) -> None:
        """The last turns, and the questions that wait."""
        pending = {one.data.get("request_id") for one in self.opened.questions}
        shown = ""
        for event in last_turns(self.opened.events):
            if event.type != "usage":  # of all turns, it is asked for
                self.facts.take(event)
            self.desk.names.take(event.data)
            if event.type != "approval_request" or event.data.get("request_id") not in pending:
                shown += self.transcript.feed(event)
        rows = shown.splitlines(keepends=True)
        if len(rows) > _SHOWN_ROWS_MAX:
            self.note(f"… {len(rows) - _SHOWN_ROWS_MAX} lines before it")
        self.screen.write("".join(rows[-_SHOWN_ROWS_MAX:]))
        for question in self.opened.questions:
            self.asking.add(question)

    async def _learn(self) -> None:
        """What the quiet line and the completion want to know; the chat does without it."""
        self.desk.names.arguments = {}
        with contextlib.suppress(ClientError):
            await self.facts.learn()
            self.screen.refresh()
            self.desk.names.persons = self.facts.persons
            self.desk.names.folder = self.opened.folder
            for kind in ("agents", "machines"):
                found = await self.client.get(kind, limit=_NAMES_MAX)
                names = [one["name"] for one in found["items"] if one.get("name")]
                self.desk.names.arguments[kind[:-1]] = names
            prices = (await self.client.get("models"))["prices"]
            self.desk.names.arguments["model"] = ["demo", "local", *(one["name"] for one in prices)]

    async def _learn_files(self) -> None:
        """Those that the session made or changed; its machine may be away, or keep none."""
        with contextlib.suppress(ClientError):
            found = await self.client.get("sessions", self.opened.session_id, "files")
            self.desk.names.files = [one["path"] for one in found["files"]]
