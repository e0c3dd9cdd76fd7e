"""What the gateway is told: made of what sessions want, which is data from outside."""

from typing import Any

import msgspec
import pytest

from trunkline.execution.errors import RequestFailed
from trunkline.execution.llm.routes import Routes
from trunkline.execution.runtimes.openclaw import config

Json = dict[str, Any]
KEYS = {"openai": "sk-one", "anthropic": "sk-two"}


def wanted(**fields: Any) -> config.Wanted:
    given: Json = {
        "session_id": "s-1",
        "workspace": "/work",
        "memory_dir": "/memory",
        "tools_url": "http://127.0.0.1:80/mcp",
        "tools_token": "t",
        "model": "gpt-x",
    }
    return msgspec.convert({**given, **fields}, config.Wanted)


def agent(keys: dict[str, str] = KEYS, llm: Json | None = None, **fields: Any) -> config.Agent:
    return config.agent_of(wanted(**fields), Routes(keys, llm or {}, {}), keys)


def built(*agents: config.Agent) -> Json:
    return config.build(
        agents,
        port=1,
        token="secret",
        keys_file="/k",
        skills="/skills",
        log_file="/log",
        guard="/guard.js",
    )


def test_each_session_is_an_agent_with_its_own_settings() -> None:
    made = built(
        agent(temperature=0.5, max_tokens=9_000, skills=["b", "a"]),
        agent(session_id="s-2", model="claude-x", tool_profile="full"),
    )
    one = made["agents"]["entries"][config.agent_id("s-1")]
    two = made["agents"]["entries"][config.agent_id("s-2")]
    assert one["params"] == {"temperature": 0.5, "maxTokens": 9_000}
    assert one["skills"] == ["a", "b"]
    assert (one["cwd"], one["workspace"]) == ("/work", "/memory")
    assert two["model"] == "anthropic/claude-x"
    assert two["tools"] == {
        "profile": "full",
        "exec": {"host": "gateway", "security": "full", "ask": "off"},
    }
    assert made["models"]["providers"]["openai"]["models"][0]["maxTokens"] == 9_000


def test_keys_are_named_and_never_written() -> None:
    text = msgspec.json.encode(built(agent(), agent(session_id="s-2", model="claude-x"))).decode()
    assert "sk-one" not in text
    assert "sk-two" not in text
    assert '"id":"/openai"' in text


def test_tools_that_reach_beyond_the_session_are_denied() -> None:
    denied = built(agent())["tools"]["deny"]
    assert {"gateway", "plugins", "secrets", "sessions_send", "terminal", "automations"} <= {
        *denied
    }


def test_nothing_runs_by_itself() -> None:
    made = built(agent())
    assert made["cron"] == {"enabled": False}
    assert made["agents"]["defaults"]["heartbeat"] == {"every": "0m"}
    assert made["agents"]["defaults"]["utilityModel"] == ""


def test_a_sessions_tools_are_off_for_the_others() -> None:
    servers = built(agent(), agent(session_id="s-2"))["mcp"]["servers"]
    assert [one["enabled"] for one in servers.values()] == [False, False]


def test_a_provider_of_any_name_has_one_that_openclaw_takes() -> None:
    llm = {"providers": {"My Own/Provider": {"base_url": "http://x/v1"}}}
    name = config.provider_name("My Own/Provider")
    assert name.startswith("p-")
    made = built(
        agent({}, {**llm, "providers": {"own": {"base_url": "http://x/v1"}}}, model="own/m")
    )
    assert made["models"]["providers"]["own"]["baseUrl"] == "http://x/v1"


@pytest.mark.parametrize("model", ["demo", "local", "claude-x"])
def test_a_model_that_openclaw_cannot_use_is_refused(model: str) -> None:
    with pytest.raises(RequestFailed) as refused:
        agent({}, model=model)
    assert refused.value.code == "MODEL_KEY_MISSING"


def test_a_model_that_nobody_serves_is_refused() -> None:
    with pytest.raises(RequestFailed) as refused:
        agent({}, model="nobody-knows")
    assert refused.value.code == "MODEL_NOT_FOUND"


@pytest.mark.parametrize(
    "fields",
    [
        {"session_id": ""},
        {"tool_profile": "wild"},
        {"temperature": 9},
        {"max_tokens": 0},
        {"skills": [""]},
        {"tools_url": "http://example.com/mcp"},
        {"tools_url": "http://127.0.0.1:1/mcp?x"},
        {"workspace": 7},
        {"skills": ["x"] * 10_000},
    ],
)
def test_what_makes_no_sense_is_refused(fields: Json) -> None:
    with pytest.raises(msgspec.ValidationError):
        wanted(**fields)
