"""The gateway's supervisor: a small process between the daemon and the gateway.

    python -m trunkline.execution.runtimes.openclaw.guard PROGRAM ARGUMENT…

Whatever the gateway starts and leaves behind becomes its child, and ends with the gateway. The
gateway ends when this process's input does: the daemon closed it, or is gone itself.
"""

import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import partial

import msgspec

from trunkline.execution.errors import StartFailed
from trunkline.execution.fence import inside
from trunkline.execution.fence.profile import Profile
from trunkline.execution.process import family

FENCE = "TRUNKLINE_GATEWAY_FENCE"
"""The variable with what a program may do, for the process alone that becomes or starts it."""
STOP_S = 3.0  # from SIGTERM to SIGKILL; what it waits for by itself takes minutes
_ROUNDS_MAX = 500
_ROUND_S = 0.01


def main(argv: list[str]) -> int:
    """Its exit code is the gateway's, or 128 and the number of the signal that ended it."""
    family.adopt_orphans()
    try:
        enter_fence()
    except StartFailed as error:
        print(error, file=sys.stderr)
        return 126
    waker, woken = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        gateway = subprocess.Popen(  # noqa: S603 - the daemon names the program
            argv, stdin=subprocess.DEVNULL, preexec_fn=partial(family.die_with, os.getpid())
        )
    except OSError as error:
        print(f"{argv[0]} cannot be started: {error}", file=sys.stderr)
        return 127
    status = _watch(gateway, woken)
    for _ in range(_ROUNDS_MAX):
        if not family.end_strays(set()):
            break
        select.select([], [], [], _ROUND_S)
    return 128 - status if status < 0 else status


def enter_fence() -> None:
    """Raises StartFailed where one is required and cannot be had."""
    if profile := os.environ.pop(FENCE, ""):
        inside.enter(msgspec.json.decode(profile, type=Profile))


def _watch(gateway: "subprocess.Popen[bytes]", woken: socket.socket) -> int:
    """Until it has ended; asks it to when nobody wants it any more."""
    inputs: list[int | socket.socket] = [sys.stdin.fileno(), woken]
    patience_s: float | None = None
    while True:
        ready, _, _ = select.select(inputs, [], [], patience_s)
        if woken in ready:
            woken.recv(4096)
        if (status := _reaped(gateway)) is not None:
            return status
        if not ready:
            gateway.kill()
            patience_s = None
        elif sys.stdin.fileno() in ready and not os.read(sys.stdin.fileno(), 4096):
            inputs.remove(sys.stdin.fileno())
            gateway.terminate()
            patience_s = STOP_S


def _reaped(gateway: "subprocess.Popen[bytes]") -> int | None:
    """How the gateway ended, if it has; strays that have ended are let go."""
    if (status := gateway.poll()) is not None:
        return status
    for pid in family.children() - {gateway.pid}:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
