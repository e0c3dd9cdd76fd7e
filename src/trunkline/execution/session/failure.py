"""Why a session's process is no more, in words and codes for the readers of its turn."""

import signal
from typing import Any

import msgspec

from trunkline.execution.session.child import Exit
from trunkline.execution.session.ipc import Error

Json = dict[str, Any]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What `execution_error` says. `code`: SESSION_CRASHED, SESSION_OUT_OF_MEMORY, SESSION_HUNG,
    what the process said of itself, or why it could not start."""

    code: str
    message: str
    exit_code: int | None = None
    signal: str | None = None

    def fields(self) -> Json:
        """Of the event; `turn_id` and `ts` come from whoever sends it."""
        fields: Json = {"error": self.message, "code": self.code}
        if self.exit_code is not None:
            fields["exit_code"] = self.exit_code
        if self.signal is not None:
            fields["signal"] = self.signal
        return fields


def failure_of(
    end: Exit,
    *,
    hung: bool = False,
    broken: str | None = None,
    said: Error | None = None,
    oom_kills: int = 0,
) -> Failure:
    """What one end means. `hung`: we killed it for its silence. `broken`: we killed it for what it
    sent. `said`: its own last words. `oom_kills`: how often memory ran out while it lived."""
    name = signal.Signals(end.signal).name if end.signal is not None else None
    if hung:
        code, why = "SESSION_HUNG", "the session's process did not answer any more and was ended"
    elif broken is not None:
        code, why = "SESSION_CRASHED", f"the session's process was ended: {broken}"
    elif said is not None:
        code, why = said.code, said.message
    elif end.signal == signal.SIGKILL and oom_kills:
        code, why = "SESSION_OUT_OF_MEMORY", "the machine ran out of memory and ended this session"
    elif end.signal == signal.SIGKILL:
        code = "SESSION_CRASHED"
        why = f"the session's process {end}; it may have needed too much memory"
    else:
        code, why = "SESSION_CRASHED", f"the session's process {end}"
    return Failure(code=code, message=why, exit_code=end.exit_code, signal=name)
