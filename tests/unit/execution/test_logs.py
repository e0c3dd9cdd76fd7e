"""Logs of the execution plane: readable, and without what must not be read."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, sys, structlog
from trunkline.execution import logs
logs.configure(json_logs=sys.argv[1] == "json", level="info")
logs.hide(["sk-very-secret", None, "", "ab"])
log = structlog.get_logger()
log.debug("not shown")
log.info("key is sk-very-secret", key="sk-very-secret", session="s-1", about="cab")
def fail(key):
    raise ValueError("refused " + key)
try:
    fail("sk-very-secret")
except ValueError:
    log.exception("failed")
logging.getLogger("library").warning("sent %s", "sk-very-secret")
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_is_shown_nowhere(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, form], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert "sk-very-secret" not in done.stderr
    assert "not shown" not in done.stderr
    assert "key is ***" in done.stderr
    assert "refused ***" in done.stderr
    assert "sent ***" in done.stderr
    assert "cab" in done.stderr  # two letters are no secret


def test_json_logs_are_one_object_a_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "json"], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("{")]
    assert [json.loads(line)["level"] for line in lines] == ["info", "error"]
    assert json.loads(lines[0])["session"] == "s-1"
