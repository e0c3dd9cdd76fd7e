"""Ends of processes in words and codes."""

import signal

import pytest

from trunkline.execution.process.child import Exit, Failure, failure_of

KILLED = Exit(signal=signal.SIGKILL)
HUNG = Failure(code="SESSION_HUNG", message="it did not answer")


@pytest.mark.parametrize(
    ("end", "why", "oom_kills", "code"),
    [
        (Exit(exit_code=3), None, 0, "SESSION_CRASHED"),
        (Exit(signal=signal.SIGSEGV), None, 0, "SESSION_CRASHED"),
        (Exit(), None, 0, "SESSION_CRASHED"),
        (KILLED, None, 0, "SESSION_CRASHED"),
        (KILLED, None, 1, "SESSION_OUT_OF_MEMORY"),
        (Exit(signal=signal.SIGSEGV), None, 1, "SESSION_CRASHED"),
        (KILLED, HUNG, 1, "SESSION_HUNG"),
        (Exit(exit_code=1), Failure(code="NO_ROOM", message="full"), 0, "NO_ROOM"),
    ],
)
def test_an_end_has_a_code(end: Exit, why: Failure | None, oom_kills: int, code: str) -> None:
    assert failure_of(end, why, oom_kills=oom_kills).code == code


def test_a_kill_that_was_not_ours_says_what_it_may_have_been() -> None:
    assert "may have needed too much memory" in failure_of(KILLED).message
    assert "memory" not in failure_of(KILLED, HUNG).message


def test_the_event_names_the_exit_code_or_the_signal() -> None:
    assert failure_of(Exit(exit_code=3)).fields() == {
        "error": "the session's process ended with exit code 3",
        "code": "SESSION_CRASHED",
        "exit_code": 3,
        "signal": None,
    }
    assert failure_of(Exit(signal=signal.SIGSEGV)).fields()["signal"] == "SIGSEGV"
