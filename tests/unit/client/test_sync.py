"""The client without coroutines: the same as the other, and light to import."""

import inspect
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from trunkline.client import ApiError, Client, SyncClient
from trunkline.client.loop import LoopThread
from trunkline.client.sessions import Sessions
from trunkline.client.sync import SyncSessions


def surface(kind: type) -> dict[str, list[Any]]:
    """Names of methods, with what they take."""
    found = {}
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            parameters = inspect.signature(method).parameters.values()
            found[name] = [
                (one.name, one.kind, one.default)
                + ((one.annotation,) if one.name != "on_question" else ())
                for one in parameters
            ]
    return found


@pytest.mark.parametrize(("one", "other"), [(Client, SyncClient), (Sessions, SyncSessions)])
def test_both_clients_have_the_same_methods(one: type, other: type) -> None:
    assert len(surface(one)) > 8
    assert surface(one) == surface(other)


def test_both_clients_begin_alike() -> None:
    begun = [dict(inspect.signature(kind).parameters) for kind in (Client, SyncClient)]
    del begun[0]["sleep"]
    assert begun[0] == begun[1]


def test_the_client_loads_no_server_and_no_library_before_it_is_used() -> None:
    code = (
        "import sys, trunkline.client; "
        "print([one for one in sys.modules if one.startswith(('trunkline.control', 'aiohttp'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def count(ended: list[str]) -> AsyncGenerator[int, None]:
    try:
        for number in range(1000):
            yield number
    finally:
        ended.append(threading.current_thread().name)


async def nothing() -> None:
    pass


def test_an_iterator_that_is_left_ends_in_its_own_loop() -> None:
    loop, ended = LoopThread(), list[str]()
    for number in loop.each(count(ended)):
        if number == 2:
            break
    assert ended == ["trunkline-client"]
    left = loop.each(count(ended))
    assert next(left) == 0
    loop.close(nothing)
    assert ended == ["trunkline-client"] * 2
    left.close()
    assert "trunkline-client" not in [one.name for one in threading.enumerate()]


def test_what_a_caller_hands_in_fails_where_the_caller_is() -> None:
    loop = LoopThread()

    def refuse() -> None:
        raise LookupError(threading.current_thread().name)

    with pytest.raises(LookupError, match=threading.current_thread().name):
        loop.run_with_calls(lambda here: here(refuse))
    loop.close(nothing)


@pytest.mark.parametrize(("status", "hint"), [(401, "TRUNKLINE_TOKEN"), (403, "scope"), (404, "")])
def test_an_error_says_what_to_do(status: int, hint: str) -> None:
    error = ApiError(status, "SOME_CODE", "no")
    assert str(error) == "no"
    assert hint in error.hint
    assert hint in error.__notes__[0]
