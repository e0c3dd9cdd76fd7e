"""SemiGraph under test: its process is the whole of it, and the model is asked by itself."""

import base64
from pathlib import Path

from tests.support.matrix.story import Ask
from tests.support.model_server import ModelRequest, ToolUse
from tests.support.runtimes.driver import RuntimeDriver


class SemiGraph(RuntimeDriver):
    name = "SemiGraph"
    runtime_type = "semigraph"
    tool_name = "bash"

    def shell(self, command: str) -> ToolUse:
        return ToolUse(name="bash", arguments={"command": command})

    def question(self, ask: Ask) -> ToolUse:
        options = {"options": list(ask.options)} if ask.options else {}
        return ToolUse(name="ask_user", arguments={"question": ask.question, **options})

    def has_image(self, request: ModelRequest, data: bytes, workspace: Path) -> bool:
        return base64.b64encode(data).decode() in request.images
