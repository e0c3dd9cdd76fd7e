"""What goes wrong between a program of another maker and the runtime that drives it.

    ProgramError          PROGRAM_FAILED
    ├── AgentError        PROGRAM_FAILED    (acp/errors.py) an agent of ACP answered with an error
    ├── AgentGone         PROGRAM_FAILED    it ended, or closed its output
    ├── ClaudeRefused     PROGRAM_FAILED    Claude Code answered with an error
    ├── ClaudeGone        PROGRAM_FAILED    it has ended
    ├── GatewayRefused    as answered       OpenClaw's gateway answered with an error
    └── LinkLost          PROGRAM_FAILED    it is not there, or not any more

None reaches a session's readers: its driver makes a TurnError of it. A branch of the tree in
`execution/errors.py`.
"""

from trunkline.execution.errors import ExecutionError


class ProgramError(ExecutionError):
    """Between a program of another maker and the runtime that drives it."""

    code = "PROGRAM_FAILED"


class AgentGone(ProgramError):
    def __init__(self) -> None:
        super().__init__("the agent has ended, or closed its output")


class ClaudeRefused(ProgramError):
    """In its own words."""


class ClaudeGone(ProgramError):
    """`how`: its exit code or signal; `said`: what it printed last."""

    def __init__(self, how: str, said: str) -> None:
        super().__init__(how)
        self.how = how
        self.said = said


class GatewayRefused(ProgramError):
    """In its own words, with its own code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


class LinkLost(ProgramError, ConnectionError):
    """Trying again may help."""
