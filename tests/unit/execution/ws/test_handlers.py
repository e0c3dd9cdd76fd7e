"""Who gets which message, in which order, and what happens to early ones."""

import asyncio
from typing import Any

import pytest
import structlog

from trunkline.execution.line import MACHINE
from trunkline.execution.ws.handlers import EARLY_MESSAGES_MAX, EARLY_SESSIONS_MAX, Handlers
from trunkline.execution.ws.messages import ForSession

Json = dict[str, Any]


def say(number: int, session_id: str = "s-1") -> ForSession:
    return ForSession("user_message", session_id, {"n": number, "turn_id": f"t-{number}"})


class Seen:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, data: Json) -> None:
        self.numbers.append(data["n"])


def test_a_sessions_messages_are_handled_at_once_and_in_order() -> None:
    handlers, seen, other = Handlers(), Seen(), Seen()
    handlers["s-1"] = {"user_message": seen}
    handlers["s-2"] = {"user_message": other}
    for number in (1, 2, 3):
        handlers.dispatch(say(number))
    handlers.dispatch(say(4, "s-2"))
    assert (seen.numbers, other.numbers) == ([1, 2, 3], [4])


@pytest.mark.proves("004-3.1-handlers-do-not-block")
async def test_a_start_that_takes_long_holds_up_nobody() -> None:
    handlers, seen = Handlers(), Seen()
    is_up = asyncio.Event()

    def start(data: Json) -> asyncio.Task[None]:
        async def come_up() -> None:
            await is_up.wait()

        handlers[data["session_id"]] = {"user_message": seen}
        return asyncio.create_task(come_up())

    handlers[MACHINE] = {"start_session": start}
    handlers["s-2"] = {"user_message": seen}
    starting = handlers.dispatch(ForSession("start_session", "s-1", {"session_id": "s-1"}))
    handlers.dispatch(say(1, "s-1"))
    handlers.dispatch(say(2, "s-2"))
    assert seen.numbers == [1, 2]
    is_up.set()
    assert starting is not None
    await starting


def test_messages_that_come_before_their_handlers_wait_in_order() -> None:
    handlers, seen = Handlers(), Seen()
    for number in (1, 2):
        handlers.dispatch(say(number))
    handlers["s-1"] = {"user_message": seen}
    handlers.dispatch(say(3))
    assert seen.numbers == [1, 2, 3]


def test_messages_for_the_machine_wait_until_somebody_handles_them() -> None:
    handlers, seen = Handlers(), Seen()
    handlers.dispatch(ForSession("start_session", "s-1", {"n": 1}))
    handlers.dispatch(ForSession("config_update", None, {"n": 2}))
    handlers[MACHINE] = {"start_session": seen, "config_update": seen}
    assert seen.numbers == [1, 2]


def test_only_so_many_early_messages_are_kept() -> None:
    handlers, seen = Handlers(), Seen()
    with structlog.testing.capture_logs() as logs:
        for number in range(EARLY_MESSAGES_MAX + 2):
            handlers.dispatch(say(number))
    assert [entry["log_level"] for entry in logs] == ["warning", "warning"]
    handlers["s-1"] = {"user_message": seen}
    assert seen.numbers == list(range(EARLY_MESSAGES_MAX))


def test_only_so_many_unknown_sessions_are_waited_for() -> None:
    handlers, seen = Handlers(), Seen()
    with structlog.testing.capture_logs() as logs:
        for number in range(EARLY_SESSIONS_MAX + 1):
            handlers.dispatch(say(number, f"s-{number}"))
    assert len(logs) == 1
    handlers[f"s-{EARLY_SESSIONS_MAX}"] = {"user_message": seen}
    handlers["s-0"] = {"user_message": seen}
    assert seen.numbers == [0]


def test_a_handler_that_fails_is_logged_and_the_next_message_is_handled() -> None:
    handlers, seen = Handlers(), Seen()

    def fail(_data: Json) -> None:
        raise RuntimeError("broken")

    handlers["s-1"] = {"user_message": seen, "cancel": fail}
    with structlog.testing.capture_logs() as logs:
        handlers.dispatch(ForSession("cancel", "s-1", {}))
        handlers.dispatch(ForSession("approval_response", "s-1", {}))
        handlers.dispatch(say(1))
        assert seen.numbers == [1]
    assert sorted(entry["type"] for entry in logs) == ["approval_response", "cancel"]


def test_a_forgotten_session_gets_nothing_that_waited_for_it() -> None:
    handlers, seen = Handlers(), Seen()
    handlers.dispatch(say(1))
    handlers.forget("s-1")
    handlers["s-1"] = {"user_message": seen}
    handlers.dispatch(say(2))
    assert seen.numbers == [2]


def test_turns_of_messages_that_nobody_handles_yet_are_named() -> None:
    handlers, seen = Handlers(), Seen()
    handlers["s-1"] = {"user_message": seen}
    handlers.dispatch(say(1))
    handlers.dispatch(say(2, "s-2"))
    assert handlers.turns() == {"t-2"}
    handlers["s-2"] = {"user_message": seen}
    assert handlers.turns() == set()
