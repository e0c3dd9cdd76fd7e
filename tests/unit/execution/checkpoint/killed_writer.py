"""Kills writers of checkpoints in the middle and looks at what is left: `… FOLDER ROUNDS`.

A program of its own: it forks, which a test run had better not.
"""

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from tests.unit.execution.checkpoint.savers import done, opened, place, put
from trunkline.execution.checkpoint.files import latest
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer


def state(number: int) -> dict[str, Any]:
    return {"number": number, "text": f"{number} " * 20_000, "packed": {number, number + 1}}


def write_for_ever(session_dir: Path, start: int, told: int) -> None:
    saver = LocalCheckpointer(session_dir)
    for number in itertools.count(start):
        one = f"{number:06}"
        put(saver, one, state(number), version=number)
        done(saver.aput_writes(place(one), [("number", number), ("text", "x" * 5_000)], "task"))
        os.write(told, one.encode())


def one_round(session_dir: Path, start: int, steps: int) -> int:
    """Gives the number of the last checkpoint whose writing was finished."""
    hears, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(hears)
        write_for_ever(session_dir, start, told)
    os.close(told)
    seen = b""
    while len(seen) < 6 * steps:
        news = os.read(hears, 6)
        assert news, "the writer ended by itself"
        seen += news
    # The writer is on its way to the next checkpoint: somewhere in its middle.
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(hears, "rb") as rest:
        seen += rest.read()
    return int(seen[-6:])


def check(session_dir: Path, finished: int) -> int:
    with capture_logs() as logs:
        found = opened(LocalCheckpointer(session_dir))
        document = latest(session_dir)
    assert all(log["event"] == "checkpoint_writes_skipped" for log in logs), logs
    number = int(found.checkpoint["id"])
    assert number >= finished
    assert found.checkpoint["channel_values"] == state(number)
    expected = [("task", "number", number), ("task", "text", "x" * 5_000)]
    assert found.pending_writes == expected or (number > finished and not found.pending_writes)
    assert document is not None
    assert int(document["checkpoint_id"]) == number
    names = [path.name for path in (session_dir / "checkpoints").iterdir()]
    assert not [name for name in names if name.startswith(".")]
    assert len(names) <= 22, names
    return number


def main(session_dir: Path, rounds: int) -> None:
    start = 1
    for number in range(rounds):
        finished = one_round(session_dir, start, steps=number % 7 + 1)
        start = check(session_dir, finished) + 1
    print(start - 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
