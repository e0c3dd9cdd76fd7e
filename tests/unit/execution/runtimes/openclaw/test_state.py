"""What the gateway keeps between its runs: nothing of sessions that are gone, no turn to go on."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from trunkline.execution.runtimes.openclaw.config import agent_id
from trunkline.execution.runtimes.openclaw.state import tidy


def database(state: Path, session: str) -> Path:
    folder = state / "agents" / agent_id(session) / "agent"
    folder.mkdir(parents=True)
    return folder / "openclaw-agent.sqlite"


def test_a_turn_that_was_interrupted_is_over_and_others_stay_as_they_are(tmp_path: Path) -> None:
    file = database(tmp_path, "s-1")
    entry = {"status": "running", "abortedLastRun": True, "mainRestartRecovery": {}, "label": "x"}
    with closing(sqlite3.connect(file)) as made, made:
        made.execute("CREATE TABLE session_nodes (session_key, status, entry_json)")
        for key, status in (("a", "running"), ("b", "done")):
            made.execute(
                "INSERT INTO session_nodes VALUES (?, ?, ?)", (key, status, json.dumps(entry))
            )
    tidy(tmp_path, ["s-1"])
    with closing(sqlite3.connect(file)) as read:
        rows = read.execute("SELECT status, entry_json FROM session_nodes ORDER BY session_key")
        [first, second] = [(status, json.loads(text)) for status, text in rows]
    assert first == ("killed", {"status": "killed", "abortedLastRun": False, "label": "x"})
    assert second == ("done", entry)


def test_records_of_another_shape_are_left_alone(tmp_path: Path) -> None:
    file = database(tmp_path, "s-1")
    file.write_bytes(b"no database")
    with closing(sqlite3.connect(database(tmp_path, "s-2"))) as made, made:
        made.execute("CREATE TABLE other (x)")
    tidy(tmp_path, ["s-1", "s-2"])
    assert file.read_bytes() == b"no database"
