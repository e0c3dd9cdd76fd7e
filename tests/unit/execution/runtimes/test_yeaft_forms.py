"""What runtimes say, as Yeaft clients get it: Claude Code's own lines as they are, an ACP agent's
events in the forms of document 002, both generations of its names."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.wire.golden import Golden
from trunkline.execution.runtimes.acp.translator import Translator
from trunkline.execution.runtimes.claude_code import output
from trunkline.execution.runtimes.claude_code.spending import Spending
from trunkline.execution.runtimes.claude_code.talk import Talk
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

SESSION = "01a1de65-0000-7000-8000-000000000001"
CLAUDE = sorted((Path(__file__).parent / "claude_code" / "golden").glob("*.jsonl"))
TABLE = Golden("yeaft")

Json = dict[str, Any]


class NoReports:
    async def request(self, method: str, **params: Any) -> Any:
        raise ConnectionError

    def fire_and_forget(self, method: str, **params: Any) -> None:
        """Nobody counts here."""


def shown(events: list[bytes]) -> list[bytes]:
    """What a page gets of these events."""
    state = Outward(SESSION)
    numbered = enumerate(events, 1)
    return [
        out.body for number, one in numbered for out in from_events(state, number, one.decode())
    ]


def is_in_a_persons_name(line: Json) -> bool:
    content = line["message"]["content"] if line["type"] == "user" else []
    return isinstance(content, str) or any(one["type"] != "tool_result" for one in content)


@pytest.mark.proves("002-5.1-wrapped-as-it-is")
@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.stem)
async def test_each_line_of_claude_code_reaches_a_page_once_and_as_it_is(path: Path) -> None:
    events: list[bytes] = []

    def emit(kind: str, /, **fields: Any) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        events.append(msgspec.json.encode({"type": kind, **given, "turn_id": "t", "ts": 1}))

    talk = Talk(SESSION, emit, NoReports(), Spending(), lambda: None)
    wanted = []
    for text in path.read_text(encoding="utf-8").splitlines():
        line = output.read(text.encode())
        assert line is not None
        talk.take(line, text.encode())
        if not line.is_private and not is_in_a_persons_name(json.loads(text)):
            head = f'{{"type":"claude_output","conversationId":"{SESSION}","data":'
            wanted.append(f"{head}{text}}}".encode())
    found = [body for body in shown(events) if body.startswith(b'{"type":"claude_output"')]
    assert wanted
    assert found == wanted


@pytest.mark.proves("002-5.2-acp-events")
@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("acp", "agent_text"),
        ("acp", "agent_thought"),
        ("acp", "tool_result"),
        ("acp_update", "agent_message_chunk"),
        ("acp_update", "agent_thought_chunk"),
        ("acp_update", "tool_call"),
        ("acp_update", "tool_call_that_failed"),
    ],
)
def test_the_acp_runtimes_events_have_the_forms_of_the_documents_table(
    folder: str, name: str
) -> None:
    golden = TABLE.load(folder, name)
    translator = Translator()
    translator.begin()
    said = [one for one in golden["said"] if "method" in one]
    if name == "tool_result":  # of the call that the table has above it
        said = [*TABLE.load(folder, "tool_call")["said"], *said]
    made = [event for one in said for event in translator.take(one["method"], one["params"])]
    told = [json.loads(body)["data"] for body in shown([msgspec.json.encode(one) for one in made])]
    assert told[-1] == golden["told"][-1]["data"]
