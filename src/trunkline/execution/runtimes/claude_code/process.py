"""What the fork server runs for a session of Claude Code."""

import os
from functools import partial
from pathlib import Path

from trunkline.execution.home import Home
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.claude_code.program import ClaudeCode
from trunkline.execution.runtimes.hosted import host
from trunkline.execution.runtimes.hosted.program import Opening

NAME = "claude-code"


def run(socket_path: str) -> None:
    host.run(socket_path, make)


def make(opening: Opening) -> ClaudeCode:
    home = Home(Path(opening.start.home))
    return ClaudeCode(opening, partial(programs.locate, NAME, home, os.environ))
