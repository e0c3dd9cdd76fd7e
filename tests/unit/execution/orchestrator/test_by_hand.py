"""A person shortens the conversation: `/compact`."""

import pytest

from tests.support.model_server import Failure, Gate, ModelServer, Turn
from tests.support.small_model import SmallModel, is_summary
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.session import ipc

PARAGRAPH = "The quick brown fox jumps over the lazy dog and thinks about it. " * 12


@pytest.fixture
async def talked(daemon: Daemon, model: ModelServer) -> Daemon:
    """A session in which a few things were said."""
    model.otherwise(SmallModel(100_000))
    await daemon.start()
    for number in range(4):
        await daemon.ask(f"Message {number}. {PARAGRAPH}")
    return daemon


async def test_what_was_said_is_summed_up_and_stays_so(talked: Daemon, model: ModelServer) -> None:
    talked.send(ipc.Compact())
    told = await talked.event("context_compacted")
    assert (told["how"], told["by"], "turn_id" in told) == ("summary", "user", False)
    assert told["after_tokens"] < told["before_tokens"]
    await talked.drop()
    await talked.start()
    assert (await talked.ask("And now?"))["content"] == "Well said."
    last = str(model.requests[-1].messages)
    assert "number SEVEN" in last
    assert "Message 0." not in last


async def test_a_turn_that_runs_is_waited_for(talked: Daemon, model: ModelServer) -> None:
    gate = Gate()
    model.when(lambda request: request.prompt == "slowly", Turn(text="at last", gate=gate))
    turn = talked.say("slowly")
    await gate.reached.wait()
    talked.send(ipc.Compact())
    talked.send(ipc.Compact())
    later = talked.say("next")
    await talked.settled()
    assert talked.of_type("context_compacted") == []
    gate.open()
    assert (await talked.end(later))["content"] == "Well said."
    ends = [
        one for one in talked.events if one["type"] in ("execution_complete", "context_compacted")
    ]
    assert [one.get("turn_id") for one in ends[-3:]] == [turn, None, later]


async def test_a_short_conversation_is_left_as_it_is(daemon: Daemon, model: ModelServer) -> None:
    model.otherwise(SmallModel(100_000))
    await daemon.start()
    daemon.send(ipc.Compact())
    told = await daemon.event("context_compacted")
    assert (told["how"], told["reason"]) == ("nothing", "The conversation is short already.")
    await daemon.ask("hi")
    daemon.send(ipc.Compact())
    assert (await daemon.event("context_compacted", 1))["how"] == "nothing"
    assert len(model.requests) == 1


@pytest.mark.parametrize("way", ["refused", "cancelled", "killed"])
async def test_where_it_comes_to_nothing_the_conversation_is_as_it_was(
    talked: Daemon, model: ModelServer, way: str
) -> None:
    gate = Gate()
    failed = Turn(failure=Failure(kind="refused_key"))
    model.when(is_summary, failed if way == "refused" else Turn(text="no", gate=gate))
    talked.send(ipc.Compact())
    if way != "refused":
        await gate.reached.wait()
    if way == "cancelled":
        talked.send(ipc.Cancel())
    if way == "killed":
        await talked.drop()
        await talked.start()
    else:
        told = await talked.event("context_compacted")
        assert told["how"] == "nothing"
        assert told["reason"]
    await talked.ask("And now?")
    said = [text[:10] for role, text in model.requests[-1].said if role == "user"]
    assert said == [*(f"Message {number}." for number in range(4)), "And now?"]


async def test_a_session_that_is_stopped_ends_though_it_was_to_be_shortened(talked: Daemon) -> None:
    talked.send(ipc.Compact())
    assert await talked.stop() == 0
