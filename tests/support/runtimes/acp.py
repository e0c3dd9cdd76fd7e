"""ACP agents under test: real programs, which ask the scripted model in OpenAI's format."""

import base64
from pathlib import Path

import psutil

from tests.support.model_server import ModelRequest, ToolUse
from tests.support.node import Node
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
