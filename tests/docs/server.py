"""The server that the examples of the manual talk to: `trunkline up`, as a reader starts it, with a
home folder of its own."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.docs.terminals import Running
from tests.support import foreign_files
from tests.support.program import plain_environment
from tests.support.runtimes.installed import CACHE
from trunkline.execution.runtimes import programs

OWN_MACHINE = "this computer"
ADDRESS = "127.0.0.1:8080"
"""Where the pages say that it listens."""
PUBLIC = "https://agents.example.org"
"""What they call a server for a team."""
LENT = ("claude-code", "opencode")
"""Programs of this clone that the machine has too, where they are installed."""
_START_S = 60.0
_WAIT_S = 30.0
_SWEPT = {
    "sessions": "?erase=true",
    "agents": "",
    "rules": "",
    "mcp-servers": "",
    "skills": "",
    "machines": "",
}


class Server(NamedTuple):
    env: dict[str, str]
    address: str
    greeting: str
    others: Mapping[str, str]
    """Where the servers of others are, by where the pages say that they are."""

    @property
    def projects(self) -> Path:
        """Below it sessions may work."""
        return Path(self.env["HOME"]) / "projects"

    def sweep(self) -> None:
        """Takes away what a page has made, so that the next one finds none of its names."""
        keys = f"users/{self._call('GET', 'me')['user']['id']}/credentials"
        for key in self._call("GET", keys)["items"]:
            self._call("DELETE", f"{keys}/{key['provider']}")
        for kind, query in _SWEPT.items():
            for one in self._call("GET", f"{kind}?limit=200")["items"]:
                if one.get("name") != OWN_MACHINE:
                    self._call("DELETE", f"{kind}/{one['id']}{query}")

    def _call(self, method: str, path: str) -> Any:
        data = Path(self.env["HOME"]) / ".local" / "share" / "trunkline"
        token = (data / "admin-token").read_text(encoding="utf-8").strip()
        request = urllib.request.Request(
            f"http://{self.address}/api/v1/{path}",
            method=method,
            headers={"Authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request, timeout=_WAIT_S) as response:
            return json.loads(response.read() or b"null")

    def ours(self, text: str) -> str:
        """A page's text with the addresses of this server, and of what stands in for others."""
        for theirs, here in self.others.items():
            text = text.replace(theirs, here)
        return text.replace(PUBLIC, f"http://{ADDRESS}").replace(ADDRESS, self.address)

    def theirs(self, text: str) -> str:
        return text.replace(self.address, ADDRESS)


@contextmanager
def running(folder: Path, others: Mapping[str, str]) -> Iterator[Server]:
    """Up, with its machine online."""
    env = _environment(folder)
    _begin_a_conversation(Path(env["HOME"]))
    command = "trunkline up --port 0 --no-browser --root ~/projects"
    up = Running(command, folder, env, folder / "up.log")
    try:
        address = up.until(lambda said: re.search(r"is up at http://(\S+)\nLog in", said))[1]
        _wait_for_machine(env, up)
        yield Server(env, address, up.printed, others)
    finally:
        up.close()


def _environment(folder: Path) -> dict[str, str]:
    home = folder / "home"
    (home / "projects").mkdir(parents=True)
    node = programs.node()
    places = [str(Path(sys.executable).parent), str(Path(node).parent) if node else ""]
    places += [str(CACHE.programs / name / "node_modules" / ".bin") for name in LENT]
    path = os.pathsep.join([*filter(None, places), os.environ["PATH"]])
    kept = {name: value for name, value in plain_environment().items() if "XDG" not in name}
    return kept | {"HOME": str(home), "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}


def _begin_a_conversation(home: Path) -> None:
    """As somebody who has used Claude Code before."""
    site = home / "projects" / "site"
    site.mkdir()
    foreign_files.claude_code(home, site)


def _wait_for_machine(env: dict[str, str], up: Running) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        listed = subprocess.run(
            ["trunkline", "machine", "list", "--json"], env=env, capture_output=True, check=True
        )
        if any(machine["online"] for machine in json.loads(listed.stdout)):
            return
        time.sleep(0.2)
    raise AssertionError(f"no machine: {up.printed}")
