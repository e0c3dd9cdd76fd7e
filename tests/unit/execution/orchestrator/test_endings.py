"""Whatever ends a turn: what it took is told, what was said is kept, and it ends once."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.model_server import Failure, Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.llm.base import ToolCall
from trunkline.execution.memory.local_memory import parse
from trunkline.execution.orchestrator import turns
from trunkline.execution.orchestrator.approvals import review
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.recovery import finish_half_done
from trunkline.execution.session import ipc

LOOK = ToolUse(name="bash", arguments={"command": "echo seen"})
SLOW = ToolUse(name="bash", arguments={"command": "sleep 600"})


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[turns.Turns]:
    """The turns of the sessions that are started, to be cancelled at an exact moment."""
    made: list[turns.Turns] = []
    start = turns.Turns.start

    def remembered(self: turns.Turns) -> None:
        made.append(self)
        start(self)

    monkeypatch.setattr(turns.Turns, "start", remembered)
    return made


def said_to(model: ModelServer, number: int) -> list[tuple[str, str]]:
    return model.requests[number].said


def conversation(daemon: Daemon) -> list[tuple[str, str]]:
    path = daemon.home.session("s1") / "memory" / "conversation.md"
    return [(one.role, one.content.strip()) for one in parse(path.read_text())]


async def test_a_cancel_between_the_answer_and_its_saving_keeps_the_answer_once(
    daemon: Daemon,
    model: ModelServer,
    running: list[turns.Turns],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cancelled(context: Context, calls: Sequence[ToolCall], *more: Any) -> Any:
        running[0].cancel()
        monkeypatch.undo()
        return review(context, calls, *more)

    monkeypatch.setattr("trunkline.execution.orchestrator.nodes.review", cancelled)
    model.script(Turn(text="the whole answer"), Turn(text="ok"))
    await daemon.start()
    assert (await daemon.ask("go"))["cancelled"] is True
    await daemon.ask("next")
    whole = [("user", "go"), ("assistant", "the whole answer"), ("user", "next")]
    assert said_to(model, 1) == whole
    assert conversation(daemon) == [*whole, ("assistant", "ok")]


async def test_text_beside_a_tool_that_is_cancelled_is_kept_once_with_its_call(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="I wait.", tool_calls=[SLOW]), Turn(text="ok"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("tool_call_start")
    daemon.send(ipc.Cancel())
    await daemon.end(turn)
    await daemon.ask("next")
    roles = [role for role, _ in said_to(model, 1)]
    assert roles == ["user", "assistant", "tool", "user"]
    assert said_to(model, 1)[1] == ("assistant", "I wait.")
    assert conversation(daemon)[:2] == [("user", "go"), ("assistant", "I wait.")]


async def test_the_same_words_said_twice_are_both_kept(daemon: Daemon, model: ModelServer) -> None:
    model.script(Turn(text="Hm.", tool_calls=[LOOK]), Turn(chunks=["Hm.", Gate()]), Turn(text="ok"))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("text_chunk", 1)
    daemon.send(ipc.Cancel())
    await daemon.end(turn)
    await daemon.ask("next")
    assert [text for role, text in said_to(model, 2) if role == "assistant"] == ["Hm.", "Hm."]


async def test_the_conversation_file_has_text_beside_tool_calls_and_the_answer_once(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="I look.", tool_calls=[LOOK]), Turn(text="It is there."))
    await daemon.start()
    await daemon.ask("go")
    assert conversation(daemon) == [
        ("user", "go"),
        ("assistant", "I look."),
        ("assistant", "It is there."),
    ]


async def test_the_conversation_file_has_a_message_that_was_cancelled_at_once(
    daemon: Daemon,
) -> None:
    await daemon.start()
    turn = daemon.say("never mind")
    daemon.send(ipc.Cancel())
    await daemon.end(turn)
    assert conversation(daemon) == [("user", "never mind")]


async def test_a_cancel_while_a_failed_turn_is_saved_leaves_it_its_end(
    daemon: Daemon,
    model: ModelServer,
    running: list[turns.Turns],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def cancelled(*args: Any, **options: Any) -> None:
        running[0].cancel()
        await asyncio.sleep(0)
        await finish_half_done(*args, **options)

    monkeypatch.setattr("trunkline.execution.orchestrator.turns.finish_half_done", cancelled)
    model.script(Turn(failure=Failure(kind="refused_key")), Turn(text="back"))
    await daemon.start()
    turn = daemon.say("hi")
    assert (await daemon.end(turn))["code"] == "MODEL_KEY_REFUSED"
    assert (await daemon.ask("again"))["content"] == "back"
    assert len(daemon.ends(turn)) == 1


@pytest.mark.parametrize(
    ("then", "config", "code"),
    [
        (Turn(failure=Failure(kind="refused_key")), {}, "MODEL_KEY_REFUSED"),
        (Turn(text="never asked"), {"max_turns": 1}, "TURN_LIMIT"),
    ],
)
async def test_a_turn_that_fails_tells_what_it_took_before_its_end(
    daemon: Daemon, model: ModelServer, then: Turn, config: dict[str, Any], code: str
) -> None:
    model.script(Turn(tool_calls=[LOOK], tokens_in=30, tokens_out=4), then)
    await daemon.start(agent_config=config)
    assert (await daemon.ask("go"))["code"] == code
    usage, _ = daemon.events[-2:]
    assert (usage["type"], usage["calls"]) == ("usage", 1)
    assert (usage["tokens_in"], usage["tokens_out"]) == (30, 4)


async def test_a_cancelled_turn_tells_what_it_took_before_its_end(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(tool_calls=[LOOK], tokens_in=30, tokens_out=4), Turn(chunks=["a", Gate()]))
    await daemon.start()
    turn = daemon.say("go")
    await daemon.event("text_chunk")
    daemon.send(ipc.Cancel())
    await daemon.end(turn)
    usage, _ = daemon.events[-2:]
    # The broken call has its price too; what it asked is estimated.
    assert (usage["type"], usage["calls"]) == ("usage", 2)
    assert usage["tokens_in"] > 30
    assert usage["tokens_out"] == 4 + 1
    assert len(daemon.of_type("usage")) == 1


@pytest.mark.parametrize(
    ("agent_model", "reason", "words"),
    [
        ("gpt-scripted", "length", "limit of length"),
        ("gpt-scripted", "content_filter", "content filter"),
        ("claude-scripted", "max_tokens", "limit of length"),
        ("claude-scripted", "model_context_window_exceeded", "context is full"),
    ],
)
async def test_an_answer_that_was_cut_off_says_so(
    daemon: Daemon, model: ModelServer, agent_model: str, reason: str, words: str
) -> None:
    model.script(Turn(text="The answer is", stop_reason=reason))
    await daemon.start(agent_config={"model": agent_model})
    assert (await daemon.ask("go"))["content"] == "The answer is"
    (told,) = daemon.of_type("thinking")
    assert told["stage"] == "model"
    assert words in told["content"]


async def test_a_model_that_says_nothing_has_an_answer_that_says_so(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text=""), Turn(text="ok"))
    await daemon.start()
    assert (await daemon.ask("go"))["content"] == "The model gave no answer."
    assert daemon.of_type("thinking") == []
    assert (await daemon.ask("again"))["content"] == "ok"
