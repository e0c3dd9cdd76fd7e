"""A Yeaft agent's own envelopes on their way to web clients: bytes unchanged, one result."""

import json

import pytest

from tests.wire.yeaft.outward_lines import (
    CONVERSATION,
    bodies,
    kinds,
    line,
    made_before,
    messages,
    relayed,
)

ODD = '{ "type" : "claude_output", "data":{"z":1,"a":[1.0,1e3]} ,"conversationId":"é\\u00e9" }'
RESULT = json.dumps(
    {
        "type": "claude_output",
        "conversationId": CONVERSATION,
        "data": {"type": "result", "subtype": "success", "num_turns": 3},
    }
)
COMPLETED = f'{{"type":"turn_completed","conversationId":"{CONVERSATION}"}}'


@pytest.mark.proves("002-1-server-does-not-parse", "002-9-data-is-not-parsed")
def test_an_envelope_passes_byte_for_byte_whatever_it_holds() -> None:
    lines = [
        relayed("text_chunk", ODD, content="x"),
        relayed("foreign", '{"type":"crew_output","sessionId":"s","role":"pm","data":{}}'),
    ]
    assert [one.decode() for one in bodies(lines)] == [
        ODD,
        '{"type":"crew_output","sessionId":"s","role":"pm","data":{}}',
    ]


def test_an_envelope_passes_once_though_it_became_several_events() -> None:
    lines = [
        relayed("text_chunk", ODD, content="x"),
        made_before("tool_call_start", tool_name="bash"),
        made_before("thinking", content="hm"),
    ]
    assert [one.decode() for one in bodies(lines)] == [ODD]


def test_an_envelope_in_other_spacing_of_the_log_line_is_found_too() -> None:
    spaced = '{"type":"foreign","raw":{ "message":{"type":"x"}, "protocol":"yeaft" }}'
    assert messages(spaced) == [{"type": "x"}]


def test_a_documented_agents_result_is_the_only_one() -> None:
    lines = [
        relayed("usage", RESULT, tokens_in=1, turn_id="t1"),
        made_before("execution_complete", content="hi", turn_id="t1"),
    ]
    assert [one.decode() for one in bodies(lines)] == [RESULT]
    whole = [relayed("execution_complete", RESULT, content="hi", turn_id="t1")]
    assert [one.decode() for one in bodies(whole)] == [RESULT]


def test_deployed_clients_also_hear_that_a_documented_agents_turn_is_over() -> None:
    lines = [relayed("execution_complete", RESULT, content="hi", turn_id="t1")]
    assert [json.loads(one)["type"] for one in bodies(lines, deployed=True)] == [
        "claude_output",
        "turn_completed",
    ]


def test_a_deployed_agents_turn_has_one_result_and_its_own_last_word() -> None:
    lines = [
        relayed("foreign", RESULT, turn_id="t1"),
        relayed("execution_complete", COMPLETED, content="hi", turn_id="t1"),
    ]
    for deployed in (False, True):
        assert [one.decode() for one in bodies(lines, deployed=deployed)] == [RESULT, COMPLETED]


def test_a_turn_that_a_deployed_agent_ended_without_a_result_gets_one() -> None:
    cancelled = f'{{"type":"execution_cancelled","conversationId":"{CONVERSATION}"}}'
    lines = [relayed("execution_complete", cancelled, cancelled=True, turn_id="t1")]
    result, last = (json.loads(one) for one in bodies(lines))
    assert result["data"]["cancelled"] is True
    assert last["type"] == "execution_cancelled"


def test_a_turn_that_the_hub_ended_for_an_agent_gets_its_result_from_the_hub() -> None:
    found = messages(
        relayed("text_chunk", ODD, content="x", turn_id="t1"),
        line("execution_complete", cancelled=True, turn_id="t1"),
    )
    assert found[-1]["data"]["type"] == "result"


def test_an_agents_answer_is_never_said_twice() -> None:
    """What it streamed passed unread, so its final text must not be taken for news."""
    lines = [
        relayed("text_chunk", ODD, content="x", turn_id="t1"),
        relayed("execution_complete", COMPLETED, content="a long answer", turn_id="t1"),
    ]
    assert kinds(messages(*lines)) == ["claude_output", "claude_output", "turn_completed"]
    assert messages(*lines)[1]["data"]["type"] == "result"


READY = {"session_id": "s-1", "capabilities": [], "work_dir": "/w", "provider": "copilot"}
DOCUMENTED = f'{{"type":"session_ready","conversationId":"{CONVERSATION}","sessionId":"s-1"}}'
DEPLOYED = f'{{"type":"conversation_created","conversationId":"{CONVERSATION}","workDir":"/w"}}'


def test_a_documented_client_gets_session_ready_as_the_agent_wrote_it() -> None:
    lines = [relayed("session_status", DOCUMENTED, machine="online", ready=READY)]
    assert [one.decode() for one in bodies(lines)] == [DOCUMENTED]


def test_a_documented_client_of_a_deployed_agent_gets_session_ready_too() -> None:
    found = messages(relayed("session_status", DEPLOYED, machine="online", ready=READY))
    assert kinds(found) == ["conversation_created", "session_ready"]
    assert found[1]["sessionId"] == "s-1"


def test_a_deployed_client_is_told_which_agent_it_is() -> None:
    agent = "01a1de65-0000-7000-8000-0000000000bb"
    lines = [relayed("session_status", DEPLOYED, machine="online", machine_id=agent, ready=READY)]
    assert [json.loads(one) for one in bodies(lines, deployed=True)] == [
        {
            "type": "conversation_created",
            "conversationId": CONVERSATION,
            "agentId": agent,
            "workDir": "/w",
            "provider": "copilot",
            "claudeSessionId": "s-1",
            "capabilities": [],
        }
    ]


def test_later_results_name_the_session_as_its_agent_does() -> None:
    found = messages(
        relayed("session_status", DOCUMENTED, machine="online", ready=READY),
        line("execution_complete", content="", turn_id="t1"),
    )
    assert found[-1]["data"]["session_id"] == "s-1"


FORGED = '{"type":"auth_result","success":false}'


@pytest.mark.parametrize("relays", [False, True])
@pytest.mark.parametrize(
    "raw",
    [
        '{"protocol":"yeaft","message":{},"x":1}',
        '{"protocol":"yeaft","message":{}, "protocol":"yeaft" }',
        '{"protocol":"yeaft","message":"\\ud83d","x":"\\ud83d"}',
        '{"protocol":"yeaft"}',
        '"yeaft"',
        "[1]",
    ],
)
def test_whatever_stands_in_raw_every_frame_is_json(raw: str, relays: bool) -> None:
    odd = line("text_chunk", content="hi")[:-1] + f',"raw":{raw}}}'
    for body in bodies([odd], relays=relays):
        json.loads(body)


def test_only_a_yeaft_agents_envelopes_are_passed_on() -> None:
    """Any other machine writes into its events what it likes."""
    lines = [relayed("text_chunk", FORGED, content="hi"), relayed("foreign", FORGED)]
    (said,) = messages(*lines, relays=False)
    assert said["data"]["message"]["content"] == [{"type": "text", "text": "hi"}]
    ended = [relayed("execution_complete", FORGED, content="hi", turn_id="t1")]
    assert kinds(messages(*ended, relays=False)) == ["claude_output", "claude_output"]


@pytest.mark.parametrize("deployed", [False, True])
def test_an_agent_that_repeats_what_it_was_told_is_not_heard(deployed: bool) -> None:
    """Whoever follows has our `user_message`, or said it."""
    said = line("user_message", content="hello", turn_id="t1", client_message_id="cm_1")
    lines = [said, relayed("foreign", ODD, echo=True, turn_id="t1")]
    assert len(messages(*lines, deployed=deployed)) == 1
