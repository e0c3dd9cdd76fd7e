"""What is said and thought. The session's own words are shown block by block as they come; those of
persons and sub-agents, who speak side by side, when they are complete."""

from trunkline.cli.chat.render.folds import Folds, Words
from trunkline.cli.chat.render.lanes import Lane
from trunkline.cli.chat.render.layout import Line, clip, indented, more, safe, safe_lines, wrap
from trunkline.cli.chat.render.markdown import Markdown, is_fence
from trunkline.cli.chat.render.scroll import Scroll
from trunkline.cli.chat.render.turns import Clock
from trunkline.cli.human import duration

_OPEN_CHARS_MAX = 8_000
"""Of a block that is still open, the end: no screen has room for more."""
_THOUGHT_LINES = 3
_THOUGHT_CHARS_MAX = 2_000
_GLIMPSE_LINES = 3
_INDENT = ("  ", "")


class Speech:
    def __init__(self, scroll: Scroll, folds: Folds, clock: Clock, *, colours: bool) -> None:
        self._scroll = scroll
        self._folds = folds
        self._clock = clock
        self._markdown = Markdown(colours=colours)
        self._open: tuple[str, int, list[Line]] = ("", 0, [])

    def say(self, lane: Lane, piece: str) -> None:
        if not piece:
            return
        self._fold_thought(lane)
        lane.said += piece
        lane.since_last += piece
        if not lane.name:
            self._blocks(lane.blocks.push(piece))

    def think(self, lane: Lane, piece: str) -> None:
        self._end_words(lane)
        if piece and not lane.thought:
            lane.thinks_since = self._clock.now()
        lane.thought += piece

    def interrupt(self, lane: Lane) -> None:
        """Something else begins: what was said before it is over."""
        self._fold_thought(lane)
        self._end_words(lane)

    def open_block(self, lane: Lane, width: int) -> list[Line]:
        """Drawn often, parsed once."""
        block = lane.blocks.tail
        if self._open[:2] != (block, width):
            lines = self._markdown.lines(_end_of(block), width) if block.strip() else []
            self._open = (block, width, lines)
        return list(self._open[2])

    def live(self, lane: Lane, mark: str, width: int) -> list[Line]:
        """What somebody thinks, or says and is not shown yet."""
        if lane.thought:
            thought = lane.thought.strip()[-_THOUGHT_CHARS_MAX:]
            rows = wrap([(safe_lines(thought), "dim italic")], width - 2)[-_THOUGHT_LINES:]
            took = duration(self._clock.since(lane.thinks_since))
            head: Line = [*lane.who, (f"{mark} thinking · {took}", "dim")]
            return [clip(head, width), *indented(rows, _INDENT, _INDENT)]
        if lane.name and lane.since_last.strip():
            last = lane.since_last.strip().split("\n")[-1]
            return [clip([*lane.who, (f"{mark} {safe(last)}", "dim")], width)]
        return []

    def _blocks(self, blocks: list[str]) -> None:
        for block in blocks:
            self._scroll.put("text", self._markdown.lines(block, self._scroll.columns))

    def _end_words(self, lane: Lane) -> None:
        said, lane.since_last = lane.since_last, ""
        if not lane.name:
            self._blocks(lane.blocks.end())
        elif said.strip() and lane.is_agent:
            self._glimpse(lane, said.strip("\n"))
        elif said.strip():
            lines = self._markdown.lines(said, self._scroll.columns)
            self._scroll.put("said", [lane.who, *lines])

    def _glimpse(self, lane: Lane, said: str) -> None:
        """What a sub-agent says is for the one who asked it; all of it can be unfolded."""
        rows = [row for row in self._markdown.lines(said, self._scroll.columns - 2) if row]
        lines: list[Line] = [[(cut, "dim") for cut, _ in row] for row in rows[:_GLIMPSE_LINES]]
        if (left := len(rows) - _GLIMPSE_LINES) > 0:
            lines.append(more(left))
            self._folds.add(Words([*lane.who, ("said", "dim")], said, self._markdown))
        self._scroll.put("call", [lane.who, *indented(lines, _INDENT, _INDENT)])

    def _fold_thought(self, lane: Lane) -> None:
        thought, lane.thought = lane.thought, ""
        if not thought.strip():
            return
        took = duration(self._clock.since(lane.thinks_since))
        self._folds.add(Words([*lane.who, (f"thought · {took}", "dim")], thought, None))
        line: Line = [*lane.who, (f"▸ thought · {took}", "dim")]
        self._scroll.put("call", [clip(line, self._scroll.columns)])


def _end_of(block: str) -> str:
    if len(block) <= _OPEN_CHARS_MAX:
        return block
    first, _, rest = block.partition("\n")
    end = rest[rest.find("\n", -_OPEN_CHARS_MAX) + 1 :][-_OPEN_CHARS_MAX:]
    return f"{first}\n{end}" if is_fence(block) else end
