"""A chat without a terminal."""

from trunkline.cli.chat.pipe import Failures
from trunkline.client import Event

REFUSED = {"type": "execution_error", "error": "no repository", "code": "WORKSPACE_REFUSED"}


def test_a_failure_is_said_once() -> None:
    failures = Failures()
    said = [
        REFUSED,
        {"type": "user_message", "content": "hi"},
        {**REFUSED, "turn_id": "t"},
        {**REFUSED, "turn_id": "t2"},
        {**REFUSED, "error": "another"},
    ]
    again = [failures.is_again(Event(number, data)) for number, data in enumerate(said, 1)]
    assert again == [False, False, True, False, False]
