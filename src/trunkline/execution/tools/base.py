"""What a tool is: a name, a schema, a danger, and a coroutine that does it."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.permissions.reading import Place


class Image(msgspec.Struct, frozen=True):
    """A picture that a tool found, for models that can see."""

    media_type: str
    data: bytes
    name: str = ""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the model and the readers get. A failure is a result too: the model reads it."""

    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    """What a model that can see is shown beside `content`."""
    todos: list[Json] | None = None
    """What the agent has to do from now on, where the call says so."""
    details: Json = {}
    """For readers: exit code, whether the output was cut, files that were made."""


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool: where it happens and whom it may tell."""

    session_id: str
    workspace: Path
    progress: Callable[[str], None]
    """Shows output of a tool that still runs (`tool_call_progress`)."""
    event: Callable[[Json], None]
    """Any other event of this call, such as `file_created`; `turn_id` and the like are added."""
    command_timeout_s: float = limits.COMMAND_TIMEOUT_S
    """Of a command that does not say how long it may take."""
    command_timeout_s_max: float = limits.COMMAND_TIMEOUT_S_MAX
    """Of one that does."""
    hides: Callable[[str], bool] = lambda _path: False
    """Whether rules keep a file from what looks through many."""
    guards: Callable[[str], str] = lambda _url: ""
    """Why rules keep a page from being fetched, in words; empty where none does."""
    granted: str = ""
    """The question that a person said yes to, for a call that leaves the fence."""
    ask_agent: Callable[[str, str, str], Awaitable[str]]
    """Gives a sub-agent a task: its id, its name, the task. Its answer."""


ALL_FILES = "/"


class Touches(msgspec.Struct, frozen=True, kw_only=True):
    """What a call reads and writes, so that calls of one step that depend on each other run one
    after the other. A name is a path, which stands for all below it, or any other word."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    everything: bool = False
    """It may change anything: it runs beside nothing that reads or writes."""
    beside: str = ""
    """Calls with the same word here run side by side, whatever they touch: who asks for several at
    once means that."""

    def disturbs(self, other: "Touches") -> bool:
        """Whether the two may not run at the same time."""
        if self.beside and self.beside == other.beside:
            return False
        if self.everything or other.everything:
            return self._is_any and other._is_any
        return _overlap(self.writes, other.reads + other.writes) or _overlap(
            self.reads, other.writes
        )

    @property
    def _is_any(self) -> bool:
        return self.everything or bool(self.reads) or bool(self.writes)


def _overlap(some: Sequence[str], others: Sequence[str]) -> bool:
    return any(_is_below(one, other) or _is_below(other, one) for one in some for other in others)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class Tool(ABC):
    """One thing an agent can do. Cancelling `run` ends what it started, at once and wholly."""

    name: str
    description: str
    parameters: Json
    """A JSON schema of type object; arguments are checked against it before `run`."""
    reveals: bool = False
    """What it is given leaves this machine: to the web, to a remote MCP server."""
    keeps: bool = False
    """Later sessions read what it writes."""
    leaves_fence: bool = False
    """It does more than the fence allows: a person is asked, each time."""
    brings: bool = False
    """Its results come from others than the session's user."""

    def is_dangerous(self, arguments: Json) -> bool:
        """Whether this call can change or reveal something: asked for with confirm=dangerous."""
        return False

    def touches(self, arguments: Json) -> Touches:
        """What this call reads and writes. Nothing: it runs beside any other."""
        return Touches()

    def rule_name(self, arguments: Json) -> str:
        """What rules call it, for this call."""
        return self.name

    def paths(self, arguments: Json) -> Sequence[str] | None:
        """Which files a call is about, where its arguments do not say so as `path`: a patch names
        them in its text."""
        return None if "path" in arguments else self.touches(arguments).writes or None

    def place(self) -> Place | None:
        """Where commands run, for a tool that runs them."""
        return None

    @abstractmethod
    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        """Does it. Raises ToolError for what the model can mend."""


def object_schema(properties: Json, required: Sequence[str] = ()) -> Json:
    """The schema of a tool's arguments: these, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
