"""ACP agents under test: real programs, which ask the scripted model in OpenAI's format."""

import base64
from pathlib import Path

import psutil

from tests.support.model_server import ModelRequest, ModelServer, ToolUse
from tests.support.node import Node, children_of, command_of
from tests.support.runtimes.driver import SESSION, Json, RuntimeDriver, child_with


class AcpAgent(RuntimeDriver):
    runtime_type = "acp"
    tool_name = "execute"
    preset: str
    argument: str
    """What shows that a process is the agent."""

    def agent(self) -> Json:
        return {**super().agent(), "acp": {"preset": self.preset}}

    def shell(self, command: str) -> ToolUse:
        return ToolUse(name="bash", arguments={"command": command, "description": "a command"})

    def is_turn(self, request: ModelRequest) -> bool:
        return bool(request.tool_names)

    def has_image(self, request: ModelRequest, data: bytes, workspace: Path) -> bool:
        return base64.b64encode(data).decode() in str(request.messages)

    def program(self, name: str, session: psutil.Process, node: Node) -> psutil.Process:
        return child_with(self.argument, session)


class OpenCode(AcpAgent):
    name = "opencode"
    programs = ("opencode",)
    preset = "opencode"
    argument = "acp"
    victims = (SESSION, "ACP agent")


class Copilot(AcpAgent):
    name = "Copilot"
    programs = ("copilot",)
    preset = "copilot"
    argument = "--acp"
    victims = (SESSION, "ACP agent")


class Codex(AcpAgent):
    name = "Codex"
    programs = ("codex",)
    preset = "codex"
    model = "gpt-5.5"  # to one that it does not know it says so, in words of its own
    other_model = "gpt-5.4"
    victims = (SESSION, "ACP agent", "Codex")
    hangs_up = False

    def program(self, name: str, session: psutil.Process, node: Node) -> psutil.Process:
        """What it drives is a program of its own."""
        [codex] = [one for one in children_of(session, recursive=True) if _is_codex(one)]
        parent = codex.parent()
        assert parent is not None
        return codex if name == "Codex" else parent

    def shell(self, command: str) -> ToolUse:
        """As a model does that has to leave the sandbox, which only reads."""
        leave = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
        return ToolUse(name="exec_command", arguments={"cmd": command, **leave})


def _is_codex(one: psutil.Process) -> bool:
    return command_of(one)[1:2] == ["app-server"]


class Gemini(AcpAgent):
    name = "Gemini"
    programs = ("gemini",)
    preset = "gemini"
    argument = "--experimental-acp"
    model = "gemini-2.5-pro"
    other_model = "gemini-3.8-flash"
    victims = (SESSION, "ACP agent")
    forgets_cancelled = True

    def addresses(self, model: ModelServer) -> dict[str, str]:
        return {"gemini": model.url}

    def shell(self, command: str) -> ToolUse:
        return ToolUse(name="run_shell_command", arguments={"command": command})


class Goose(AcpAgent):
    name = "Goose"
    programs = ("goose",)
    preset = "goose"
    model = "gpt-4o"  # to one that it does not know it shows no pictures
    other_model = "gpt-4.1"
    tool_name = "shell"
    argument = "acp"
    victims = (SESSION, "ACP agent")

    def shell(self, command: str) -> ToolUse:
        return ToolUse(name="shell", arguments={"command": command})
