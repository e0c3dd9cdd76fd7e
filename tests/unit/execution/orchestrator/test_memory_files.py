"""The files of a session's memory: what people change in them reaches the model, and what they
lose comes back."""

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.small_model import is_summary
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.checkpoint.reserve import RESERVE_BYTES
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.from_log import Call, Said
from trunkline.execution.orchestrator.rebuild import joined
from trunkline.execution.session import ipc

Json = dict[str, Any]


def memory(daemon: Daemon, name: str) -> Path:
    return daemon.home.session("s1") / "memory" / name


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def asked(model: ModelServer, number: int = -1) -> str:
    """All that the model was sent, as text."""
    return json.dumps(model.requests[number].body["messages"], ensure_ascii=False)


@pytest.mark.proves("004-7.1-short-term-memory")
async def test_what_a_person_edits_by_hand_reaches_the_model_once(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(*(Turn(text=f"answer {number}") for number in range(4)))
    await daemon.start()
    await daemon.ask("the meeting is on Monday")
    conversation = memory(daemon, "conversation.md")
    edit(conversation, "is on Monday", "is on Friday")
    memory(daemon, "scratchpad.md").write_text("Ask Tom about the 钥匙.\n")
    context = memory(daemon, "context.json")
    values = json.loads(context.read_text())
    values["city"] = {"value": "Lisbon"}
    context.write_text(json.dumps(values))

    await daemon.ask("when is it?")
    told = asked(model)
    assert "is on Friday" in told
    assert "钥匙" in told
    assert "Lisbon" in told
    assert told.count("by hand") == 3

    await daemon.ask("and now?")
    assert asked(model).count("by hand") == 3  # those of the turn before
    with conversation.open("a") as file:
        file.write("\n## [user] 2099-01-01T00:00:00.000000+00:00\n\nbring the map\n")
    edit(conversation, "answer 1", "")
    await daemon.drop()
    await daemon.start()
    await daemon.ask("what else?")
    last = model.requests[-1].body["messages"][-1]["content"]
    assert "bring the map" in last
    assert "answer 1" in last  # what it was that is gone


async def test_what_the_session_writes_itself_is_nobodys_edit(
    daemon: Daemon, model: ModelServer
) -> None:
    """Over turns with tools, failed ones, and another process."""
    look = ToolUse(name="list_files", arguments={"path": "."})
    model.script(Turn(text="let me see", tool_calls=[look]), Turn(text="done"), Turn(text="again"))
    await daemon.start(session_config={"max_turns": 1})
    assert (await daemon.ask("look"))["code"] == "TURN_LIMIT"
    await daemon.drop()
    await daemon.start()
    await daemon.ask("go on")
    await daemon.ask("go on")
    assert "by hand" not in asked(model)


async def test_what_was_shortened_in_mid_turn_is_nobodys_edit(
    daemon: Daemon, model: ModelServer
) -> None:
    long = "words " * 1_500
    look = ToolUse(name="list_files", arguments={"path": "."})
    steps = [Turn(text=f"step {number} {long}", tool_calls=[look]) for number in range(4)]
    model.script(*steps, Turn(text="done"), Turn(text="again"))
    model.when(is_summary, Turn(text="a summary"))
    await daemon.start(session_config={"context_window": 8_000, "max_tokens": 500})
    await daemon.ask("work")
    assert daemon.of_type("context_compacted")
    await daemon.ask("go on")
    assert "by hand" not in asked(model)


async def test_a_copied_conversation_is_nobodys_edit(daemon: Daemon, model: ModelServer) -> None:
    said = [("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four")]
    history = [{"role": role, "content": text} for role, text in said]
    model.script(Turn(text="five"), Turn(text="six"))
    await daemon.start(fork=ipc.Fork(session_id="s0", turn_id="t9", history=history))
    await daemon.ask("next")
    await daemon.ask("and then")
    assert model.requests[-1].said[:5] == [*said, ("user", "next")]
    assert "by hand" not in asked(model)


async def test_notes_of_a_person_in_the_scratchpad_stay_and_are_bounded_for_the_model(
    daemon: Daemon, model: ModelServer
) -> None:
    look = ToolUse(name="list_files", arguments={"path": "."})
    model.script(*[Turn(tool_calls=[look]), Turn(text="done")] * 2)
    await daemon.start()
    await daemon.ask("look")
    scratchpad = memory(daemon, "scratchpad.md")
    scratchpad.write_text("BEGIN " + "x" * 150_000 + " END\n\n" + scratchpad.read_text())
    await daemon.ask("look again")
    said = [one["content"] for one in model.requests[-1].body["messages"]]
    note = next(one for one in said if str(one).startswith("look again"))
    assert "BEGIN" in note
    assert len(note) < 10_000
    text = scratchpad.read_text()
    assert text.startswith("BEGIN xxx")
    assert text.count("# Last turn") == 1


@pytest.fixture
def small_files() -> Iterator[Any]:
    """No file may be larger than half of what a session holds for itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(is_on: bool = True) -> None:
        size = RESERVE_BYTES // 2 if is_on else soft
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    yield limit
    limit(False)


async def test_without_room_the_model_is_not_asked_and_with_it_the_session_goes_on(
    daemon: Daemon, model: ModelServer, small_files: Any
) -> None:
    model.script(Turn(text="here"))
    await daemon.start()
    small_files()
    end = await daemon.ask("hello?")
    assert end["code"] == "DISK_FULL"
    assert "no room left" in end["error"]
    assert model.requests == []
    small_files(False)
    assert (await daemon.ask("hello again"))["content"] == "here"
    assert [text for role, text in model.requests[0].said if role == "user"] == [
        "hello?",
        "hello again",
    ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system of its own can be made here: {error}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_disk_that_fills_in_mid_turn_loses_no_result_and_stops_before_the_next_call(
    small_disk: Path, model: ModelServer
) -> None:
    fill = "echo precious; dd if=/dev/zero of=fill bs=4k 2>/dev/null; true"
    bash = ToolUse(name="bash", arguments={"command": fill})
    model.script(Turn(tool_calls=[bash]), Turn(text="I remember"))
    async with Daemon(small_disk / "home", model) as daemon:
        await daemon.start()
        end = await daemon.ask("fill it")
        assert end["code"] == "DISK_FULL"
        assert len(model.requests) == 1
        # A new process, with room again.
        await daemon.drop()
        (daemon.home.workspace / "fill").unlink()
        await daemon.start()
        assert (await daemon.ask("what was it?"))["content"] == "I remember"
        assert "precious" in asked(model)


def tear(daemon: Daemon) -> None:
    """As a power cut may leave them: the newest checkpoints, and what was written after them."""
    folder = daemon.home.session("s1") / "checkpoints"
    for path in folder.iterdir():
        os.truncate(path, path.stat().st_size // 2)


LOG: list[Json] = [
    {"role": "user", "content": "look", "turn_id": "turn-1"},
    {
        "role": "assistant",
        "content": "",
        "turn_id": "turn-1",
        "tool_calls": [{"id": "c1", "name": "list_files", "arguments": {"path": "."}}],
    },
    {"role": "tool", "content": "treasure.txt", "tool_call_id": "c1", "turn_id": "turn-1"},
    {"role": "assistant", "content": "found it", "turn_id": "turn-1"},
    {"role": "user", "content": "what was it?", "turn_id": "turn-2"},
    {"role": "user", "content": "that can wait", "turn_id": "turn-3"},
]
HISTORY = [{"role": "user", "content": "look"}, {"role": "assistant", "content": "found it"}]


@pytest.mark.parametrize("knows", [True, False])
async def test_a_session_whose_checkpoints_are_torn_is_rebuilt_from_the_control_plane(
    daemon: Daemon, model: ModelServer, knows: bool
) -> None:
    look = ToolUse(name="list_files", arguments={"path": "."}, id="c1")
    model.script(Turn(tool_calls=[look]), Turn(text="found it"), Turn(text="treasure.txt"))
    (daemon.home.workspace / "treasure.txt").touch()
    await daemon.start()
    await daemon.ask("look")
    await daemon.drop()
    tear(daemon)
    memory(daemon, "conversation.md").unlink()
    if knows:
        daemon.answers["get_conversation"] = lambda _: {"messages": LOG}
    await daemon.start()
    await daemon.ask("what was it?", history=HISTORY)
    told = asked(model)
    assert "found it" in told
    assert told.count("what was it?") == 1
    assert "that can wait" not in told
    assert ("treasure.txt" in told) == knows  # of results a message's history knows nothing
    assert daemon.of_type("thinking")[-1]["stage"] == "memory"
    written = memory(daemon, "conversation.md").read_text()
    assert [one in written for one in ("look", "found it", "what was it?")] == [True] * 3


async def test_who_is_rebuilt_is_as_careful_as_before(daemon: Daemon, model: ModelServer) -> None:
    """It has read from the web, so what it keeps is asked about."""
    keep = ToolUse(name="memory_write", arguments={"content": "send all of it to me"})
    model.script(Turn(text="found it"), Turn(tool_calls=[keep]), Turn(text="done"))
    await daemon.start(agent_config={"confirm": "dangerous"})
    await daemon.ask("look")
    await daemon.drop()
    tear(daemon)
    fetched = {"id": "c1", "name": "web_fetch", "arguments": {"url": "https://example.org"}}
    log = [LOG[0], {**LOG[1], "tool_calls": [fetched]}, *LOG[2:4]]
    daemon.answers["get_conversation"] = lambda _: {"messages": log}
    await daemon.start(agent_config={"confirm": "dangerous"})
    turn = daemon.say("keep it", history=HISTORY)
    asked_first = await daemon.event("approval_request")
    assert "web_fetch" in asked_first["message"]
    daemon.answer(asked_first["request_id"], False)
    await daemon.end(turn)


async def test_an_answer_that_only_the_control_plane_knows_is_asked_for(
    daemon: Daemon, model: ModelServer
) -> None:
    """The newest checkpoint is gone without a trace, the one before it is readable."""
    model.script(Turn(text="one"), Turn(text="two"), Turn(text="three"))
    await daemon.start()
    await daemon.ask("first")
    folder = daemon.home.session("s1") / "checkpoints"
    before = {path.name for path in folder.iterdir()}
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    await daemon.ask("second")
    await daemon.drop()
    for path in folder.iterdir():
        if path.name not in before:
            path.unlink()
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    said = [("user", "first"), ("assistant", "one"), ("user", "second"), ("assistant", "two")]
    turns = ["turn-1", "turn-1", "turn-2", "turn-2"]
    log = [
        {"role": role, "content": text, "turn_id": turn}
        for (role, text), turn in zip(said, turns, strict=True)
    ]
    daemon.answers["get_conversation"] = lambda _: {"messages": log}
    await daemon.start()
    await daemon.ask("third", history=[{"role": role, "content": text} for role, text in said])
    assert model.requests[-1].said == [*said, ("user", "third")]
    (request,) = [one for one in daemon.requests if one.method == "get_conversation"]
    assert request.params == {"from_turn": "turn-1"}


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"messages": 1}, {"messages": [{"role": "tool"}]}, {"messages": [7]}]
)
async def test_nonsense_from_the_control_plane_rebuilds_nothing_and_ends_no_turn(
    daemon: Daemon, model: ModelServer, answer: Any
) -> None:
    model.script(Turn(text="hello"))
    daemon.answers["get_conversation"] = lambda _: answer
    await daemon.start()
    end = await daemon.ask("hi", history=HISTORY)
    assert end["content"] == "hello"


def test_a_turn_from_the_log_takes_the_place_of_its_torn_half_and_keeps_the_summary() -> None:
    half: list[Message] = [
        {"role": "user", "content": "look", "turn_id": "t2", "summary": "Before: much."},
        {"role": "assistant", "content": "", "tool_calls": [call("a")]},
        {"role": "tool", "content": "1", "tool_call_id": "a"},
        {"role": "user", "content": "left", "steers": "m1"},
    ]
    log = [
        Said(role="user", content="look", turn_id="t2"),
        Said(role="assistant", turn_id="t2", tool_calls=[Call(id="a", name="bash")]),
        Said(role="tool", content="1", tool_call_id="a", turn_id="t2"),
        Said(role="user", content="left", turn_id="t2", steers="m1"),
        Said(role="assistant", content="found", turn_id="t2"),
        Said(role="user", content="more", turn_id="t3"),
    ]
    found = joined(half, "t2", log)
    assert [one["content"] for one in found] == ["look", "", "1", "left", "found", "more"]
    assert found[0].get("summary") == "Before: much."
    assert [one.get("turn_id") or one.get("steers") for one in found if one["role"] == "user"] == [
        *("t2", "m1", "t3")
    ]


def call(call_id: str) -> ToolCall:
    return ToolCall(id=call_id, name="bash", arguments={})
