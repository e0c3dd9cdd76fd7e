"""Claude Code under test: the real program, which asks the scripted model in Anthropic's format."""

import base64
from pathlib import Path

import psutil

from tests.support.matrix.story import Ask
from tests.support.model_server import ModelRequest, ToolUse
from tests.support.node import Node
from tests.support.runtimes.driver import SESSION, RuntimeDriver, child_with


class ClaudeCode(RuntimeDriver):
    name = "Claude Code"
    runtime_type = "claude-code"
    tool_name = "Bash"
    programs = ("claude-code",)
    model = "claude-sonnet-4-5"
    other_model = "claude-haiku-4-5"
    victims = (SESSION, "Claude Code")

    def shell(self, command: str) -> ToolUse:
        return ToolUse(name="Bash", arguments={"command": command})

    def question(self, ask: Ask) -> ToolUse:
        options = [{"label": one, "description": one} for one in ask.options]
        asked = {"question": ask.question, "header": "Choice", "options": options}
        return ToolUse(
            name="AskUserQuestion", arguments={"questions": [{**asked, "multiSelect": False}]}
        )

    def is_turn(self, request: ModelRequest) -> bool:
        return bool(request.tool_names)

    def has_image(self, request: ModelRequest, data: bytes, workspace: Path) -> bool:
        return base64.b64encode(data).decode() in str(request.messages)

    def program(self, name: str, session: psutil.Process, node: Node) -> psutil.Process:
        return child_with("--input-format", session)
