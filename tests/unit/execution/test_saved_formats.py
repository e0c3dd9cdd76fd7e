"""What an execution plane of 0.1.0 left on disk still opens (`golden/home` is its `.semibot`).

A session whose turn waits for a person, an outbox with unacknowledged events and reports, and the
state of a machine on a foreign AGP server.
"""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.clock import Clock
from tests.support.model_server import ModelServer, Turn, running_in_thread
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.home import Home
from trunkline.execution.session.saved import SavedTurns, load_start
from trunkline.execution.ws.disk_queue import Journal
from trunkline.execution.ws.foreign.agp_answers import Answers, Open
from trunkline.execution.ws.foreign.names import Names
from trunkline.execution.ws.foreign.unconfirmed import Unconfirmed
from trunkline.execution.ws.outbox import Outbox

GOLDEN = Path(__file__).parent / "golden" / "home"
SAVED_AT = 1794772700.0
"""A few seconds after the files were written: the question in them is still open."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.root.mkdir()
    shutil.copytree(GOLDEN, made.internal)
    made.make()
    return made


def test_a_saved_start_is_read_whole(home: Home) -> None:
    start = load_start(home.session("s1"))
    assert start is not None
    assert start.runtime_type == "semigraph"
    config = start
    assert config.agent_config == {"model": "gpt-scripted", "confirm": "dangerous"}
    assert config.skill_index == [{"id": "paint"}]
    assert config.mcp_servers == [{"name": "time", "command": "mcp-time"}]
    assert config.sub_agents == [{"id": "a-1", "name": "helper"}]
    assert config.session_config == {"timeout_seconds": 100}
    assert config.openclaw_config == {"x": 1}
    assert config.llm_config == {"default_model": "gpt-scripted"}
    assert (config.session_id, config.api_keys, config.turn_id) == ("s1", {}, None)


def test_saved_turns_are_open_or_ended_as_they_were(home: Home) -> None:
    turns = SavedTurns(home.session("s1"))
    assert [turn.turn_id for turn in turns.open] == ["turn-2"]
    assert turns.waiting == "turn-2"
    assert turns.has_ended("turn-1")


async def test_a_saved_session_asks_its_question_again_and_goes_on_from_the_answer(
    home: Home,
) -> None:
    clock = Clock()
    clock.now = SAVED_AT
    with running_in_thread(ModelServer()) as model:
        model.script(Turn(text="Red it is."))
        async with Daemon(home.root, model, clock) as daemon:
            await daemon.start(turn_id="turn-2")
            asked = await daemon.event("approval_request")
            assert (asked["message"], asked["tool_call_id"]) == ("Which colour?", "call_golden")
            daemon.answer(asked["request_id"], True, "red")
            assert (await daemon.end("turn-2"))["content"] == "Red it is."
        [request] = model.requests
    said = json.dumps(request.messages)
    assert "Which day is it?" in said
    assert "Paint the door." in said
    assert '"red"' in said


def test_a_saved_outbox_sends_every_event_with_its_number(home: Home) -> None:
    outbox = Outbox(home.outbox)
    assert outbox.turns() == {"turn-2", "t-1"}
    outbox.line_up({"s2": 1})
    sent = [(one.session_id, one.seq, json.loads(one.data)) for one in outbox.take(10, 10_000)]
    assert [(session_id, seq, event["type"]) for session_id, seq, event in sent] == [
        ("s1", 5, "text_chunk"),
        ("s1", 6, "approval_request"),
        ("s2", 2, "execution_complete"),
    ]
    assert sent[0][2]["content"] == "Let me ask."
    report = outbox.reports.first
    assert report is not None
    assert (report.method, len(outbox.reports)) == ("audit_log", 1)


def test_what_a_foreign_server_has_not_confirmed_is_sent_again(home: Home) -> None:
    unconfirmed = Unconfirmed(Journal(home.internal / "agp" / "owed.jsonl"))
    assert unconfirmed.has_end("s1/p-1")
    assert [unconfirmed.take(), unconfirmed.take(), unconfirmed.take()] == [
        b'{"n":2}',
        b'{"n":3}',
        None,
    ]


def test_prompts_of_a_foreign_server_keep_their_answers_and_names(home: Home) -> None:
    answers = Answers(Journal(home.internal / "agp" / "answers.jsonl"))
    assert answers.get("s1", "p-1") == b'{"n":3}'
    assert answers.open() == [Open("s1", "p-2", "g-1", "u-1")]
    assert Names(home.internal / "agp" / "names.json").local("talk/1") == "s1"
