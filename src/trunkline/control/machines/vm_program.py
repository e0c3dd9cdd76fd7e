"""Which program a local VM runs."""

import importlib.util
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping

from trunkline.control.errors import Unavailable
from trunkline.control.settings import Settings

_DAEMON = "trunkline.execution.main"


def daemon_command(
    settings: Settings, env: Mapping[str, str], problem: Callable[[], str | None]
) -> list[str]:
    """The one that the settings name, or our own daemon; Unavailable when it is not there, or has a
    `problem` here."""
    if settings.vm_command is not None:
        try:
            command = shlex.split(settings.vm_command)
        except ValueError as error:
            raise Unavailable(f"vm_command: {error}") from error
        if not command or shutil.which(command[0], path=env.get("PATH")) is None:
            raise Unavailable(
                f"vm_command: {settings.vm_command!r} is no program that can be run here"
            )
        return command
    package = _DAEMON.rpartition(".")[0]
    if importlib.util.find_spec(package) is None or not importlib.util.find_spec(_DAEMON):
        raise Unavailable(
            "this installation has no execution plane daemon; set vm_command to a program"
            " that is one, or use provider 'manual'"
        )
    if (why := problem()) is not None:
        raise Unavailable(f"no agents can run here: {why}")
    # -P: a module in the folder that it is started in is not taken for one of ours.
    return [sys.executable, "-P", "-m", _DAEMON]
