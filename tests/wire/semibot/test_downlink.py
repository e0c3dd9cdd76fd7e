"""Every message to a VM (docs/protocols/semibot.md#messages-to-the-vm): ours has the JSON of the
source document's example, key by key."""

from typing import Any

import msgspec
import pytest

from tests.wire.golden import Golden
from trunkline.wire.semibot.codec import encode
from trunkline.wire.semibot.messages import (
    Ack,
    ApprovalResponse,
    Cancel,
    ConfigUpdate,
    Downlink,
    EncryptedKey,
    Error,
    ErrorBody,
    Init,
    InitData,
    Response,
    ResumeResponse,
    StartSession,
    StartSessionData,
    StopSession,
    StopSessionData,
    Token,
    TokenData,
    UserMessage,
    UserMessageData,
)

golden = Golden("semibot")

SESSION = "7b0c1f5e-3d7c-4f7e-9d0a-1f5e3d7c4f7e"

MESSAGES: dict[str, Downlink] = {
    "init": Init(
        data=InitData(
            user_id="2f1e0d3c-0000-4000-8000-000000000001",
            org_id="2f1e0d3c-0000-4000-8000-000000000002",
            api_keys={"openai": "sk-...", "anthropic": "sk-ant-..."},
        )
    ),
    "start_session": StartSession(
        data=StartSessionData(
            session_id=SESSION,
            runtime_type="openclaw",
            agent_config={
                "system_prompt": "string",
                "model": "string",
                "temperature": 0.7,
                "max_tokens": 4096,
            },
            skill_index=[
                {
                    "id": "2f1e0d3c-0000-4000-8000-000000000003",
                    "name": "string",
                    "description": "string",
                    "version": "string",
                    "source": "clawhub",
                    "file_inventory": {
                        "has_skill_md": True,
                        "has_scripts": True,
                        "has_references": False,
                        "script_files": ["scripts/main.py"],
                        "reference_files": [],
                    },
                    "requires": {"binaries": ["python3"], "env_vars": []},
                }
            ],
            mcp_servers=[
                {"name": "github", "type": "remote"},
                {
                    "name": "filesystem",
                    "type": "local",
                    "command": "mcp-server-filesystem",
                    "args": ["/"],
                },
            ],
            sub_agents=[
                {
                    "id": "2f1e0d3c-0000-4000-8000-000000000004",
                    "name": "string",
                    "description": "string",
                }
            ],
            session_config={"max_turns": 50, "timeout_seconds": 3600},
            openclaw_config={"tool_profile": "coding", "skills": ["pdf", "web-search"]},
        )
    ),
    "stop_session": StopSession(data=StopSessionData(session_id=SESSION, reason="user_closed")),
    "response": Response(id="msg-uuid", result={"config": {"model": "gpt-4o"}}),
    "response_error": Response(
        id="msg-uuid",
        error=ErrorBody(code="SKILL_NOT_FOUND", message="Skill package xxx not found"),
    ),
    "user_message": UserMessage(
        session_id=SESSION,
        data=UserMessageData(
            message="string",
            history=[
                {"role": "user", "content": "..."},
                {"role": "assistant", "content": "..."},
            ],
            metadata={},
        ),
    ),
    "cancel": Cancel(session_id=SESSION, reason="user_cancelled"),
    "config_update": ConfigUpdate(session_id=SESSION, data={"temperature": 0.5}),
    "resume_response": ResumeResponse(
        results={
            "msg-1": {"status": "completed", "data": {"result": 1}},
            "msg-2": {"status": "not_found"},
        }
    ),
}


def _sent(message: Downlink) -> Any:
    return msgspec.json.decode(encode(message))


def test_every_example_of_the_document_is_made_here() -> None:
    assert golden.names("downlink") == sorted(MESSAGES)


@pytest.mark.proves(
    "000-1-json-text-frames",
    "000-3-type-field",
    "000-5.1-init-fields",
    "000-5.2-start-session-fields",
    "000-5.3-stop-session-fields",
    "000-5.4-response-success",
    "000-5.4-response-failure",
    "000-5.5-user-message-fields",
    "000-5.6-cancel-fields",
    "000-5.7-config-update-fields",
    "000-5.8-resume-response-fields",
)
@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_a_message_is_the_documents_json(name: str) -> None:
    assert _sent(MESSAGES[name]) == golden.load("downlink", name)


@pytest.mark.proves("000-5.2-openclaw-config-optional")
def test_what_a_session_does_not_have_is_left_out_not_null() -> None:
    started = _sent(
        StartSession(
            data=StartSessionData(session_id="s", runtime_type="semigraph", agent_config={})
        )
    )
    assert started["data"] == {
        "session_id": "s",
        "runtime_type": "semigraph",
        "agent_config": {},
        "skill_index": [],
        "mcp_servers": [],
        "sub_agents": [],
        "session_config": {},
    }


def test_a_machine_without_capabilities_sees_no_field_of_ours_in_init() -> None:
    init = _sent(Init(data=InitData(user_id="u", org_id="o", api_keys={})))
    assert init == {"type": "init", "data": {"user_id": "u", "org_id": "o", "api_keys": {}}}


def test_init_carries_capabilities_positions_and_providers_for_who_asked() -> None:
    data = InitData(
        user_id="u",
        org_id="o",
        api_keys={"openai": EncryptedKey(iv="aXY=", tag="dGFn", ciphertext="Y3Q=")},
        llm_config={"providers": {"openai": {"base_url": "http://models.test"}}},
        capabilities=["batch", "seq"],
        acked={"s": 41},
    )
    assert _sent(Init(data=data)) == {
        "type": "init",
        "data": {
            "user_id": "u",
            "org_id": "o",
            "api_keys": {
                "openai": {"alg": "aes-256-gcm", "iv": "aXY=", "tag": "dGFn", "ciphertext": "Y3Q="}
            },
            "llm_config": {"providers": {"openai": {"base_url": "http://models.test"}}},
            "capabilities": ["batch", "seq"],
            "acked": {"s": 41},
        },
    }


ADDITIONS: list[tuple[Downlink, Any]] = [
    (Ack(acked={"s": 3}), {"type": "ack", "acked": {"s": 3}}),
    (
        Error(error=ErrorBody(code="SESSION_NOT_FOUND", message="no"), session_id="s"),
        {
            "type": "error",
            "error": {"code": "SESSION_NOT_FOUND", "message": "no"},
            "session_id": "s",
        },
    ),
    (
        Error(error=ErrorBody(code="TOO_LARGE", message="no")),
        {"type": "error", "error": {"code": "TOO_LARGE", "message": "no"}},
    ),
    (
        ApprovalResponse(session_id="s", data={"request_id": "r", "confirmed": True}),
        {
            "type": "approval_response",
            "session_id": "s",
            "data": {"request_id": "r", "confirmed": True},
        },
    ),
    (
        Token(data=TokenData(token="eyJ...", expires_at=1_800_043_200_000)),
        {"type": "token", "data": {"token": "eyJ...", "expires_at": 1_800_043_200_000}},
    ),
    (
        UserMessage(session_id="s", data=UserMessageData(message="hi", turn_id="t")),
        {
            "type": "user_message",
            "session_id": "s",
            "data": {"message": "hi", "history": [], "metadata": {}, "turn_id": "t"},
        },
    ),
]


@pytest.mark.parametrize(("message", "expected"), ADDITIONS)
def test_the_additions_have_the_json_of_the_capabilities_page(
    message: Downlink, expected: Any
) -> None:
    assert _sent(message) == expected
