"""The terminal while a chat runs: a prompt that is always there, and what goes by above it.

Finished text goes into the terminal's own scrollback; below it stand the part of an answer that
still grows, what waits, the prompt and one quiet line, drawn anew whenever something changes.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import Protocol, TextIO

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, get_common_complete_suffix
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_completions, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import AppendAutoSuggestion
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

_INPUT_ROWS_MAX = 10
_MENU_ROWS_MAX = 8
_ROWS_LEFT = 7  # of the screen, for the prompt and what is around it
_REDRAWS_PER_S = 30
_STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "status": "ansibrightblack",
        "choice": "ansiyellow",
        "auto-suggestion": "ansibrightblack",
    }
)


class Desk(Protocol):
    """Who sits behind the screen: what it shows, and what its keys mean."""

    def prompt(self) -> str: ...
    def tail(self) -> str: ...
    def choices(self) -> list[str]: ...
    def status(self) -> str: ...
    def is_busy(self) -> bool: ...
    def is_answering(self) -> bool: ...
    def entered(self, text: str, *, later: bool = False) -> None: ...
    def answered(self, text: str) -> None: ...
    def interrupted(self) -> None: ...
    def ended(self) -> None: ...
    def unfolded(self) -> None: ...


class _Output(Vt100_Output):
    """What is printed above the prompt and the prompt below it reach the terminal in one piece."""

    is_held = False
    is_over = False

    def flush(self) -> None:
        if not self.is_held:
            super().flush()

    def disable_bracketed_paste(self) -> None:
        # The renderer does it each time before something is printed: a paste in that very moment
        # would arrive as lines.
        if self.is_over:
            super().disable_bracketed_paste()


class _Suggest(AutoSuggest):
    """What was typed before, but not what was refused."""

    def __init__(self) -> None:
        self.refused: set[str] = set()

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        typed = document.text.rpartition("\n")[2]
        for entry in reversed(buffer.history.get_strings() if typed.strip() else ()):
            if entry not in self.refused:
                for line in reversed(entry.splitlines()):
                    if line.startswith(typed):
                        return Suggestion(line[len(typed) :])
        return None


class Screen:
    """One prompt, for the whole chat."""

    def __init__(
        self, desk: Desk, completer: Completer, history: History, stdout: TextIO, *, colours: bool
    ) -> None:
        self._desk = desk
        self._pending: list[str] = []
        self.is_aside = False
        self.drawn = asyncio.Event()
        """Whether the prompt has been seen."""
        self._output = _Output(
            stdout, lambda: _size(stdout), term=os.environ.get("TERM"), enable_cpr=False
        )
        self._suggest = _Suggest()
        self._buffer = Buffer(
            completer=completer,
            complete_while_typing=Condition(lambda: not desk.is_answering()),
            history=history,
            auto_suggest=self._suggest,
            multiline=True,
        )
        self._app: Application[None] = Application(
            layout=Layout(self._layout(), focused_element=self._buffer),
            key_bindings=_keys(self, self._buffer, desk),
            style=_STYLE,
            color_depth=None if colours else ColorDepth.DEPTH_1_BIT,
            min_redraw_interval=1 / _REDRAWS_PER_S,
            erase_when_done=True,
            before_render=lambda _: self._print(),
            after_render=lambda _: self.drawn.set(),
            output=self._output,
        )

    async def run(self) -> None:
        """Until `exit`."""
        try:
            await self._app.run_async()
        finally:
            self._output.is_held, self._output.is_over = False, True
            self._output.disable_bracketed_paste()
            self._output.flush()

    def exit(self) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def write(self, text: str) -> None:
        """Whole lines, above the prompt."""
        if text:
            self._pending.append(text if text.endswith("\n") else text + "\n")
            self._app.invalidate()

    def refresh(self) -> None:
        self._app.invalidate()

    def restore(self, text: str) -> None:
        """Gives back what could not be sent."""
        if not self._buffer.text:
            self._buffer.text = text
            self._buffer.cursor_position = len(text)

    def refused(self, text: str) -> None:
        """It stays in the history, to be mended, and is not suggested."""
        self._suggest.refused.add(text)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is being typed."""
        return not self._buffer.text

    def clear(self) -> None:
        self._buffer.reset()

    @property
    def columns(self) -> int:
        return self._output.get_size().columns

    @property
    def rows(self) -> int:
        return self._output.get_size().rows

    async def aside(self, show: Callable[[], None]) -> None:
        """Something that has the whole terminal for a while, as a pager."""
        self.is_aside = True
        try:
            await run_in_terminal(show, in_executor=True)
        finally:
            self.is_aside = False

    def _print(self) -> None:
        """Right before each drawing."""
        if not self._pending:
            return
        text, self._pending = "".join(self._pending), []
        self._output.is_held = True
        try:
            self._app.renderer.erase()
            self._output.write_raw(text)
        finally:
            self._output.is_held = False

    def _layout(self) -> HSplit:
        desk = self._desk
        search = SearchToolbar()
        control = BufferControl(
            self._buffer,
            input_processors=[AppendAutoSuggestion()],
            search_buffer_control=search.control,
            preview_search=True,
        )
        field = Window(
            control,
            height=Dimension(min=1, max=_INPUT_ROWS_MAX),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=self._prefix,
        )
        return HSplit(
            [
                _lines(self._tail, wrap=True),
                Window(height=1),
                _lines(lambda: _styled("class:choice", self._choices()), wrap=True),
                field,
                ConditionalContainer(
                    CompletionsMenu(max_height=_MENU_ROWS_MAX), has_completions & ~is_searching
                ),
                search,
                _lines(lambda: _styled("class:status", [desk.status()])),
            ],
            align=VerticalAlign.TOP,
        )

    def _tail(self) -> StyleAndTextTuples:
        """The last rows of what grows: all of it is printed when it is complete."""
        lines = self._desk.tail().rstrip("\n").split("\n")
        room = max(1, self.rows - _ROWS_LEFT - len(self._choices()))
        text = "\n".join(lines[-room:])
        return ANSI(text).__pt_formatted_text__() if text else []

    def _choices(self) -> list[str]:
        """Broken between words."""
        if not (choices := self._desk.choices()):
            return []
        from trunkline.cli.human import wrapped

        return [row for line in choices for row in wrapped(line, self.columns)]

    def _prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        prompt = self._desk.prompt()
        is_first = line == 0 and wrapped == 0
        return [("class:prompt", prompt if is_first else " " * min(2, len(prompt)))]


def _size(stdout: TextIO) -> Size:
    """A terminal that does not know its own is taken for a usual one."""
    columns, rows = os.get_terminal_size(stdout.fileno())
    return Size(rows=rows or 24, columns=columns or 80)


def _styled(style: str, lines: Iterable[str]) -> StyleAndTextTuples:
    return [(style, "\n".join(lines))]


def _lines(text: Callable[[], StyleAndTextTuples], *, wrap: bool = False) -> ConditionalContainer:
    """As many rows as the text has; none without one."""

    @Condition
    def is_there() -> bool:
        return any(part[1] for part in text())

    window = Window(FormattedTextControl(text), wrap_lines=wrap, dont_extend_height=True)
    return ConditionalContainer(window, is_there)


def _keys(screen: Screen, buffer: Buffer, desk: Desk) -> KeyBindings:
    keys = KeyBindings()
    typing = ~is_searching

    @keys.add("enter", filter=typing)
    def _send(_: KeyPressEvent) -> None:
        if buffer.complete_state is not None and buffer.complete_state.current_completion:
            buffer.complete_state = None
            return
        _enter(buffer, desk, later=False)

    @keys.add("escape", "enter", filter=typing)
    def _newline(_: KeyPressEvent) -> None:
        buffer.insert_text("\n")

    @keys.add("tab", filter=typing)
    def _later_or_complete(_: KeyPressEvent) -> None:
        if (offered := buffer.complete_state) is not None:
            buffer.complete_next()
            if len(offered.completions) == 1:
                buffer.complete_state = None  # there is nothing to choose: Enter sends
        elif (
            desk.is_busy()
            and buffer.text.strip()
            and not is_name(buffer.document.text_before_cursor)
        ):
            _enter(buffer, desk, later=True)
        else:
            _complete(buffer)

    @keys.add("s-tab", filter=typing)
    def _back(_: KeyPressEvent) -> None:
        buffer.complete_previous()

    @keys.add("c-c", filter=typing)
    @keys.add("<sigint>")
    def _interrupt(_: KeyPressEvent) -> None:
        if not screen.is_aside:  # then it is the pager's
            desk.interrupted()

    @keys.add("c-d", filter=typing & Condition(lambda: not buffer.text))
    def _end(_: KeyPressEvent) -> None:
        desk.ended()

    @keys.add("c-z")
    def _suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @keys.add("c-o", filter=typing)
    def _unfold(_: KeyPressEvent) -> None:
        desk.unfolded()

    return keys


def _complete(buffer: Buffer) -> None:
    """At once: a completion that typing has begun would let a Tab in the same moment go by."""
    found = list(
        buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True))
    )
    if len(found) == 1:
        buffer.apply_completion(found[0])
    elif common := get_common_complete_suffix(buffer.document, found):
        buffer.insert_text(common)
    else:
        buffer.start_completion()


def is_name(text: str) -> bool:
    """Whether what is being typed is a name that can be completed."""
    word = text.rpartition(" ")[2].rpartition("\n")[2]
    return word.startswith("@") or (text.startswith("/") and " " not in text)


def _enter(buffer: Buffer, desk: Desk, *, later: bool) -> None:
    text = buffer.text
    if desk.is_answering():
        buffer.reset()
        desk.answered(text)
        return
    if text.strip():
        buffer.append_to_history()
    buffer.reset()
    desk.entered(text, later=later)
