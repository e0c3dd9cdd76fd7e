"""Conversations that an agent takes up: what web clients of either dialect are told of it."""

from tests.wire.yeaft.outward_lines import (
    AGENT,
    CONVERSATION,
    bodies,
    kinds,
    line,
    messages,
    relayed,
)

READY = {"session_id": "own", "work_dir": "/srv"}
RESUMED = (
    f'{{"type":"conversation_resumed","conversationId":"{CONVERSATION}","claudeSessionId":"own",'
    '"historyMessages":[{"type":"user","message":{"role":"user","content":"old"}}]}'
)
STATUS = {"machine": "online", "machine_id": AGENT}


def test_a_deployed_client_gets_an_agents_own_session_with_its_history() -> None:
    (told,) = messages(relayed("session_status", RESUMED, **STATUS, ready=READY), deployed=True)
    assert (told["type"], told["agentId"]) == ("conversation_resumed", AGENT)
    assert (told["claudeSessionId"], told["workDir"]) == ("own", "/srv")
    assert [row["content"] for row in told["dbMessages"]] == ["old"]


def test_a_documented_client_gets_it_as_it_came_and_that_it_is_ready() -> None:
    first, second = bodies([relayed("session_status", RESUMED, **STATUS, ready=READY)])
    assert first == RESUMED.encode()
    assert b'"session_ready"' in second


def test_the_page_of_a_deployed_client_is_not_emptied_when_its_agent_comes_back() -> None:
    """Deployed clients begin a conversation anew whenever they are told that it is there."""
    again = line("session_status", **STATUS, ready={**READY, "again": True})
    assert messages(again, deployed=True) == []
    assert kinds(messages(again)) == ["session_ready"]


def test_a_documented_agents_word_passes_to_deployed_clients_every_time() -> None:
    word = f'{{"type":"session_ready","conversationId":"{CONVERSATION}"}}'
    again = relayed("session_status", word, **STATUS, ready={"again": True})
    assert bodies([again], deployed=True) == [word.encode()]
