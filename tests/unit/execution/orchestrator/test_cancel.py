"""Cancel: at once, once, with what was done kept; and the conversation goes on."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.support.audit import audited
from tests.support.eventually import WAIT_S, until
from tests.support.model_server import Failure, Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.files import locked
from trunkline.execution.session import ipc


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Ended, and not yet collected by whoever started it.
    return ") Z " not in Path(f"/proc/{pid}/stat").read_text()


async def written(path: Path) -> str:
    return await until(lambda: path.read_text().strip() if path.exists() else "")


@pytest.mark.proves(
    "000-5.6-model-stream-is-closed",
    "000-5.6-state-is-saved",
    "004-4.3-cancel-event",
    "004-4.3-goes-on-after-a-cancel",
)
async def test_cancel_closes_the_models_stream_and_keeps_what_was_said(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(chunks=["Once upon", Gate(), " a time"]), Turn(text="sorry"))
    await daemon.start()
    turn = daemon.say("tell me a story")
    await daemon.event("text_chunk")
    daemon.send(ipc.Cancel())
    end = await daemon.end(turn)
    assert (end["type"], end["cancelled"]) == ("execution_complete", True)
    await model.requests[0].disconnected.wait()
    assert (await daemon.ask("stop"))["content"] == "sorry"
    assert len(daemon.ends(turn)) == 1
    said = [text for _, text in model.requests[1].said]
    assert said == ["tell me a story", "Once upon", "stop"]
    text = (daemon.home.session("s1") / "memory" / "conversation.md").read_text()
    assert "Once upon" in text


@pytest.mark.proves("000-5.6-tools-best-effort")
async def test_cancel_kills_the_tool_and_keeps_finished_results(
    daemon: Daemon, model: ModelServer
) -> None:
    slow = ToolUse(name="bash", arguments={"command": "sleep 600 & echo $! > pid; wait"})
    quick = ToolUse(name="bash", arguments={"command": "echo quick"})
    model.script(Turn(tool_calls=[quick, slow]), Turn(text="stopped"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("tool_call_complete")
    pid = int(await written(daemon.home.workspace / "pid"))
    daemon.send(ipc.Cancel())
    end = await daemon.end(turn)
    assert end["cancelled"] is True
    await until(lambda: not is_alive(pid))
    assert (await daemon.ask("and?"))["content"] == "stopped"
    results = [text for role, text in model.requests[1].said if role == "tool"]
    assert results[0].strip() == "quick"
    assert "not finished" in results[1]
    started = [one["tool_call_id"] for one in daemon.of_type("tool_call_start")]
    completed = [one["tool_call_id"] for one in daemon.of_type("tool_call_complete")]
    assert sorted(started) == sorted(completed)


@pytest.mark.proves("004-4.3-cancel-event")
async def test_cancel_twice_and_when_idle_has_no_further_effect(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(chunks=["a", Gate()]), Turn(text="b"))
    await daemon.start()
    daemon.send(ipc.Cancel())
    turn = daemon.say("go")
    await daemon.event("text_chunk")
    daemon.send(ipc.Cancel())
    daemon.send(ipc.Cancel())
    await daemon.end(turn)
    daemon.send(ipc.Cancel())
    await daemon.settled()
    assert len(daemon.of_type("execution_complete", "execution_error")) == 1
    assert (await daemon.ask("again"))["content"] == "b"


async def test_cancel_ends_a_turn_that_waits_for_a_person(
    daemon: Daemon, model: ModelServer
) -> None:
    wanted = ToolUse(name="bash", arguments={"command": "touch made"})
    model.script(Turn(tool_calls=[wanted]), Turn(text="fine"))
    await daemon.start(agent_config={"confirm": "always"})
    turn = daemon.say("go")
    asked = await daemon.event("approval_request")
    daemon.send(ipc.Cancel())
    resolved = await daemon.event("approval_resolved")
    assert (resolved["request_id"], resolved["reason"]) == (asked["request_id"], "cancelled")
    assert (await daemon.end(turn))["cancelled"] is True
    daemon.answer(asked["request_id"], True)
    assert (await daemon.ask("leave it"))["content"] == "fine"
    assert not (daemon.home.workspace / "made").exists()


async def test_cancel_ends_the_running_turn_and_the_waiting_message_is_next(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(chunks=["a", Gate()]), Turn(text="b"))
    await daemon.start()
    first, second = daemon.say("1"), daemon.say("2")
    await daemon.event("text_chunk")
    daemon.send(ipc.Cancel())
    assert (await daemon.end(first))["cancelled"] is True
    assert (await daemon.end(second))["content"] == "b"


@pytest.mark.proves("000-5.6-state-is-saved", "004-4.3-goes-on-after-a-cancel")
async def test_a_cancelled_turn_is_saved_for_the_next_process(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(chunks=["half", Gate()]), Turn(text="ok"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("text_chunk")
    daemon.send(ipc.Cancel())
    await daemon.end(turn)
    assert await daemon.drop() != 0
    await daemon.start()
    await daemon.ask("go on")
    said = [text for _, text in model.requests[1].said]
    assert said == ["go", "half", "go on"]


async def test_cancel_right_behind_a_message_ends_its_turn_and_the_message_is_kept(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="yes"))
    await daemon.start()
    turns = []
    for message in ("first", "second"):
        turns.append(daemon.say(message))
        daemon.send(ipc.Cancel())
        assert (await daemon.end(turns[-1]))["cancelled"] is True
    assert (await daemon.ask("third"))["content"] == "yes"
    said = [text for _, text in model.requests[0].said]
    assert said == ["first", "second", "third"]
    assert [len(daemon.ends(turn)) for turn in turns] == [1, 1]


async def test_cancel_ends_the_pause_before_a_model_is_asked_again(
    timed: Daemon, model: ModelServer
) -> None:
    model.script(Turn(failure=Failure(kind="overloaded")), Turn(text="here"))
    await timed.start()
    turn = timed.say("go")
    told = await timed.event("thinking")
    assert "Asking again in" in told["content"]
    timed.send(ipc.Cancel())
    assert (await timed.end(turn))["cancelled"] is True
    assert timed.clock is not None
    await timed.clock.pass_time(600)
    await timed.settled()
    assert len(model.requests) == 1
    assert (await timed.ask("next"))["content"] == "here"
    said = [text for _, text in model.requests[1].said]
    assert said == ["go", "next"]
    assert len(timed.ends(turn)) == 1


async def test_cancel_while_a_turn_is_noted_ends_it_once_and_keeps_its_answer(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="the answer"), Turn(text="ok"))
    await daemon.start()
    memory = daemon.home.session("s1") / "memory"
    loop, waits = asyncio.get_running_loop(), asyncio.Event()

    def tell() -> None:
        loop.call_soon_threadsafe(waits.set)

    async with locked(memory / ".lock"):
        turn = daemon.say("go")
        await daemon.event("text_chunk")
        with audited("fcntl.flock", then=tell):
            await asyncio.wait_for(waits.wait(), WAIT_S)
        daemon.send(ipc.Cancel())
        assert (await daemon.end(turn))["cancelled"] is True
    assert not (memory / "context.json").exists()
    assert (await daemon.ask("next"))["content"] == "ok"
    said = [text for _, text in model.requests[1].said]
    assert said == ["go", "the answer", "next"]
    assert (memory / "conversation.md").read_text().count("the answer") == 1
    assert len(daemon.ends(turn)) == 1
