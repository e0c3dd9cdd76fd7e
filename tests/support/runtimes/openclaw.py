"""OpenClaw under test: a bridge for each session, and the real gateway that they share."""

import base64
from pathlib import Path

import psutil

from tests.support.matrix.story import Ask
from tests.support.model_server import ModelRequest, ToolUse
from tests.support.node import Node, children_of, command_of
from tests.support.runtimes.driver import SESSION, RuntimeDriver

GATEWAY = "gateway"


class OpenClaw(RuntimeDriver):
    name = "OpenClaw"
    runtime_type = "openclaw"
    tool_name = "exec"
    programs = ("openclaw",)
    is_slow = True
    victims = (SESSION, GATEWAY)
    waits = 4  # the gateway's start takes fourteen seconds of a processor

    def shell(self, command: str) -> ToolUse:
        return ToolUse(name="exec", arguments={"command": command})

    def question(self, ask: Ask) -> ToolUse:
        options = [{"label": one} for one in ask.options]
        asked = {"id": "choice", "header": "Choice", "question": ask.question, "options": options}
        return ToolUse(name="ask_user", arguments={"questions": [asked]})

    def told(self, problem: str) -> str:
        """It says it in words of its own, and keeps the provider's for its log."""
        return "LLM request failed: provider rejected the request"

    def is_turn(self, request: ModelRequest) -> bool:
        return bool(request.tool_names)

    def has_image(self, request: ModelRequest, data: bytes, workspace: Path) -> bool:
        return base64.b64encode(data).decode() in str(request.messages)

    def victim(self, name: str, node: Node) -> psutil.Process:
        children = children_of(psutil.Process(node.process.pid))
        if name == SESSION:
            [bridge] = [one for one in children if "main.js" in " ".join(command_of(one))]
            return bridge
        [guard] = [one for one in children if self.is_shared(one)]
        return children_of(guard)[0]

    def is_shared(self, child: psutil.Process) -> bool:
        return "trunkline.execution.runtimes.openclaw.guard" in command_of(child)
