"""Ends of processes in words and codes."""

import signal

import pytest

from trunkline.execution.process.child import Exit, LastWords, failure_of

KILLED = Exit(signal=signal.SIGKILL)


@pytest.mark.parametrize(
    ("end", "seen", "code"),
    [
        (Exit(exit_code=3), {}, "SESSION_CRASHED"),
        (Exit(signal=signal.SIGSEGV), {}, "SESSION_CRASHED"),
        (Exit(), {}, "SESSION_CRASHED"),
        (KILLED, {}, "SESSION_CRASHED"),
        (KILLED, {"oom_kills": 1}, "SESSION_OUT_OF_MEMORY"),
        (Exit(signal=signal.SIGSEGV), {"oom_kills": 1}, "SESSION_CRASHED"),
        (KILLED, {"hung": True, "oom_kills": 1}, "SESSION_HUNG"),
        (KILLED, {"broken": "it lied"}, "SESSION_CRASHED"),
        (Exit(exit_code=1), {"said": LastWords("NO_ROOM", "full")}, "NO_ROOM"),
    ],
)
def test_an_end_has_a_code(end: Exit, seen: dict[str, object], code: str) -> None:
    assert failure_of(end, **seen).code == code  # type: ignore[arg-type]


def test_a_kill_that_was_not_ours_says_what_it_may_have_been() -> None:
    assert "may have needed too much memory" in failure_of(KILLED).message
    assert "memory" not in failure_of(KILLED, hung=True).message


def test_the_event_names_the_exit_code_or_the_signal() -> None:
    assert failure_of(Exit(exit_code=3)).fields() == {
        "error": "the session's process ended with exit code 3",
        "code": "SESSION_CRASHED",
        "exit_code": 3,
    }
    assert failure_of(Exit(signal=signal.SIGSEGV)).fields()["signal"] == "SIGSEGV"
