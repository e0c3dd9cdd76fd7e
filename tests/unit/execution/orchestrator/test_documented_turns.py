"""A turn from the inside: what is written when, and what the model is asked with (004 §4.3, §7)."""

from pathlib import Path

import pytest

from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.checkpoint import files as checkpoints
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.orchestrator.graph import create_agent_graph


@pytest.mark.proves("004-4.3-message-is-remembered", "004-4.3-start", "004-4.8-semigraph-folder")
async def test_a_message_is_in_the_conversation_before_the_answer_and_the_answer_after_it(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(gate=gate, text="Good day"))
    await daemon.start()
    turn = daemon.say("Hello there")
    await gate.reached.wait()
    file = daemon.home.root / ".semibot" / "sessions" / "s1" / "memory" / "conversation.md"
    before = file.read_text()
    assert "Hello there" in before
    assert "Good day" not in before
    gate.open()
    await daemon.end(turn)
    after = file.read_text()
    assert after.startswith(before)
    assert "Good day" in after


@pytest.mark.proves("004-5-agent-config-reaches-the-model", "004-4.3-start")
async def test_the_model_is_asked_with_what_the_agent_says(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="ok"))
    await daemon.start(
        agent_config={
            "system_prompt": "You are Ada.",
            "model": "gpt-of-the-agent",
            "temperature": 0.25,
            "max_tokens": 77,
        }
    )
    await daemon.ask("hi")
    [asked] = model.requests
    assert "You are Ada." in asked.system
    assert (asked.model, asked.body["temperature"]) == ("gpt-of-the-agent", 0.25)
    assert 77 in (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))


@pytest.mark.proves(
    "004-7.1-long-term-memory",
    "004-4.8-long-term-through-the-line",
    "004-3.1-search-long-term-memory",
)
async def test_a_turn_looks_for_five_memories_and_tells_the_model(
    daemon: Daemon, model: ModelServer
) -> None:
    names = [f"memory-{number}" for number in range(8)]
    found = [{"content": name, "score": 1.0} for name in names]
    daemon.answers["memory_search"] = lambda _: {"results": found}
    model.script(Turn(text="ok"))
    await daemon.start()
    await daemon.ask("What is my colour?")
    [search] = [one for one in daemon.requests if one.method == "memory_search"]
    assert search.params == {"query": "What is my colour?", "top_k": 5}
    assert [name for name in names if name in model.requests[0].notes] == names[:5]


@pytest.mark.proves("004-3.3-after-every-node", "004-3.3-files")
async def test_there_is_a_checkpoint_after_every_node(daemon: Daemon, model: ModelServer) -> None:
    model.script(
        Turn(tool_calls=[ToolUse(name="bash", arguments={"command": "true"})]), Turn(text="ok")
    )
    await daemon.start()
    await daemon.ask("go")
    assert await daemon.stop() == 0
    folder = daemon.home.session("s1")
    graph = create_agent_graph(LocalCheckpointer(folder))
    history = graph.aget_state_history({"configurable": {"thread_id": "s1"}})
    states = [state async for state in history][::-1]
    after = ["start", "plan", "act", "observe", "plan", "reflect", "respond"]
    assert [state.next for state in states][-8:] == [*((name,) for name in after), ()]
    ids = {state.config["configurable"]["checkpoint_id"] for state in states}
    assert ids == {path.stem for path in (folder / "checkpoints").glob("*.json")}


@pytest.mark.proves("004-3.3-restored-from-a-snapshot", "004-3.3-snapshot")
async def test_a_session_goes_on_from_its_snapshot_in_another_home(
    daemon: Daemon, model: ModelServer, tmp_path: Path
) -> None:
    model.script(Turn(text="Nice to meet you, Ada."), Turn(text="You are Ada."))
    await daemon.start()
    await daemon.ask("I am Ada.")
    assert await daemon.stop() == 0
    snapshot = checkpoints.latest(daemon.home.session("s1"))
    assert snapshot is not None
    async with Daemon(tmp_path / "another home", model) as elsewhere:
        assert checkpoints.restore(elsewhere.home.session("s1"), snapshot)
        await elsewhere.start()
        await elsewhere.ask("Who am I?")
    said = [text for _, text in model.requests[1].said]
    assert said == ["I am Ada.", "Nice to meet you, Ada.", "Who am I?"]
