"""A conversation may grow: the model's window bounds a call, and never ends the session."""

from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.model_server import Failure, Gate, ModelRequest, ModelServer, ToolUse, Turn
from tests.support.small_model import REFUSALS, SmallModel, is_summary, shared
from tests.unit.execution.orchestrator.daemon import Daemon, Json
from trunkline.execution.llm.lessons import METHOD, Lessons

SMALL = {"model": "gpt-tiny", "context_window": 4096}
PARAGRAPH = "The quick brown fox jumps over the lazy dog and thinks about it. " * 12
MODELS = ["gpt-tiny", "claude-tiny"]


def compactions(daemon: Daemon) -> list[Json]:
    return daemon.of_type("context_compacted")


def making_room(daemon: Daemon) -> list[Json]:
    return [one for one in daemon.of_type("thinking") if "making room" in one["content"]]


def under_way(daemon: Daemon, turn: str) -> bool:
    return bool(daemon.ends(turn) or making_room(daemon))


async def test_a_model_of_4096_tokens_goes_on_for_a_hundred_turns(
    daemon: Daemon, model: ModelServer
) -> None:
    small = SmallModel(4096)
    model.otherwise(small)
    await daemon.start(agent_config=SMALL)
    for number in range(100):
        end = await daemon.ask(f"Message {number}. {PARAGRAPH}")
        assert end["type"] == "execution_complete", end
    assert small.refused == []
    told = compactions(daemon)
    assert {one["how"] for one in told} == {"summary"}
    assert all(one["after_tokens"] < one["before_tokens"] <= 4096 + 512 for one in told)
    assert all(one["window_tokens"] == 4096 for one in told)
    last = model.requests[-1]
    assert "Message 99." in last.prompt
    assert "number SEVEN" in str(last.messages)


@pytest.mark.parametrize("words", REFUSALS)
async def test_a_refusal_teaches_the_window_and_is_not_repeated(
    daemon: Daemon, model: ModelServer, words: str
) -> None:
    small = SmallModel(4096, words=words)
    model.otherwise(small)
    await daemon.start(agent_config={"model": "gpt-unknown-size"})
    for number in range(20):
        end = await daemon.ask(f"Message {number}. {PARAGRAPH}")
        assert end["type"] == "execution_complete", end
    assert len(small.refused) == 1
    assert compactions(daemon)


async def test_the_next_session_of_the_machine_is_not_refused_again(
    daemon: Daemon, model: ModelServer, tmp_path: Path
) -> None:
    """The machine keeps what the first one learned."""
    small = SmallModel(4096)
    model.otherwise(small)
    lessons = Lessons(tmp_path / "windows.json")
    config = {"model": "gpt-unknown-size"}
    daemon.answers[METHOD] = lambda params: lessons.answer(params, print)
    await daemon.start(agent_config=config)
    for number in range(12):
        await daemon.ask(f"Message {number}. {PARAGRAPH}")
    assert len(small.refused) == 1
    async with Daemon(tmp_path / "another", model) as another:
        another.answers[METHOD] = lambda params: lessons.answer(params, print)
        await another.start(agent_config=config)
        for number in range(12):
            end = await another.ask(f"Message {number}. {PARAGRAPH}")
            assert end["type"] == "execution_complete", end
        assert compactions(another)
    assert len(small.refused) == 1


async def test_a_large_window_is_used(daemon: Daemon, model: ModelServer) -> None:
    large = SmallModel(1_000_000)
    model.otherwise(large)
    await daemon.start(agent_config={"model": "gpt-4.1"})
    for number in range(4):
        await daemon.ask(f"Message {number}. " + "word " * 150_000)
    assert compactions(daemon) == []
    assert large.largest > 800_000
    await daemon.ask("Message 4. " + "word " * 150_000)
    assert large.refused == []
    assert [one["how"] for one in compactions(daemon)] == ["summary"]


async def test_old_outputs_are_cleared_first_and_the_newest_stay(
    daemon: Daemon, model: ModelServer
) -> None:
    for number in range(8):
        (daemon.home.workspace / f"{number}.txt").write_text(f"file {number} " + "x" * 4_000)

    def answer(request: ModelRequest) -> Turn:
        if request.tool_results:
            return Turn(text="I see.")
        read = ToolUse(name="read_file", arguments={"path": f"{request.prompt}.txt"})
        return Turn(tool_calls=[read])

    small = SmallModel(12_000, answer)
    model.otherwise(small)
    await daemon.start(agent_config={**SMALL, "context_window": 12_000})
    for number in range(8):
        await daemon.ask(str(number))
    assert small.refused == []
    assert {one["how"] for one in compactions(daemon)} == {"outputs"}
    assert small.summaries == []
    last = str(model.requests[-1].messages)
    assert "file 7 x" in last
    assert "file 0 x" not in last
    assert "cleared to save room" in last


async def test_one_turn_with_many_steps_fits_too(daemon: Daemon, model: ModelServer) -> None:
    steps = 25
    (daemon.home.workspace / "big.txt").write_text("line of a file\n" * 400)

    def answer(request: ModelRequest) -> Turn:
        asked = sum(not is_summary(one) for one in model.requests)
        if asked > steps:
            return Turn(text="All read.")
        read = ToolUse(name="read_file", arguments={"path": "big.txt"})
        return Turn(text=f"Step {asked}. {PARAGRAPH}", tool_calls=[read])

    small = SmallModel(8000, answer)
    model.otherwise(small)
    await daemon.start(
        agent_config={**SMALL, "context_window": 8000},
        session_config={"max_tool_calls": 100},
    )
    assert (await daemon.ask("Read it again and again."))["content"] == "All read."
    assert small.refused == []
    assert len(compactions(daemon)) > 1
    assert model.requests[-1].said[0][1].endswith("Read it again and again.")


async def test_what_was_shortened_stays_so_in_the_next_process(
    daemon: Daemon, model: ModelServer
) -> None:
    model.otherwise(SmallModel(4096))
    await daemon.start(agent_config=SMALL)
    number = 0
    while not compactions(daemon):
        await daemon.ask(f"Message {number}. {PARAGRAPH}")
        number += 1
    await daemon.drop()
    await daemon.start(agent_config=SMALL)
    await daemon.ask("Where were we?")
    last = model.requests[-1]
    assert "Goal: to talk." in str(last.messages)
    assert "Message 0." not in str(last.messages)
    assert len(compactions(daemon)) == 1


async def test_what_was_shortened_stays_so_when_its_turn_fails(
    daemon: Daemon, model: ModelServer
) -> None:
    """The newest answer that the control plane knows is then part of the summary."""
    (daemon.home.workspace / "big.txt").write_text("line of a file\n" * 150)
    read = ToolUse(name="read_file", arguments={"path": "big.txt"})

    def answer(request: ModelRequest) -> Turn:
        if "Read" not in request.prompt:
            return Turn(text=f"Answer {len(model.requests)}. {PARAGRAPH}")
        if len(compactions(daemon)) < 2:
            return Turn(tool_calls=[read])
        return Turn(failure=Failure(kind="refused_key"))

    model.otherwise(SmallModel(4096, answer))
    await daemon.start(agent_config=SMALL)
    history, log = [], []

    def note(role: str, content: str, turn: str) -> None:
        history.append({"role": role, "content": content})
        log.append({**history[-1], "turn_id": turn})

    for number in range(2):
        turn = daemon.say(f"Message {number}. {PARAGRAPH}", history=list(history))
        end = await daemon.end(turn)
        note("user", f"Message {number}. {PARAGRAPH}", turn)
        note("assistant", end["content"], turn)
    turn = daemon.say("Read it.", history=list(history))
    assert (await daemon.end(turn))["type"] == "execution_error"
    note("user", "Read it.", turn)
    steps = [{"role": "assistant", "content": f"step {one}"} for one in range(20)]
    said = [*log[-1:], *({**one, "turn_id": turn} for one in steps)]
    daemon.answers["get_conversation"] = lambda _: {"messages": said}
    await daemon.ask("Where were we?", history=list(history))
    assert "Goal: to talk." in str(model.requests[-1].messages)
    assert "get_conversation" not in [one.method for one in daemon.requests]


async def test_a_process_that_dies_while_the_summary_is_written_loses_nothing(
    daemon: Daemon, model: ModelServer
) -> None:
    small, gate = SmallModel(4096), Gate()
    model.when(is_summary, Turn(text="never heard", gate=gate))
    model.otherwise(small)
    await daemon.start(agent_config=SMALL)
    number = 0
    turn = ""
    while not (rooms := making_room(daemon)):
        turn = daemon.say(f"Message {number}. {PARAGRAPH}")
        await daemon.until(partial(under_way, daemon, turn))
        number += 1
    assert rooms[0]["turn_id"] == turn
    await gate.reached.wait()
    await daemon.drop()
    await daemon.start(agent_config=SMALL, turn_id=turn)
    assert (await daemon.end(turn))["code"] == "SESSION_CRASHED"
    assert (await daemon.ask("Go on."))["type"] == "execution_complete"
    heard = str(model.requests[-1].messages) + "".join(one.prompt for one in small.summaries)
    assert all(f"Message {one}." in heard for one in range(number))


@pytest.mark.parametrize(
    "failed",
    [
        Turn(text="  "),
        Turn(failure=Failure(kind="context_full", message="context_length_exceeded")),
        Turn(failure=Failure(kind="bad_request", message="no")),
    ],
    ids=["silence", "still too long", "refused"],
)
async def test_without_a_summary_of_the_model_the_session_goes_on(
    daemon: Daemon, model: ModelServer, failed: Turn
) -> None:
    model.when(is_summary, failed)
    model.otherwise(SmallModel(4096))
    await daemon.start(agent_config=SMALL)
    number = 0
    while not compactions(daemon):
        end = await daemon.ask(f"Message {number}. {PARAGRAPH}")
        assert end["type"] == "execution_complete", end
        number += 1
    assert compactions(daemon)[0]["how"] == "dropped"
    assert "Message 0." in str(model.requests[-1].messages)


async def test_a_model_that_is_away_costs_no_part_of_the_conversation(
    timed: Daemon, model: ModelServer
) -> None:
    small = SmallModel(4096)
    model.when(is_summary, Turn(failure=Failure(kind="refused_key")))
    model.otherwise(small)
    await timed.start(agent_config=SMALL)
    number = 0
    end: Json = {"type": "execution_complete"}
    while end["type"] == "execution_complete":
        end = await timed.ask(f"Message {number}. {PARAGRAPH}")
        number += 1
    assert end["code"] == "MODEL_KEY_REFUSED"
    assert compactions(timed) == []
    assert (await timed.ask("Again."))["type"] == "execution_complete"
    assert "Message 0." in small.summaries[0].prompt


async def test_a_message_that_is_too_long_is_refused_and_the_next_one_does_not_inherit_it(
    daemon: Daemon, model: ModelServer
) -> None:
    small = SmallModel(4096)
    model.otherwise(small)
    await daemon.start(agent_config=SMALL)
    end = await daemon.ask("a long letter " * 5_000)
    assert end["code"] == "MODEL_CONTEXT_FULL"
    assert "This message takes about" in end["error"]
    assert (await daemon.ask("And now?"))["content"] == "Well said."
    assert small.refused == []
    assert "a long letter" in str(model.requests[-1].messages) + small.summaries[-1].prompt


async def test_an_agent_whose_prompt_fills_the_window_is_told_so(
    daemon: Daemon, model: ModelServer
) -> None:
    await daemon.start(agent_config={**SMALL, "system_prompt": "Be kind. " * 2_000})
    end = await daemon.ask("hi")
    assert end["code"] == "MODEL_CONTEXT_FULL"
    assert "system prompt" in end["error"]
    assert model.requests == []


async def test_sub_agents_have_a_window_of_their_own(daemon: Daemon, model: ModelServer) -> None:
    (daemon.home.workspace / "big.txt").write_text("line of a file\n" * 400)
    read = ToolUse(name="read_file", arguments={"path": "big.txt"})
    task = ToolUse(name="delegate", arguments={"agent": "reader", "task": "read"})
    rounds = iter(range(12))

    def answer(request: ModelRequest) -> Turn:
        if request.model == "gpt-large":
            return Turn(text="done") if request.tool_results else Turn(tool_calls=[task])
        more = next(rounds, None) is not None
        return Turn(text=PARAGRAPH, tool_calls=[read]) if more else Turn(text="It is read.")

    model.otherwise(SmallModel(200_000, answer))
    small = {"id": "a-1", "name": "reader", "description": "reads"}
    daemon.answers["get_config"] = lambda _: {
        "config": {"model": "gpt-tiny", "context_window": 8000}
    }
    await daemon.start(
        agent_config={"model": "gpt-large"},
        sub_agents=[small],
        session_config={"max_tool_calls": 100},
    )
    assert (await daemon.ask("Let it be read."))["content"] == "done"
    assert {one["agent"] for one in compactions(daemon)} == {"reader"}


@pytest.mark.parametrize("name", MODELS)
async def test_the_start_of_each_call_is_the_last_one(
    daemon: Daemon, model: ModelServer, name: str
) -> None:
    daemon.answers["memory_search"] = lambda params: {
        "results": [{"content": f"knows {params['query']}", "score": 0.9, "metadata": {}}]
    }

    def answer(request: ModelRequest) -> Turn:
        if request.tool_results:
            return Turn(text="Done.")
        call = ToolUse(name="bash", arguments={"command": f"echo {request.prompt}"})
        return Turn(text="Let me look.", tool_calls=[call])

    model.otherwise(answer)
    await daemon.start(agent_config={"model": name})
    for number in range(10):
        await daemon.ask(f"question {number}")
    calls = model.requests
    assert len(calls) == 20
    parts = [shared(one, two) for one, two in pairwise(calls)]
    assert min(parts) >= 0.9
    assert "knows question 9" in calls[-1].notes
    assert len({one.system for one in calls}) == 1
