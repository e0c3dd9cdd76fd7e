"""What a machine's process prints becomes lines of the log, whatever it prints."""

import asyncio
import io
import json
import logging as stdlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from trunkline import limits
from trunkline.control import logging
from trunkline.control.machines.process_output import note
from trunkline.control.machines.processes import Child, scrubbed

BOUND_S = 30
SECRET = "tl_" + "a" * 30


@pytest.fixture(autouse=True)
def _clean_slate() -> Iterator[None]:
    root = stdlib.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def out() -> io.StringIO:
    stream = io.StringIO()
    logging.configure(json_logs=True, level="debug", stream=stream)
    return stream


def logged(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "critical"])
def test_a_json_log_line_keeps_its_level_and_its_fields(out: io.StringIO, level: str) -> None:
    said = note(
        line(event="session started", level=level, timestamp="2026-01-01T00:00:00Z", session="s-1"),
        "m-1",
    )
    (entry,) = logged(out)
    assert said == entry["event"] == "session started"
    assert (entry["level"], entry["session"], entry["machine"]) == (level, "s-1", "m-1")
    assert entry["timestamp"] != "2026-01-01T00:00:00Z"


def test_values_are_numbers_texts_and_what_is_nested_as_text(out: io.StringIO) -> None:
    note(line(event="e", level="info", n=7, f=0.5, b=True, z=None, d={"a": [1]}), "m-1")
    (entry,) = logged(out)
    assert [entry[name] for name in "nfbz"] == [7, 0.5, True, None]
    assert json.loads(entry["d"]) == {"a": [1]}


@pytest.mark.parametrize(
    "text",
    [
        "Traceback (most recent call last):",
        "{not json",
        "{}",
        "[1]",
        '"text"',
        '{"event": "no level"}',
        '{"level": "info"}',
        '{"event": "", "level": "info"}',
        '{"event": "e", "level": "loud"}',
        '{"event": "e", "level": ["info"]}',
        '{"event": {"a": 1}, "level": "info"}',
        '{"event": "\\ud800", "level": "info"}',
        '{"event": "e", "level": "info"} and more',
        '{"event": "e", "level": "info", "deep": ' + "[" * 5_000,
    ],
)
def test_anything_else_is_output(out: io.StringIO, text: str) -> None:
    said = note(text.encode(), "m-1")
    (entry,) = logged(out)
    assert (entry["event"], entry["level"], entry["machine"]) == ("vm output", "info", "m-1")
    assert entry["text"] == said == text[: limits.VM_OUTPUT_LINE_CHARS_MAX]


def test_an_empty_line_is_none(out: io.StringIO) -> None:
    assert [note(text, "m-1") for text in (b"", b"  \r")] == ["", ""]
    assert logged(out) == []


def test_a_line_cannot_speak_for_another_machine_or_upset_the_log(out: io.StringIO) -> None:
    names = ["machine", "timestamp", "exc_info", "stack_info", "self", "method_name", "logger"]
    names += [
        "_record",
        "_from_structlog",
        "Name",
        "na me",
        "x" * 41,
        "",
        "a=b",
        "\n",
        "args",
        "kw",
    ]
    note(line(event="%s %d {x}", level="error", **dict.fromkeys(names, True)), "m-1")
    (entry,) = logged(out)
    assert entry.pop("machine") == "m-1"
    assert entry.pop("event") == "%s %d {x}"
    assert set(entry) == {"level", "timestamp", "logger", "args", "kw"}


@pytest.mark.parametrize("value", ["[" * 900 + "]" * 900, "1" * 10_000, "-" + "9" * 30, "1e308"])
def test_odd_values_are_shown_and_harmless(out: io.StringIO, value: str) -> None:
    note(b'{"event": "e", "level": "info", "odd": ' + value.encode() + b"}", "m-1")
    (entry,) = logged(out)
    assert entry["machine"] == "m-1"


@pytest.mark.parametrize("json_logs", [False, True])
def test_what_is_hostile_in_a_line_stays_in_that_line(json_logs: bool) -> None:
    stream = io.StringIO()
    logging.configure(json_logs=json_logs, level="info", stream=stream)
    evil = "x\n2026-01-01 error forged\r\x1b[2J\u2028\x85"
    note(line(event=evil, level="info", name=evil, deep={"a": [evil]}), "m-1")
    text = stream.getvalue()
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text


def test_secrets_are_not_shown(out: io.StringIO) -> None:
    note(
        line(
            event=f"refused {SECRET}",
            level="info",
            url=f"/ws?ticket={SECRET}",
            deep={"a": [SECRET], "password": "plain-word"},
            api_key="plain-word",
        ),
        "m-1",
    )
    assert SECRET not in out.getvalue()
    assert "plain-word" not in out.getvalue()


def test_a_line_is_bounded_in_its_fields_and_in_each_of_them(out: io.StringIO) -> None:
    many = {f"f{number}": "x" for number in range(1_000)}
    note(line(event="e", level="info", **many), "m-1")
    note(line(event="e", level="info", long="x" * 20_000), "m-1")
    note(line(event="e", level="info", long="x" * limits.VM_OUTPUT_LINE_BYTES_MAX), "m-1")
    first, second, third = logged(out)
    assert len(first) == limits.VM_OUTPUT_FIELDS_MAX + 4
    assert len(second["long"]) == limits.LOG_VALUE_CHARS_MAX + 1
    assert third["event"] == "vm output"
    assert len(third["text"]) == limits.VM_OUTPUT_LINE_CHARS_MAX


PROGRAM = """
import json, sys
print(json.dumps({"event": "ready", "level": "warning", "trace": "x" * 10_000}))
print("plain words")
print(json.dumps({"event": "no token=hunter2 more", "level": "error"}))
sys.exit(3)
"""


async def test_a_program_that_writes_json_lines_is_heard_line_by_line(
    out: io.StringIO, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        env = scrubbed(os.environ)
        child = await Child.start((sys.executable, "-c", PROGRAM), env, tmp_path, "m-1")
        how = await child.ended()
    assert how == "exited with 3: ready | plain words | no token=*** more"
    assert [(entry["event"], entry["level"]) for entry in logged(out)] == [
        ("ready", "warning"),
        ("vm output", "info"),
        ("no token=*** more", "error"),
    ]
