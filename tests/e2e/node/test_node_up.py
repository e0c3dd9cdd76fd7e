"""What a person does first: one command to start everything, one to talk to it. No key."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.control import free_port

PROGRAM = str(Path(sys.executable).parent / "trunkline")
BOUND_S = 90
_HIDDEN = ("TRUNKLINE", "API_KEY", "BASE_URL")


class Terminal:
    """Commands in one environment, against one `trunkline up`."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.log = folder / "up.log"
        env = {
            name: value
            for name, value in os.environ.items()
            if not any(hidden in name for hidden in _HIDDEN)
        }
        self.env = env | {
            "TRUNKLINE_DATA": str(self.data),
            "TRUNKLINE_PORT": str(free_port()),
        }

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [PROGRAM, *command],
            env=self.env,
            cwd=self.data.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    folder = tmp_path_factory.mktemp("up")
    terminal = Terminal(folder)
    with terminal.log.open("wb") as log:
        server = subprocess.Popen(
            [PROGRAM, "up"], env=terminal.env, cwd=folder, stdout=subprocess.PIPE, stderr=log
        )
    assert server.stdout is not None
    assert b"is up at" in server.stdout.readline()
    yield terminal
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=BOUND_S)
    assert server.returncode == 0


def test_a_chat_streams_shows_the_tool_and_ends(terminal: Terminal) -> None:
    """Right after the start: what is said before the machine is up waits for it."""
    first = terminal.run("chat", "list the files here")
    assert first.returncode == 0, first.stderr
    [workspace] = terminal.data.parent.glob("*-machines/*/workspace")
    (workspace / "plan.txt").write_text("to do")
    done = terminal.run("chat", "list the files here")
    assert done.returncode == 0, done.stderr
    assert re.search(r"→ (list_files|bash)", done.stderr)
    assert "plan.txt" in done.stdout


def test_what_the_machine_logs_are_lines_of_the_one_log(terminal: Terminal) -> None:
    assert terminal.run("chat", "help").returncode == 0
    said = [line for line in terminal.log.read_text().splitlines() if "session started" in line]
    assert said
    for line in said:
        # One time, its own level, its own fields.
        assert re.match(r"\S+ \S+ info +session started session=\S+ machine=\S+ ", line)
        assert "vm output" not in line


def test_the_machine_is_on_the_list(terminal: Terminal) -> None:
    [machine] = json.loads(terminal.run("machine", "list", "--json").stdout)
    assert machine["online"] is True
    assert machine["name"] == "this computer"


def test_the_built_in_model_answers_and_says_what_it_is(terminal: Terminal) -> None:
    done = terminal.run("chat", "--json", "--model", "local", "Say hello in one short sentence.")
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    pieces = [one["content"] for one in events if one["type"] == "text_chunk"]
    assert len(pieces) > 1
    assert "".join(pieces).strip()
    assert events[-1]["type"] == "execution_complete"
    told = " ".join(one["content"] for one in events if one["type"] == "thinking")
    assert "SmolLM2" in told
