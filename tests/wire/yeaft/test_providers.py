"""Document 002, "Provider 翻译详例": what each provider's events become on the wire. The files in
`golden/` are the document's tables with one value of each kind; their `told` is written by hand.

`engine`: Yeaft's engine. `acp` and `acp_update`: both generations of an ACP agent's names.
`session`: the events of a session of ours, whichever runtime it has; the same shapes.
"""

import json
from typing import Any

import pytest

from tests.wire.golden import Golden
from tests.wire.yeaft.inward_talk import ID, conversation, lines, output
from trunkline.names import ACP_PRESETS
from trunkline.wire.yeaft import codec
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward
from trunkline.wire.yeaft.provider_events import translated
from trunkline.wire.yeaft.provider_turn import ProviderTurn
from trunkline.wire.yeaft.providers import choice_of, name_of, offered

GOLDEN = Golden("yeaft")
BEGAN_MS, ENDED_MS = 1_000_000, 1_001_234
TURN = "t1"

Json = dict[str, Any]


def files(*folders: str) -> list[Any]:
    return [(folder, name) for folder in folders for name in GOLDEN.names(folder)]


def told(said: list[Json], turn: ProviderTurn | None = None) -> list[Json]:
    """What an agent's output with these events as `data` becomes. The turn takes 1234 ms."""
    turn = turn or ProviderTurn(ID)
    turn.at(TURN, BEGAN_MS)
    made = []
    for one in said:
        text = json.dumps({"type": "claude_output", "conversationId": ID, "data": one})
        found = translated(turn, codec.decode(text), text, TURN, ENDED_MS)
        assert found is not None, one
        made += [json.loads(each) for each in found]
    return made


def in_conversation(wanted: list[Json]) -> list[Json]:
    return [{**one, "conversationId": ID} for one in wanted]


@pytest.mark.proves("002-5.3-engine-events", "002-4.2-yeaft-output", "002-4.3-result")
@pytest.mark.parametrize(("folder", "name"), files("engine"))
def test_the_engines_events_are_translated_by_the_documents_table(folder: str, name: str) -> None:
    golden = GOLDEN.load(folder, name)
    assert told(golden["said"]) == in_conversation(golden["told"])


@pytest.mark.proves(
    "002-5.2-acp-events", "002-5.2-permission-is-a-question", "002-4.3-assistant-blocks"
)
@pytest.mark.parametrize(("folder", "name"), files("acp", "acp_update"))
def test_an_acp_agents_events_are_translated_by_the_documents_table(folder: str, name: str) -> None:
    golden = GOLDEN.load(folder, name)
    assert told(golden["said"]) == in_conversation(golden["told"])


@pytest.mark.proves("002-5.2-translated", "002-4.3-result", "002-4.3-tool-result")
@pytest.mark.parametrize(("folder", "name"), files("session"))
def test_the_events_of_any_runtime_have_the_same_shapes(folder: str, name: str) -> None:
    golden = GOLDEN.load(folder, name)
    state = Outward(ID)
    made = [
        json.loads(out.body)
        for number, one in enumerate(golden["said"], 1)
        for out in from_events(state, number, json.dumps(one))
    ]
    assert made == in_conversation(golden["told"])


def test_what_an_envelope_says_besides_stays() -> None:
    turn = ProviderTurn(ID)
    person = {"groupId": "g", "vpId": "v", "vpName": "Alice", "turnId": "7"}
    data = {"type": "text_delta", "text": "Hello"}
    text = json.dumps({"type": "unify_output", "conversationId": ID, **person, "data": data})
    found = translated(turn, codec.decode(text), text, TURN, 1)
    assert found is not None
    (one,) = map(json.loads, found)
    assert {name: one[name] for name in person} == person
    assert one["type"] == "yeaft_output"


def test_what_one_turn_used_is_not_told_with_the_next() -> None:
    turn = ProviderTurn(ID)
    assert told([{"type": "usage", "inputTokens": 10, "outputTokens": 5}], turn) == []
    text = json.dumps(output("yeaft_output", type="stop", stopReason="end_turn"))
    found = translated(turn, codec.decode(text), text, "another", ENDED_MS)
    assert found is not None
    assert json.loads(found[0])["data"]["usage"] == {"input_tokens": 0, "output_tokens": 0}


@pytest.mark.parametrize(
    "data",
    [
        {"type": "assistant", "message": {"role": "assistant", "content": []}},
        {"type": "stream_event", "event": {"type": "text_delta", "text": "x"}},
        {"type": "result", "subtype": "success"},
        {"type": "session/unknown", "text": "x"},
        {"method": "session/update", "params": {"update": {"sessionUpdate": "of_tomorrow"}}},
        {"method": "session/update", "params": {"update": 7}},
        {"method": 7},
        {"sessionUpdate": ["odd"]},
        {"method": "session/update", "params": [{"sessionUpdate": "plan"}]},
        {},
        [],
        "text",
        None,
    ],
)
def test_any_other_data_passes_as_it_came(data: Any) -> None:
    text = json.dumps({"type": "claude_output", "conversationId": ID, "data": data})
    assert translated(ProviderTurn(ID), codec.decode(text), text, TURN, 1) is None


@pytest.mark.parametrize(
    "data",
    [
        {"type": "text_delta", "text": {"odd": 1}},
        {"type": "tool_call", "id": None, "name": [], "input": "odd"},
        {"type": "tool_result"},
        {"type": "usage", "inputTokens": -1, "outputTokens": 1e300, "total_cost_usd": True},
        {"type": "stop", "stopReason": {"odd": 1}},
        {"method": "session/tool_call", "params": {"id": 7, "name": 7, "input": [1]}},
        {"sessionUpdate": "tool_call_update", "toolCallId": {}, "status": "completed"},
        {"sessionUpdate": "tool_call", "content": [7, {"type": "diff"}, None], "status": "failed"},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "AAAA"}},
        {"sessionUpdate": "available_commands_update", "availableCommands": [7, {"name": 7}]},
        {"method": "session/request_permission", "params": {"options": [7, {"name": []}]}, "id": 0},
        {"method": "session/turn_complete", "params": {"usage": 7, "sessionId": 7}},
    ],
)
def test_odd_values_in_a_providers_event_hurt_nobody(data: Json) -> None:
    state = conversation()
    for one in told([data]):
        assert lines(state, json.dumps(one))


def test_the_programs_of_the_acp_runtime_are_all_known_by_name() -> None:
    assert set(offered(["acp"])) == set(ACP_PRESETS)
    for name in ACP_PRESETS:
        choice = choice_of(name, ["acp"])
        assert choice is not None
        assert name_of(*choice) == name


@pytest.mark.parametrize("runtimes", [None, "acp", {"acp": 1}, [7], ["semigraph"]])
def test_a_machine_that_does_not_say_what_it_has_is_asked_for_nothing(runtimes: Any) -> None:
    providers: list[Any] = ["copilot", "claude-code", 7, None, ["acp"], {}]
    for provider in providers:
        assert choice_of(provider, runtimes) is None


def test_a_program_that_is_not_usable_is_no_choice() -> None:
    presets = {"copilot": {"usable": False}, "goose": {"usable": True}}
    assert offered(["acp"], {"acp": {"presets": presets}}) == ["goose"]
    assert choice_of("copilot", ["acp"], {"acp": {"presets": 7}}) is not None
    assert choice_of("copilot", ["acp"], "odd") is not None
