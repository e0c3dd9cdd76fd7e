"""Ties a program to the process that starts it, then becomes that program.

Run as a script: `python parent_death.py PARENT_PID PROGRAM ARGUMENT…`. The kernel sends SIGTERM
when the parent dies, however it dies. A step of its own because code between fork and exec is
unsafe in a process with threads. Imports only the standard library: it runs before any environment
is set up.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    # The parent may have died before the kernel was told to watch it.
    if os.getppid() != parent:
        raise SystemExit(143)
    os.execvpe(command[0], command, os.environ)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
