"""A conversation: streamed, in order, remembered, with what the model has to know."""

from typing import Any

import pytest

from tests.support.model_server import Failure, Gate, ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.session import ipc


@pytest.mark.proves("004-7.4-text", "004-7.4-complete")
async def test_text_reaches_the_reader_as_it_comes_and_the_turn_ends_once(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(chunks=["Hel", gate, "lo"]))
    await daemon.start()
    turn = daemon.say("hi")
    first = await daemon.event("text_chunk")
    assert first["content"] == "Hel"
    assert not daemon.ends(turn)
    gate.open()
    end = await daemon.end(turn)
    await daemon.settled()
    assert (end["type"], end["content"]) == ("execution_complete", "Hello")
    assert daemon.text == "Hello"
    assert len(daemon.ends(turn)) == 1
    assert daemon.events[-1] == end
    assert all(one["turn_id"] == turn and one["ts"] > 0 for one in daemon.events)


async def test_thinking_is_shown_beside_the_answer(daemon: Daemon, model: ModelServer) -> None:
    model.script(Turn(text="42", thinking="let me see"))
    await daemon.start()
    await daemon.ask("?")
    thought = "".join(one["content"] for one in daemon.of_type("thinking"))
    assert thought == "let me see"
    assert daemon.text == "42"


@pytest.mark.proves("004-7.1-short-term-memory")
async def test_the_model_is_told_who_it_is_where_it_works_and_what_was_said(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="one"), Turn(text="two"))
    await daemon.start(agent_config={"system_prompt": "You are Ada.", "temperature": 0.5})
    await daemon.ask("first")
    await daemon.ask("second")
    request = model.requests[1]
    assert "You are Ada." in request.system
    assert str(daemon.home.workspace) in request.system
    said = request.said
    assert said == [("user", "first"), ("assistant", "one"), ("user", "second")]
    assert request.body["temperature"] == 0.5


@pytest.mark.proves("004-7.4-usage", "004-9-usage-after-each-call")
async def test_usage_is_reported_for_each_call_and_told_at_the_end(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="ok", tokens_in=100, tokens_out=5, cache_read=60))
    await daemon.start()
    await daemon.ask("hi")
    (report,) = daemon.reported("usage_report")
    assert (report["tokens_in"], report["tokens_out"]) == (100, 5)
    assert report["cache_read_tokens"] == 60
    assert report["latency_ms"] >= 0
    usage = await daemon.event("usage")
    assert (usage["tokens_in"], usage["tokens_out"]) == (100, 5)
    assert list(usage["models"]) == [report["model"]]


@pytest.mark.proves("004-9-failure-is-told")
async def test_a_model_that_refuses_ends_the_turn_with_its_reason_and_the_session_lives_on(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(failure=Failure(kind="refused_key")), Turn(text="back"))
    await daemon.start()
    failed = await daemon.ask("hi")
    assert (failed["type"], failed["code"]) == ("execution_error", "MODEL_KEY_REFUSED")
    assert failed["error"]
    assert (await daemon.ask("again"))["content"] == "back"


@pytest.mark.proves("004-4.3-history")
async def test_history_of_the_message_is_used_only_by_a_session_without_a_past(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="a"), Turn(text="b"))
    history = [
        {"role": "assistant", "content": "an answer without its question"},
        {"role": "user", "content": "long ago"},
        {"role": "assistant", "content": "yes"},
        {"role": "system", "content": "obey"},
        {"content": 7},
    ]
    await daemon.start()
    await daemon.ask("one", history=history)
    await daemon.ask("two", history=[{"role": "user", "content": "something else"}])
    said = [text for _, text in model.requests[0].said]
    assert said == ["long ago", "yes", "one"]
    later = [text for _, text in model.requests[1].said]
    assert later == ["long ago", "yes", "one", "a", "two"]


async def test_a_second_message_waits_for_the_first_turn(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(chunks=["one", gate]), Turn(text="two"))
    await daemon.start()
    first, second = daemon.say("1"), daemon.say("2")
    await gate.reached.wait()
    await daemon.settled()
    assert len(model.requests) == 1
    gate.open()
    await daemon.end(second)
    order = [one["turn_id"] for one in daemon.of_type("execution_complete")]
    assert order == [first, second]


async def test_a_message_over_the_queue_is_refused_and_the_others_run(
    daemon: Daemon, model: ModelServer
) -> None:
    gate = Gate()
    model.script(Turn(chunks=[gate, "one"]))
    model.otherwise(lambda _: Turn(text="next"))
    await daemon.start()
    turns = [daemon.say("first")]
    await gate.reached.wait()
    turns += [daemon.say(f"{number}") for number in range(20)]
    refused = await daemon.ask("one too many")
    assert (refused["type"], refused["code"]) == ("execution_error", "TURN_QUEUE_FULL")
    gate.open()
    for turn in turns:
        assert (await daemon.end(turn))["type"] == "execution_complete"


async def test_the_conversation_is_a_file_that_a_person_can_read(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="Good day"))
    await daemon.start()
    await daemon.ask("Hello there")
    text = (daemon.home.session("s1") / "memory" / "conversation.md").read_text()
    assert text.index("Hello there") < text.index("Good day")


async def test_memories_of_other_sessions_are_in_the_prompt(
    daemon: Daemon, model: ModelServer
) -> None:
    daemon.answers["memory_search"] = lambda params: {
        "results": [
            {"content": f"knows {params['query']}", "score": 0.9, "metadata": {}},
            {"content": "something else", "score": 0.2, "metadata": {}},
        ]
    }
    model.script(Turn(text="ok"))
    await daemon.start()
    await daemon.ask("the colour")
    assert "knows the colour" in model.requests[0].notes
    assert "something else" not in model.requests[0].notes


@pytest.mark.proves("004-7.1-search-failed")
async def test_without_the_control_plane_a_turn_goes_on_without_memories(
    daemon: Daemon, model: ModelServer
) -> None:
    model.otherwise(lambda _: Turn(text="ok"))
    await daemon.start()
    wrong: list[Any] = [
        ipc.ErrorBody(code="CONNECTION_LOST", message="the line is down"),
        ipc.ErrorBody(code="TIMEOUT", message="too slow"),
        ipc.ErrorBody(code="INTERNAL_ERROR", message="fault"),
        {"results": "nonsense"},
        {"results": [{"content": 5}]},
        None,
    ]
    daemon.answers["memory_search"] = lambda _: wrong.pop()
    while wrong:
        assert (await daemon.ask("hi"))["content"] == "ok"


async def test_a_model_that_breaks_off_ends_the_turn_and_what_it_said_stays(
    daemon: Daemon, model: ModelServer
) -> None:
    broken = Turn(chunks=["Half an "], failure=Failure(kind="overloaded"), failure_in_stream=True)
    model.script(broken, Turn(text="whole"))
    await daemon.start()
    failed = await daemon.ask("hi")
    assert failed["type"] == "execution_error"
    assert failed["code"].startswith("MODEL_")
    await daemon.ask("again")
    said = [text for _, text in model.requests[1].said]
    assert said == ["hi", "Half an ", "again"]


async def test_a_claude_model_gets_its_thinking_and_results_back(
    daemon: Daemon, model: ModelServer
) -> None:
    call = ToolUse(name="bash", arguments={"command": "echo 42"})
    model.script(Turn(thinking="hm", text="Wait.", tool_calls=[call]), Turn(text="42"))
    await daemon.start(agent_config={"model": "claude-scripted"})
    assert (await daemon.ask("6*7"))["content"] == "42"
    second = model.requests[1]
    assert second.provider == "anthropic"
    assert [one.strip() for one in second.tool_results] == ["42"]
    assert "hm" in str(second.messages[1])
