"""A local MCP server of an OpenClaw session, as its bridge starts it.

    python -m trunkline.execution.runtimes.openclaw.server PROGRAM ARGUMENT…

Enters the session's fence, and becomes the program, which ends when the bridge does.
"""

import os
import sys

from trunkline.execution.errors import StartFailed
from trunkline.execution.process import family
from trunkline.execution.runtimes.openclaw.guard import enter_fence


def main(argv: list[str]) -> int:
    """Comes back only where the program cannot be started: with what a shell says then."""
    family.die_with(os.getppid())
    try:
        enter_fence()
        os.execvp(argv[0], argv)  # noqa: S606 - the session's record names the program
    except StartFailed as error:
        print(error, file=sys.stderr)
        return 126
    except (OSError, ValueError) as error:
        print(f"{argv[0]} cannot be started: {error}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
