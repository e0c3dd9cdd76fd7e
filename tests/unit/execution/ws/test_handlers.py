"""Who gets which message, in which order, and what happens to early ones."""

import asyncio
from typing import Any

import pytest
import structlog

from tests.support.eventually import eventually
from trunkline import limits
from trunkline.execution.ws.downlink import ForSession
from trunkline.execution.ws.handlers import MACHINE, Handlers

Json = dict[str, Any]


def say(number: int, session_id: str = "s-1") -> ForSession:
    return ForSession("user_message", session_id, {"n": number, "turn_id": f"t-{number}"})


class Seen:
    """Notes what it is given; can be made to wait."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def slowly(self, data: Json) -> None:
        await self.gate.wait()
        self.numbers.append(data["n"])

    def at_once(self, data: Json) -> None:
        self.numbers.append(data["n"])

    async def until(self, *numbers: int) -> None:
        async def look() -> list[int]:
            return self.numbers

        await eventually(look, lambda seen: seen == list(numbers))


async def test_a_sessions_messages_are_handled_one_after_the_other() -> None:
    handlers, seen = Handlers(), Seen()
    handlers["s-1"] = {"user_message": seen.slowly}
    seen.gate.clear()
    for number in (1, 2, 3):
        handlers.dispatch(say(number))
    assert seen.numbers == []
    seen.gate.set()
    await seen.until(1, 2, 3)


@pytest.mark.proves("004-3.1-handlers-do-not-block")
async def test_a_slow_session_holds_up_nobody_else() -> None:
    handlers, slow, quick = Handlers(), Seen(), Seen()
    slow.gate.clear()
    handlers["s-1"] = {"user_message": slow.slowly}
    handlers["s-2"] = {"user_message": quick.at_once}
    handlers.dispatch(say(1, "s-1"))
    handlers.dispatch(say(2, "s-2"))
    await quick.until(2)
    assert slow.numbers == []
    await handlers.close()


async def test_messages_that_come_before_their_handlers_wait_in_order() -> None:
    handlers, seen = Handlers(), Seen()
    for number in (1, 2):
        handlers.dispatch(say(number))
    handlers["s-1"] = {"user_message": seen.at_once}
    handlers.dispatch(say(3))
    await seen.until(1, 2, 3)


async def test_a_message_waits_for_the_start_of_its_session() -> None:
    """As they come after a reconnect: start, message, and a stop right behind."""
    handlers, seen = Handlers(), Seen()
    order: list[str] = []

    async def start(data: Json) -> None:
        order.append("start")
        await seen.gate.wait()
        handlers[data["session_id"]] = {"user_message": lambda _data: order.append("message")}

    async def stop(_data: Json) -> None:
        order.append("stop")

    seen.gate.clear()
    handlers[MACHINE] = {"start_session": start, "stop_session": stop}
    handlers.dispatch(ForSession("start_session", "s-1", {"session_id": "s-1"}))
    handlers.dispatch(say(1))
    seen.gate.set()

    async def look() -> list[str]:
        return order

    await eventually(look, lambda seen: seen == ["start", "message"])
    handlers.dispatch(ForSession("stop_session", "s-1", {"session_id": "s-1"}))
    await eventually(look, lambda seen: seen == ["start", "message", "stop"])


async def test_messages_for_the_machine_wait_until_somebody_handles_them() -> None:
    handlers, seen = Handlers(), Seen()
    handlers.dispatch(ForSession("start_session", "s-1", {"n": 1}))
    handlers.dispatch(ForSession("config_update", None, {"n": 2}))
    handlers[MACHINE] = {"start_session": seen.at_once, "config_update": seen.at_once}
    await seen.until(1, 2)


async def test_only_so_many_early_messages_are_kept() -> None:
    handlers, seen = Handlers(), Seen()
    with structlog.testing.capture_logs() as logs:
        for number in range(limits.EARLY_MESSAGES_MAX + 2):
            handlers.dispatch(say(number))
    assert [entry["log_level"] for entry in logs] == ["warning", "warning"]
    handlers["s-1"] = {"user_message": seen.at_once}
    await seen.until(*range(limits.EARLY_MESSAGES_MAX))


async def test_only_so_many_unknown_sessions_are_waited_for() -> None:
    handlers, seen = Handlers(), Seen()
    with structlog.testing.capture_logs() as logs:
        for number in range(limits.EARLY_SESSIONS_MAX + 1):
            handlers.dispatch(say(number, f"s-{number}"))
    assert len(logs) == 1
    handlers[f"s-{limits.EARLY_SESSIONS_MAX}"] = {"user_message": seen.at_once}
    handlers["s-0"] = {"user_message": seen.at_once}
    await seen.until(0)


async def test_a_session_that_takes_nothing_does_not_fill_the_memory() -> None:
    handlers, seen = Handlers(), Seen()
    seen.gate.clear()
    handlers["s-1"] = {"user_message": seen.slowly}
    with structlog.testing.capture_logs() as logs:
        for number in range(limits.LANE_MESSAGES_MAX + 3):
            handlers.dispatch(say(number))
    assert [entry["log_level"] for entry in logs] == ["error"] * 3
    await handlers.close()


async def test_a_handler_that_fails_is_logged_and_the_next_message_is_handled() -> None:
    handlers, seen = Handlers(), Seen()

    def fail(_data: Json) -> None:
        raise RuntimeError("broken")

    handlers["s-1"] = {"user_message": seen.at_once, "cancel": fail}
    with structlog.testing.capture_logs() as logs:
        handlers.dispatch(ForSession("cancel", "s-1", {}))
        handlers.dispatch(ForSession("approval_response", "s-1", {}))
        handlers.dispatch(say(1))
        await seen.until(1)
    assert sorted(entry["type"] for entry in logs) == ["approval_response", "cancel"]


async def test_a_forgotten_session_gets_nothing_that_waited_for_it() -> None:
    handlers, seen = Handlers(), Seen()
    handlers.dispatch(say(1))
    handlers.forget("s-1")
    handlers["s-1"] = {"user_message": seen.at_once}
    handlers.dispatch(say(2))
    await seen.until(2)


async def test_turns_of_messages_that_wait_are_named() -> None:
    handlers, seen = Handlers(), Seen()
    seen.gate.clear()
    handlers["s-1"] = {"user_message": seen.slowly}
    handlers.dispatch(say(1))
    handlers.dispatch(say(2, "s-2"))
    assert handlers.turns() == {"t-1", "t-2"}
    seen.gate.set()
    await seen.until(1)
    assert handlers.turns() == {"t-2"}
