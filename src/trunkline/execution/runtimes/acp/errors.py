"""What can go wrong between an ACP agent and its driver, and what its turn is told."""

import re

from trunkline.execution.errors import TurnError
from trunkline.execution.runtimes.errors import ProgramError

AUTH_REQUIRED = -32000
_LOGIN = re.compile(
    r"\b401\b|unauthori[sz]ed|api[ _-]?key|authenticat|not logged in|log ?in\b|credential",
    re.IGNORECASE,
)


class AgentError(ProgramError):
    """The agent answered with an error, in its own words."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.rpc_code = code

    @property
    def needs_login(self) -> bool:
        return self.rpc_code == AUTH_REQUIRED or bool(_LOGIN.search(self.message))


def failed(name: str, words: str, *, needs_login: bool | None = None) -> TurnError:
    """The agent said so itself."""
    login = bool(_LOGIN.search(words)) if needs_login is None else needs_login
    return TurnError("RUNTIME_LOGIN" if login else "RUNTIME_FAILED", f"{name}: {words}")
