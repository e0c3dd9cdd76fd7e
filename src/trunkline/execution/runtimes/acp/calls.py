"""The tool calls of a turn of an ACP agent: what is known of each, and which events it makes.

Agents tell of a call in pieces, and in any order: first a name, then the arguments, or only its
end. Each call has one start and one end for readers.
"""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.approvals import SHOWN_BYTES_MAX
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp import content
from trunkline.execution.texts import Excerpt, both_ends, clipped

PROGRESS_CHARS_MAX = 100_000  # of one call; the result holds both ends whatever was shown
_KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode"}
)
_ENDED = ("completed", "failed")
_TITLE_CHARS_MAX = SHOWN_BYTES_MAX + 1  # more than can be shown: such a call is denied
# Codex names some of its commands so, and others only by their kind.
_NAMES_OF_KINDS = frozenset({"exec_command", "write_stdin"})
# Arguments that an agent adds before it knows the model's: there is more to come.
OWN_ARGUMENTS = frozenset({"cwd"})


class Call(msgspec.Struct, kw_only=True):
    """What is known so far. `name` is the agent's own where it says one."""

    id: str
    name: str = ""
    kind: str = ""
    title: str = ""
    """Its first line; for people who are asked, `whole_title`."""
    whole_title: str = ""
    status: str = "pending"
    input: Json = {}
    shows: content.ToolContent = content.ToolContent()
    locations: list[str] = []
    raw_output: Any = None
    is_started: bool = False
    is_ended: bool = False
    shown_text: str = ""
    shown_chars: int = 0
    terminal_output: Excerpt = msgspec.field(
        default_factory=lambda: Excerpt(limits.TOOL_RESULT_CHARS_MAX)
    )

    @property
    def tool_name(self) -> str:
        """ACP has kinds and titles, no names; a kind is the same for every agent."""
        if self.name:
            return self.name
        return self.kind if self.kind in _KINDS else self.title or self.kind or "tool"

    @property
    def has_more_to_tell(self) -> bool:
        """Whether it was only announced: its arguments follow."""
        return self.status == "pending" and not set(self.input) - OWN_ARGUMENTS

    def learn(self, fields: Json) -> None:
        """Takes what a message says of the call; what it does not say stays."""
        name = content.title_of(fields.get("name")) or _named_aside(fields)
        if name and not self.is_started and name not in _NAMES_OF_KINDS:
            self.name = name
        self.kind = content.text(fields.get("kind"), limits.NAME_CHARS_MAX) or self.kind
        self.title = content.title_of(fields.get("title")) or self.title
        self.whole_title = content.text(fields.get("title"), _TITLE_CHARS_MAX) or self.whole_title
        self.status = content.text(fields.get("status"), 40) or self.status
        if (given := fields.get("rawInput")) is not None:
            self.input = given if isinstance(given, dict) else {"input": given}
        if fields.get("content") is not None:
            self.shows = content.tool_content(fields["content"])
        if fields.get("locations"):
            self.locations = content.locations(fields["locations"])
        if fields.get("rawOutput") is not None:
            self.raw_output = fields["rawOutput"]

    def events(self) -> list[Json]:
        """What readers have not been told yet."""
        if self.is_ended:
            return []
        if self.status in _ENDED:
            return [*self.start(), self._end(is_error=self.status == "failed")]
        if not self.is_started and self.has_more_to_tell:
            return []
        return [*self.start(), *self._progress(self.shows.text)]

    def start(self) -> list[Json]:
        if self.is_started:
            return []
        self.is_started = True
        self.name = self.tool_name  # whatever its titles will be
        return [self._event("tool_call_start", tool_input=clipped(self.arguments()))]

    def give_up(self, why: str) -> list[Json]:
        """The turn has ended and the call has not."""
        if self.is_ended:
            return []
        started = self.start()
        return [*started, self._end(is_error=True, result=why)]

    def printed(self, piece: str) -> list[Json]:
        """Output of a terminal that the call runs in."""
        if self.is_ended:
            return []
        self.terminal_output.add(piece)
        return [*self.start(), *self._show(piece)]

    def arguments(self) -> Json:
        """All that is known of what it will do; the title alone where there is nothing else."""
        return self.input or ({"title": self.title} if self.title else {})

    def _progress(self, now: str) -> list[Json]:
        """Each message has all of the output so far; readers get what is new."""
        if not now or now == self.shown_text:
            return []
        piece = now.removeprefix(self.shown_text)
        self.shown_text = now
        return self._show(piece)

    def _show(self, piece: str) -> list[Json]:
        room = PROGRESS_CHARS_MAX - self.shown_chars
        if room <= 0 or not piece:
            return []
        self.shown_chars += len(piece)
        return [self._event("tool_call_progress", content=piece[:room])]

    def _end(self, *, is_error: bool, result: str = "") -> Json:
        self.is_ended = True
        said = result or self.shows.text or str(self.terminal_output)
        said = said or content.raw_output_text(self.raw_output)
        details: Json = {}
        if self.shows.diffs:
            details["diffs"] = self.shows.diffs
        if self.locations:
            details["locations"] = self.locations
        if not said:
            said = "\n".join(f"{one['path']} changed" for one in self.shows.diffs)
        return self._event(
            "tool_call_complete",
            tool_input=clipped(self.arguments()),
            result=both_ends(said, limits.TOOL_RESULT_CHARS_MAX),
            is_error=is_error,
            **({"details": details} if details else {}),
        )

    def _event(self, kind: str, **fields: Any) -> Json:
        head: Json = {"type": kind, "tool_call_id": self.id, "tool_name": self.tool_name}
        if self.title and self.title != self.tool_name:
            head["title"] = self.title
        return {**head, **fields}


def _named_aside(fields: Json) -> str:
    """ACP has no place for a tool's name; some agents say it beside (`_meta`), under their own."""
    for theirs in map(content.obj, content.obj(fields.get("_meta")).values()):
        for place in (theirs, content.obj(theirs.get("toolCall"))):
            if name := content.title_of(place.get("toolName")):
                return name
    return ""
