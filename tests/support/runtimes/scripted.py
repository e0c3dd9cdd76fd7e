"""The scripted runtime under test: `scripted_program.py` on a daemon that knows it.

    python -m tests.support.runtimes.scripted

is `python -m trunkline.execution.main` with one runtime more.
"""

import base64
from pathlib import Path

import msgspec

from tests.support.model_server import ModelRequest, ToolUse
from tests.support.runtimes.driver import RuntimeDriver
from trunkline.execution import main
from trunkline.execution.settings import NodeSettings


class Scripted(RuntimeDriver):
    name = "Scripted"
    runtime_type = "scripted"
    tool_name = "sh"
    daemon = "tests.support.runtimes.scripted"

    def shell(self, command: str) -> ToolUse:
        return ToolUse(name="sh", json=command)

    def has_image(self, request: ModelRequest, data: bytes, workspace: Path) -> bool:
        return base64.b64encode(data).decode() in str(request.messages)


if __name__ == "__main__":
    settings = NodeSettings.from_env()
    own = {"scripted": "tests.support.runtimes.scripted_program:main"}
    main.run(msgspec.structs.replace(settings, hosted={**settings.hosted, **own}))
