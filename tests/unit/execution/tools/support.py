"""What tests of tools need: a call that records what it shows, a control plane that answers."""

from pathlib import Path
from typing import Any

from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun


class Call:
    """One place to run tools, and everything that readers were shown."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.shown: list[str] = []
        self.events: list[Json] = []

    async def run(self, tool: Tool, /, **arguments: Any) -> ToolResult:
        return await tool.run(arguments, self.told_by())

    def told_by(self, **settings: Any) -> ToolRun:
        """What a tool is given to run with."""
        return ToolRun(
            session_id="session-1",
            workspace=self.home.workspace,
            progress=self.shown.append,
            event=self.events.append,
            ask_agent=_nobody,
            **settings,
        )

    def file(self, name: str) -> Path:
        return self.home.workspace / name


async def _nobody(_agent_id: str, name: str, _task: str) -> str:
    raise ToolError(f"there is no {name}")


class Control:
    """Answers as it was told; `online = False` is a line that is down."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.online = True
        self.asked: list[tuple[str, Json]] = []
        self.reported: list[tuple[str, Json]] = []

    async def request(self, method: str, **params: Any) -> Any:
        self.asked.append((method, params))
        if not self.online:
            raise ConnectionError("the line is down")
        if method not in self.answers:
            raise RequestFailed("METHOD_NOT_FOUND", f"no method {method}")
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer(**params) if callable(answer) else answer

    def fire_and_forget(self, method: str, **params: Any) -> None:
        self.reported.append((method, params))


def is_running(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        text = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")
