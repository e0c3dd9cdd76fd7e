"""A title that the model gives a session, once, after its first turn (`titling.py`)."""

from typing import Any

import pytest

from tests.support.eventually import until
from tests.support.model_server import Failure, Gate, ModelRequest, ModelServer, Turn
from tests.unit.execution.orchestrator.daemon import Daemon


def is_title(request: ModelRequest) -> bool:
    return "You name conversations" in request.system


def titles(daemon: Daemon) -> list[Any]:
    return [one.params["title"] for one in daemon.requests if one.method == "set_title"]


async def test_the_model_is_asked_once_beside_what_is_said_next(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.when(is_title, Turn(chunks=[gate, "Mending the build"]))
    model.script(Turn(text="Done."), Turn(text="Yes."))
    daemon.answers["set_title"] = lambda _: {"accepted": True}
    await daemon.start(session_config={"titles": True})
    assert (await daemon.ask("Mend the build " + "x" * 9_000))["content"] == "Done."
    await gate.reached.wait()
    assert (await daemon.ask("And now?"))["content"] == "Yes."
    assert titles(daemon) == []
    gate.open()
    await daemon.until(lambda: titles(daemon))
    assert titles(daemon) == ["Mending the build"]
    [asked] = [one for one in model.requests if is_title(one)]
    assert "Mend the build" in asked.prompt
    assert "Done." in asked.prompt
    assert len(asked.prompt) < 5_000
    # It is counted, and it is no part of either turn.
    assert [one.method for one in daemon.reports].count("usage_report") == 3
    assert [one["calls"] for one in daemon.of_type("usage")] == [1, 1]
    # The conversation is not new to the next process.
    await daemon.drop()
    model.otherwise(lambda _: Turn(text="Yes."))
    await daemon.start(session_config={"titles": True})
    assert (await daemon.ask("And again?"))["content"] == "Yes."
    await daemon.stop()
    assert sum(map(is_title, model.requests)) == 1


@pytest.mark.parametrize(
    ("config", "first"),
    [
        ({}, Turn(text="Done.")),
        ({"titles": False}, Turn(text="Done.")),
        ({"titles": True}, Failure(kind="bad_request")),
    ],
)
async def test_without_a_wish_or_an_answer_nobody_asks(
    daemon: Daemon, model: ModelServer, config: dict[str, Any], first: Any
) -> None:
    model.script(Turn(failure=first) if isinstance(first, Failure) else first)
    model.otherwise(lambda request: Turn(text="never" if is_title(request) else "later"))
    await daemon.start(session_config=config)
    await daemon.ask("Hello")
    if not isinstance(first, Failure):
        await daemon.ask("And now?")
    await daemon.stop()
    assert not any(map(is_title, model.requests))


async def test_a_model_that_fails_is_not_noticed(daemon: Daemon, model: ModelServer) -> None:
    model.when(is_title, Turn(failure=Failure(kind="bad_request")), Turn(text="late"))
    model.otherwise(lambda _: Turn(text="fine"))
    await daemon.start(session_config={"titles": True})
    await daemon.ask("Hello")
    await until(lambda: any(map(is_title, model.requests)))
    assert (await daemon.ask("And now?"))["content"] == "fine"
    assert titles(daemon) == []
    assert not daemon.of_type("execution_error")
    await daemon.stop()
    assert sum(map(is_title, model.requests)) == 1
