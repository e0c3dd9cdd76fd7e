"""Logs of the execution plane: readable, and without what must not be read."""

import json
import re
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
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["info", "error", "warning"]
    assert lines[0]["session"] == "s-1"
    assert lines[1]["error"] == "ValueError: refused ***"
    assert lines[2]["logger"] == "library"
    assert all(line["timestamp"].endswith("Z") for line in lines)


_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "


def test_readable_logs_have_the_documented_form() -> None:
    """docs/operate/logs.md: time, level, event, session and machine, then the rest."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "text"], capture_output=True, text=True, check=True
    )
    said, failed, library = done.stderr.splitlines()
    assert re.fullmatch(_TIME + r"info    key is \*\*\* session=s-1 key=\*\*\* about=cab", said)
    assert re.fullmatch(
        _TIME + r'error   failed error="ValueError: refused \*\*\*" at="\S+:\d+ fail < .+"', failed
    )
    assert re.fullmatch(_TIME + r"warning sent \*\*\* logger=library", library)


HOSTILE = """
import sys, structlog
from trunkline.execution import logs
logs.configure(json_logs=sys.argv[1] == "json", level="info")
logs.hide(["sk-very-secret"])
evil = 'x"\\n2026-01-01 error forged\\r\\x1b[2J\\u2028\\x85\\ud800'
log = structlog.get_logger()
log.info(evil, name=evil, nested={"a": [evil]}, **{f"key{evil}": 1})
log.info("long", text="x" * 3_995 + "sk-very-secret" + "y" * 10_000)
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_values_forge_no_line_and_long_ones_are_cut(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, form], capture_output=True, text=True, check=True
    )
    evil, long = done.stderr.splitlines()
    assert "\x1b" not in evil
    assert "x" * 3_995 + "***" in long
    assert "sk-" not in long
    assert len(long) < 4_200
