"""A unit of systemd's user manager, as text, and the two programs that are asked about it.

Values are quoted by systemd's own rules (systemd.syntax, systemd.exec): nothing in a path is taken
for a variable, a specifier, a pattern or the end of a line.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from trunkline.cli.output import CommandFailed

_ANSWER_S = 60.0

_UNIT = """\
[Unit]
Description={description}
StartLimitIntervalSec=0

[Service]
ExecStart={start}
EnvironmentFile={environment}
WorkingDirectory={folder}
UMask=0077
KillMode=mixed
# What each session has is bounded in groups of its own.
Delegate=pids memory
TimeoutStopSec=15
Restart=always
RestartSec=5
# A setting is wrong: starting again would not help.
RestartPreventExitStatus=2

[Install]
WantedBy=default.target
"""


def unit(description: str, command: Sequence[str], environment: Path, folder: Path) -> str:
    """Of a program that is started with the user manager, and again whenever it ends."""
    return _UNIT.format(
        description=_specifiers(_line(description)),
        start=" ".join((_program(command[0]), *map(_argument, command[1:]))),
        environment=_pattern(_specifiers(_line(str(environment)))),
        folder=_specifiers(_line(str(folder))),
    )


def environment_file(values: Mapping[str, str]) -> str:
    """One variable a line, in double quotes."""
    lines = []
    for name, value in values.items():
        for character in '\\"`$':
            value = value.replace(character, "\\" + character)
        lines.append(f'{name}="{_line(value)}"\n')
    return "".join(lines)


def unit_folder(env: Mapping[str, str]) -> Path:
    return _config(env) / "systemd" / "user"


def environment_folder(env: Mapping[str, str]) -> Path:
    return _config(env) / "trunkline"


def _config(env: Mapping[str, str]) -> Path:
    given = Path(env.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return given if given.is_absolute() else Path("~/.config").expanduser()


class Manager:
    """`systemctl --user` and `loginctl`, as they are found on the path."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def problem(self) -> str | None:
        """Why there is no user manager here; None if there is one."""
        if shutil.which("systemctl", path=self._env.get("PATH")) is None:
            return "there is no systemd here"
        done = self._run("systemctl", "--user", "show-environment")
        if done.returncode != 0:
            return f"systemd has no manager for this user: {_said(done)}"
        return None

    def call(self, *arguments: str) -> None:
        """Raises CommandFailed with what it said."""
        done = self._run("systemctl", "--user", *arguments)
        if done.returncode != 0:
            raise CommandFailed(f"systemctl --user {' '.join(arguments)}: {_said(done)}")

    def state(self, question: str, unit_name: str) -> str:
        """`is-active` or `is-enabled`, in its own word."""
        done = self._run("systemctl", "--user", question, unit_name)
        return (done.stdout.strip() or done.stderr.strip() or "unknown").splitlines()[0]

    def lingers(self) -> bool | None:
        """Whether this user's services run without a login; None where that cannot be known."""
        if shutil.which("loginctl", path=self._env.get("PATH")) is None:
            return None
        done = self._run("loginctl", "show-user", login_name(), "--property=Linger")
        return done.stdout.strip() == "Linger=yes" if done.returncode == 0 else None

    def linger(self) -> str | None:
        """Lets this user's services run without a login; why that was not possible."""
        if self.lingers():
            return None
        if shutil.which("loginctl", path=self._env.get("PATH")) is None:
            return "there is no loginctl here"
        done = self._run("loginctl", "enable-linger", login_name())
        return None if done.returncode == 0 else _said(done)

    def _run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(  # noqa: S603 - fixed programs
                command,
                env=dict(self._env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_ANSWER_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return subprocess.CompletedProcess(command, 1, "", str(error))


def login_name() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    text = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return text[-1][:300] if text else f"it ended with {done.returncode}"


def _line(text: str) -> str:
    if not text.isprintable():
        raise CommandFailed(f"a service cannot have this in a path or a value: {text!r}")
    return text


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


def _program(path: str) -> str:
    """The first word of a command line: no variables are looked for there."""
    if any(character in path for character in "\"'\\"):
        raise CommandFailed(f"systemd starts no program in such a folder: {path}")
    return f'"{_specifiers(_line(path))}"'


def _argument(text: str) -> str:
    """A word of a command line."""
    escaped = _line(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{_specifiers(escaped)}"'


def _pattern(text: str) -> str:
    """A path where systemd looks for all that match."""
    for character in "\\*?[":
        text = text.replace(character, "\\" + character)
    return text
