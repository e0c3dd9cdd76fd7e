"""A bash that lives as long as a page: what one block exports, the next one has."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_WAIT_S = 120.0
_RUN = {"python": ("python", "py"), "javascript": ("node", "mjs")}

_CLIENT = Path(__file__).parents[2] / "clients" / "typescript"


class Done(NamedTuple):
    code: int
    printed: str


class Shell:
    """`folder` holds what it is told to run; it starts in the folder `here`, which it makes."""

    def __init__(self, folder: Path, here: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        self._number = 0
        here.mkdir(parents=True)
        (folder / "node_modules/@trunkline").mkdir(parents=True)
        (folder / "node_modules/@trunkline/client").symlink_to(_CLIENT)
        self._bash = subprocess.Popen(
            ["bash", "--norc"],
            cwd=here,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def save(self, name: str, text: str) -> None:
        """A file of the folder in which it stands now."""
        (self.here / name).write_text(text, encoding="utf-8")

    @property
    def here(self) -> Path:
        """The folder in which it stands now."""
        return Path(self.run("pwd").printed.strip())

    @property
    def env(self) -> dict[str, str]:
        """What the programs get that it starts."""
        pairs = self.run("env -0").printed.split("\0")
        return {name: value for name, _, value in (one.partition("=") for one in pairs) if name}

    def run(self, text: str, language: str = "sh", stdin: str = "") -> Done:
        """One command, or a whole program of another language."""
        self._number += 1
        program, suffix = _RUN.get(language, (".", "sh"))
        file = self._folder / f"{self._number}.{suffix}"
        output = file.with_suffix(".out")
        given = file.with_suffix(".in")
        file.write_text(text, encoding="utf-8")
        given.write_text(stdin, encoding="utf-8")
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f"{program} '{file}' <'{given}' >'{output}' 2>&1; echo $?\n")
        self._bash.stdin.flush()
        ready, _, _ = select.select([self._bash.stdout], [], [], _WAIT_S)
        said = self._bash.stdout.readline().strip() if ready else "124"
        printed = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        if not said:  # `set -e` has ended it
            return Done(self._bash.wait(_WAIT_S) or 1, printed)
        if not ready:
            printed += f"\n(still running after {_WAIT_S:.0f} s)"
        return Done(int(said), printed)

    def close(self) -> None:
        """With everything that was started in it and not ended."""
        for pipe in (self._bash.stdin, self._bash.stdout):
            if pipe:
                pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait(_WAIT_S)
