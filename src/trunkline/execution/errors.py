"""Every error of the execution plane: a code and a message for people, which carries no secret.
Codes that reach a session's readers are in docs/reference/errors.md.

    ExecutionError               EXECUTION_FAILED
    ├── SettingsError            INVALID_SETTINGS         a setting is missing or makes no sense
    ├── HomeBusy                 HOME_BUSY                another daemon runs with this home
    ├── LockBusy                 FILE_LOCKED              another process holds a file's lock
    ├── NoLine                   NO_LINE                  a server was not reached, or closed early
    ├── ServerRefused            SERVER_REFUSED           a foreign server refuses this machine
    ├── StartFailed              SESSION_START_FAILED     a session did not start, or may not
    │   └── ForkServerGone       SESSION_START_FAILED     the fork server ended; the next one may do
    ├── MessageTooLong           MESSAGE_TOO_LONG         a local socket carried more than it may
    ├── RequestFailed            as answered              the control plane answered with an error
    ├── TurnError                TURN_…                   a turn cannot go on
    ├── ModelError               MODEL_…                  a model call failed
    ├── ToolError                TOOL_FAILED              a tool call failed; the model reads why
    ├── SkillRefused             SKILL_REFUSED            a skill package is not acceptable
    ├── AttachmentRefused        ATTACHMENT_REFUSED       a file of a message was not kept
    ├── PictureRefused           PICTURE_REFUSED          a picture cannot be shown to a model
    ├── AddressRefused           ADDRESS_REFUSED          an address that tools may not connect to
    ├── InstallFailed            INSTALL_FAILED           a runtime's program was not installed
    ├── ProgramError             PROGRAM_FAILED           a runtime's program; runtimes/errors.py
    ├── GitFailed                GIT_FAILED               git failed; the text is its own
    ├── CheckpointError          CHECKPOINT_UNUSABLE      a checkpoint cannot be read or written
    └── MemoryFileError          MEMORY_UNUSABLE          a memory file cannot be read or written
"""

from typing import NamedTuple


class ExecutionError(Exception):
    """Base of the family."""

    code = "EXECUTION_FAILED"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class _CodedError(ExecutionError):
    """One with a code of its own each time."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


class SettingsError(ExecutionError):
    """The text names the setting."""

    code = "INVALID_SETTINGS"


class HomeBusy(ExecutionError):
    code = "HOME_BUSY"


class LockBusy(ExecutionError, OSError):
    """Held for longer than any write of ours takes."""

    code = "FILE_LOCKED"


class LineEnd(NamedTuple):
    """How a line ended, or why there was none: a close code, or 1006 and what the system said."""

    code: int
    reason: str


class NoLine(ExecutionError):
    code = "NO_LINE"

    def __init__(self, end: LineEnd) -> None:
        super().__init__(f"{end.code}: {end.reason}")
        self.end = end


class ServerRefused(ExecutionError):
    """Trying again would not help."""

    code = "SERVER_REFUSED"


class StartFailed(ExecutionError):
    """More precise where the machine refuses: SESSION_LIMIT, RUNTIME_UNSUPPORTED."""

    code = "SESSION_START_FAILED"


class ForkServerGone(StartFailed):
    """It was asked too late."""


class MessageTooLong(ExecutionError):
    code = "MESSAGE_TOO_LONG"


NO_SUCH_METHOD = frozenset(("METHOD_NOT_FOUND", "UNSUPPORTED_METHOD"))
"""Codes with which control planes say that they do not know a request; the second is what
deployed ones say."""


class RequestFailed(_CodedError):
    """Also where the daemon answers in the control plane's place."""


class TurnError(_CodedError):
    """`code`: TURN_LIMIT, TURN_TIMEOUT, TOOLS_KEEP_FAILING, SESSION_STOPPED, TURN_QUEUE_FULL,
    DISK_FULL, TURN_FAILED."""


class ModelError(ExecutionError):
    """`code`: MODEL_KEY_MISSING, MODEL_KEY_REFUSED, MODEL_NOT_FOUND, MODEL_RATE_LIMITED,
    MODEL_CONTEXT_FULL, MODEL_OVERLOADED, MODEL_UNREACHABLE, MODEL_REFUSED, MODEL_ERROR."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after_s: float = 0.0,
        limit: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(message, code=code)
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.limit = limit
        """Of MODEL_CONTEXT_FULL: the model's window and what it was sent, in tokens; 0: unsaid."""
        self.model = ""
        """Which one it is about, by the name that it was asked by."""


class ToolError(ExecutionError):
    code = "TOOL_FAILED"


class SkillRefused(ExecutionError):
    code = "SKILL_REFUSED"


class AttachmentRefused(ExecutionError):
    code = "ATTACHMENT_REFUSED"


class PictureRefused(ExecutionError):
    code = "PICTURE_REFUSED"


class AddressRefused(ExecutionError, OSError):
    """An OSError, so that the connector goes on to a name's next address."""

    code = "ADDRESS_REFUSED"


class InstallFailed(ExecutionError):
    code = "INSTALL_FAILED"


class GitFailed(ExecutionError):
    """The text is git's own, shortened."""

    code = "GIT_FAILED"


class CheckpointError(_CodedError, ValueError):
    """`code`: CHECKPOINT_…."""


class MemoryFileError(_CodedError, ValueError):
    """`code`: MEMORY_…."""
