"""One event is one line, with its session and machine, and without its secrets."""

import errno
import io
import json
import logging as stdlib
from collections.abc import Iterator

import pytest
import structlog

from trunkline import limits
from trunkline.control import logging
from trunkline.control.ids import new_secret


@pytest.fixture(autouse=True)
def _clean_slate() -> Iterator[None]:
    root = stdlib.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(*, json_logs: bool = False, level: str = "info") -> io.StringIO:
    out = io.StringIO()
    logging.configure(json_logs=json_logs, level=level, stream=out)
    return out


def test_a_readable_line_has_time_level_event_session_and_machine() -> None:
    out = lines()
    structlog.get_logger().info("line opened", kind="vm", machine="m-1", session="s-1")
    line = out.getvalue()
    assert line.endswith(" info    line opened session=s-1 machine=m-1 kind=vm\n")
    assert line[:4].isdigit()


def test_json_logs_are_one_object_a_line() -> None:
    out = lines(json_logs=True)
    structlog.get_logger().warning("held", count=3, session="s-1")
    event = json.loads(out.getvalue())
    assert event["event"] == "held"
    assert (event["level"], event["count"], event["session"]) == ("warning", 3, "s-1")
    assert event["timestamp"].endswith("Z")


@pytest.mark.parametrize("json_logs", [False, True])
def test_hostile_values_cannot_forge_a_line(json_logs: bool) -> None:
    out = lines(json_logs=json_logs)
    evil = 'x"\n2026-01-01 error forged\r\x1b[2J\u2028\x85\ud800'
    structlog.get_logger().info(evil, name=evil, nested={"a": [evil]}, **{f"key{evil}": 1})
    text = out.getvalue()
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text


@pytest.mark.parametrize("json_logs", [False, True])
def test_secrets_are_never_written(json_logs: bool) -> None:
    out = lines(json_logs=json_logs)
    secret = new_secret("tl")
    try:
        raise ValueError(f"bad header {secret}")
    except ValueError:
        structlog.get_logger().exception(
            f"refused {secret}",
            url=f"/ws/vm?ticket={secret}",
            deep={"list": [{"x": secret}]},
            raw=secret.encode(),
            api_key="plain-word",
        )
    assert secret not in out.getvalue()
    assert "plain-word" not in out.getvalue()
    assert "ValueError: bad header tl_***" in out.getvalue()


def test_an_error_is_one_line_that_says_what_and_where() -> None:
    out = lines()
    try:
        raise RuntimeError("first\nsecond")
    except RuntimeError as error:
        structlog.get_logger().error("relay failed", exc_info=error, session="s-1")
    line = out.getvalue()
    assert len(line.splitlines()) == 1
    assert r'error="RuntimeError: first\nsecond"' in line
    assert "test_logging.py:" in line


def test_a_long_value_is_cut() -> None:
    out = lines(json_logs=True)
    structlog.get_logger().info("frame", body="x" * 10_000_000)
    assert len(out.getvalue()) < limits.LOG_VALUE_CHARS_MAX + 500


def test_a_cut_does_not_bring_a_halved_secret_into_view() -> None:
    out = lines(json_logs=True)
    secret = new_secret("tl")
    structlog.get_logger().info("x", body="-" * (limits.LOG_VALUE_CHARS_MAX - 12) + " " + secret)
    assert secret[:11] not in out.getvalue()


def test_warnings_of_libraries_come_in_the_same_form_and_their_chatter_does_not() -> None:
    out = lines(json_logs=True)
    stdlib.getLogger("aiohttp.server").warning("bad request from %s", "tl_" + "a" * 30)
    stdlib.getLogger("alembic").info("context impl")
    (event,) = map(json.loads, out.getvalue().splitlines())
    assert event["logger"] == "aiohttp.server"
    assert event["event"] == "bad request from tl_***"
    assert event["level"] == "warning"


def test_an_error_of_a_library_keeps_its_cause() -> None:
    out = lines(json_logs=True)
    try:
        raise OSError("disk")
    except OSError:
        stdlib.getLogger("picows").exception("handler failed")
    event = json.loads(out.getvalue())
    assert event["error"] == "OSError: disk"


def test_levels_below_the_chosen_one_are_silent() -> None:
    out = lines(level="warning")
    structlog.get_logger().info("chatter")
    assert out.getvalue() == ""


def test_configuring_again_does_not_double_the_lines() -> None:
    lines()
    out = lines()
    stdlib.getLogger("aiohttp").warning("once")
    assert len(out.getvalue().splitlines()) == 1


@pytest.mark.parametrize("json_logs", [True, False])
def test_a_log_on_a_full_disk_ends_nobodys_work_and_says_what_is_missing(json_logs: bool) -> None:
    class Disk(io.StringIO):
        is_full = True

        def write(self, text: str) -> int:
            if self.is_full:
                raise OSError(errno.ENOSPC, "no room")
            return super().write(text)

    out = Disk()
    logging.configure(json_logs=json_logs, level="info", stream=out)
    log = structlog.get_logger()
    log.info("lost")
    stdlib.getLogger("a library").warning("lost too")
    out.is_full = False
    log.info("there")
    missing, there = out.getvalue().splitlines()
    assert "lines of this log are missing" in missing
    assert "2" in missing
    assert "there" in there
    if json_logs:
        assert json.loads(missing)["lines"] == 2
