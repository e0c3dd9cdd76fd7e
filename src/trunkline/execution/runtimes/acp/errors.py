"""What can go wrong between an ACP agent and its driver, and what its turn is told."""

import re

from trunkline.execution.errors import TurnError
from trunkline.execution.runtimes.errors import ProgramError

AUTH_REQUIRED = -32000
_DRIVEN_GONE = 1001  # of the adapter of Codex: the program that it drives has ended
_LOGIN = re.compile(
    r"\b401\b|unauthori[sz]ed|api[ _-]?key|authenticat|not logged in|log ?in\b|credential",
    re.IGNORECASE,
)
_IN_USE = re.compile(r"already has an active writer")


class AgentError(ProgramError):
    """The agent answered with an error, in its own words."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.rpc_code = code

    @property
    def needs_login(self) -> bool:
        return self.rpc_code == AUTH_REQUIRED or bool(_LOGIN.search(self.message))

    @property
    def is_crash(self) -> bool:
        return self.rpc_code == _DRIVEN_GONE

    @property
    def is_in_use(self) -> bool:
        """Whether somebody else has the conversation open."""
        return bool(_IN_USE.search(self.message))


def refused(name: str, error: AgentError) -> TurnError:
    """The agent answered to a prompt with an error."""
    if error.is_crash:
        return TurnError("RUNTIME_CRASHED", f"{name}: {error.message}")
    return failed(name, error.message, needs_login=error.needs_login)


def failed(name: str, words: str, *, needs_login: bool | None = None) -> TurnError:
    """The agent said so itself."""
    login = bool(_LOGIN.search(words)) if needs_login is None else needs_login
    return TurnError("RUNTIME_LOGIN" if login else "RUNTIME_FAILED", f"{name}: {words}")
