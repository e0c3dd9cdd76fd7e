"""The server that the examples of the manual talk to: `trunkline up`, as a reader starts it, with a
home folder of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.program import plain_environment
from trunkline.execution.runtimes import programs

OWN_MACHINE = "this computer"
ADDRESS = "127.0.0.1:8080"
"""Where the pages say that it listens."""
_START_S = 60.0
_STOP_S = 30.0
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

    @property
    def projects(self) -> Path:
        """Below it sessions may work."""
        return Path(self.env["HOME"]) / "projects"

    def sweep(self) -> None:
        """Takes away what a page has made, so that the next one finds none of its names."""
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
        """A page's text with the address of this server."""
        return text.replace(ADDRESS, self.address)

    def theirs(self, text: str) -> str:
        return text.replace(self.address, ADDRESS)


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """Up, with its machine online."""
    env = _environment(folder)
    log = folder / "up.log"
    with log.open("wb") as output:
        up = subprocess.Popen(
            ["trunkline", "up", "--port", "0", "--no-browser", "--root", f"{env['HOME']}/projects"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        address = _address(up, log)
        _wait_for_machine(env, log)
        yield Server(env, address, log.read_text(encoding="utf-8"))
    finally:
        up.send_signal(signal.SIGTERM)
        try:
            up.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(up.pid, signal.SIGKILL)
            up.wait(_STOP_S)


def _environment(folder: Path) -> dict[str, str]:
    home = folder / "home"
    (home / "projects").mkdir(parents=True)
    node = programs.node()
    places = [str(Path(sys.executable).parent), str(Path(node).parent) if node else ""]
    path = os.pathsep.join([*filter(None, places), os.environ["PATH"]])
    kept = {name: value for name, value in plain_environment().items() if "XDG" not in name}
    return kept | {"HOME": str(home), "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}


def _address(up: "subprocess.Popen[bytes]", log: Path) -> str:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and up.poll() is None:
        if found := re.search(r"is up at http://(\S+)", log.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"no server: {log.read_text(encoding='utf-8')}")


def _wait_for_machine(env: dict[str, str], log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        listed = subprocess.run(
            ["trunkline", "machine", "list", "--json"], env=env, capture_output=True, check=True
        )
        if any(machine["online"] for machine in json.loads(listed.stdout)):
            return
        time.sleep(0.2)
    raise AssertionError(f"no machine: {log.read_text(encoding='utf-8')}")
