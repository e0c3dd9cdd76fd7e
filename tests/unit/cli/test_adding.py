"""What `trunkline machine add` tells a person: the line to paste, and what stands in its way."""

import time
from typing import Any

import pytest

from trunkline.cli import adding
from trunkline.cli.output import CommandFailed, Json, by_words

LOCAL = ["ssh -N -L 8080:127.0.0.1:8080", "trunkline up --host 0.0.0.0", "TRUNKLINE_PUBLIC_URL"]
OPEN = "not encrypted"


def made(url: str, reach: str, *others: str, left_s: float = 900.0) -> Json:
    command = f"trunkline node --join ABCD-EFGH-JKMN --url {url}"
    return {
        "machine_id": "m-1",
        "expires_at": int((time.time() + left_s) * 1000),
        "command": command,
        "command_without_install": f"uvx --from trunkline {command}",
        "url": url,
        "urls": [url, *others],
        "reach": reach,
    }


@pytest.mark.parametrize(
    ("code", "says", "never"),
    [
        (made("https://trunk.example", "named"), [], [OPEN, "Note:", "ssh"]),
        (made("http://10.0.0.7:8080", "network"), [OPEN], ["Note:", "may do"]),
        (made("http://10.0.0.7:8080", "network", "http://h"), ["may do: http://h", OPEN], []),
        (made("http://127.0.0.1:8080", "local"), LOCAL, [OPEN]),
        (made("http://[::1]", "local"), ["ssh -N -L 80:127.0.0.1:80"], []),
    ],
)
def test_the_line_comes_first_and_then_what_stands_in_its_way(
    code: Json, says: list[str], never: list[str]
) -> None:
    text = adding.instructions(code)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    assert lines[1] == code["command"]
    assert code["command_without_install"] in lines
    assert [one for one in says if one not in text] == []
    assert [one for one in never if one in text] == []


def test_in_a_narrow_terminal_words_stay_whole_and_lines_to_copy_are_lines() -> None:
    text = adding.instructions(made("http://127.0.0.1:8080", "local"))
    shown = by_words(text, 40)
    assert shown.split() == text.split()
    lines = [line for line in shown.splitlines() if line]
    assert max(len(line) for line in lines if not line.startswith(" ")) <= 40
    commands = [line.strip() for line in lines if line.startswith(" ")]
    assert [one.split()[0].partition("=")[0] for one in commands] == [
        *("trunkline", "uvx", "ssh", "trunkline", "TRUNKLINE_PUBLIC_URL")
    ]


class Server:
    """Answers with these records in turn."""

    def __init__(self, *machines: Json) -> None:
        self._machines = list(machines)

    async def get(self, *_path: str) -> Json:
        return self._machines.pop(0)


def record(**fields: Any) -> Json:
    usual = {"name": "lap\ttop", "online": False, "state": "pending", "detail": None}
    return {**usual, "runtimes": None, **fields}


async def test_a_machine_has_come_when_it_has_said_what_it_can_run() -> None:
    runtimes = {"semigraph": {"usable": True}}
    server: Any = Server(record(online=True), record(online=True, runtimes=runtimes))
    come = await adding.arrival(server, made("http://h", "named"))
    assert come["runtimes"] == runtimes
    assert adding.welcome(come, "can run: semigraph") == (
        r"lap\ttop is connected; it can run semigraph."
    )
    assert adding.welcome(come, "") == r"lap\ttop is connected."


def test_whoever_does_not_wait_is_told_how_to_look_by_name() -> None:
    assert "`trunkline machine show 'lap top'`" in adding.left_early("lap top")
    assert "`trunkline machine list`" in adding.left_early(None)


@pytest.mark.parametrize(
    ("machine", "left_s", "says"),
    [
        (record(state="terminated", detail="its join code ended unused"), 900, "ended unused"),
        (record(state="failed"), -1000, "its join code ended"),
    ],
)
async def test_whoever_waits_in_vain_is_told(machine: Json, left_s: float, says: str) -> None:
    server: Any = Server(machine)
    with pytest.raises(CommandFailed, match=says):
        await adding.arrival(server, made("http://h", "named", left_s=left_s))
