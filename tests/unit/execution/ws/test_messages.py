"""What the control plane says, in every place where deployed ones put their fields."""

import json
from typing import Any

import pytest

from tests.wire.golden import Golden
from trunkline import limits
from trunkline.execution.ws.messages import ForSession, ResumeResults, Unknown, read
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.messages import Ack, Error, ErrorBody, InitData, Response, Token

golden = Golden("semibot")


def of(**message: Any) -> Any:
    return read(json.dumps(message))


def test_the_documented_messages_are_read() -> None:
    assert isinstance(of(type="init", data={"user_id": "u", "org_id": "o"}), InitData)
    assert of(type="response", id="r", result=1, error=None) == Response(id="r", result=1)
    assert of(type="ack", acked={"s": 3}) == Ack(acked={"s": 3})
    assert isinstance(of(type="resume_response", results={"r": {"status": "x"}}), ResumeResults)
    assert isinstance(of(type="error", error={"code": "X", "message": "m"}), Error)


@pytest.mark.parametrize("name", golden.names("downlink"))
def test_every_message_that_a_control_plane_sends_is_known(name: str) -> None:
    assert not isinstance(read(golden.text("downlink", name)), Unknown)


def test_a_new_token_is_read() -> None:
    message = of(type="token", data={"token": "t-2", "expires_at": 1})
    assert isinstance(message, Token)
    assert message.data.token == "t-2"


@pytest.mark.parametrize(
    "data",
    [
        None,
        "t-2",
        {},
        {"token": "t-2"},
        {"token": "", "expires_at": 1},
        {"token": 7, "expires_at": 1},
        {"token": ["t-2"], "expires_at": 1},
        {"token": "t-2", "expires_at": "soon"},
        {"token": "x" * (limits.VM_TOKEN_CHARS_MAX + 1), "expires_at": 1},
    ],
)
def test_a_token_that_is_none_is_malformed_and_not_shown(data: Any) -> None:
    with pytest.raises(Malformed) as error:
        of(type="token", data=data)
    assert "t-2" not in str(error.value)


def test_a_session_is_started_with_defaults_for_what_is_left_out() -> None:
    message = of(type="start_session", data={"session_id": "s", "acked": 4, "new": 1})
    assert message.session_id == "s"
    assert message.data["runtime_type"] == "semigraph"
    assert message.data["agent_config"] == {}
    assert (message.data["acked"], message.data["new"]) == (4, 1)


def test_a_session_is_stopped_without_a_reason_too() -> None:
    assert of(type="stop_session", data={"session_id": "s"}).session_id == "s"


def test_a_message_of_a_user_keeps_all_its_fields() -> None:
    data = {"message": "hi", "turn_id": "t", "new": 1}
    assert of(type="user_message", session_id="s", data=data) == ForSession(
        "user_message", "s", data
    )


@pytest.mark.parametrize(
    "message",
    [
        {"session_id": "s", "reason": "admin"},
        {"session_id": "s", "data": {"reason": "admin"}},
        {"data": {"session_id": "s", "reason": "admin"}},
        {"session_id": "s", "reason": "admin", "data": None, "timestamp": "now"},
        {"session_id": None, "data": {"session_id": "s", "reason": "admin"}},
        {"session_id": "s", "data": {"session_id": None, "reason": "admin"}},
    ],
)
def test_a_cancel_is_read_wherever_its_fields_stand(message: dict[str, Any]) -> None:
    assert of(type="cancel", **message) == ForSession("cancel", "s", {"reason": "admin"})


@pytest.mark.parametrize(
    ("message", "session_id"),
    [
        ({"session_id": "s", "data": {"temperature": 0.5}}, "s"),
        ({"session_id": "s", "temperature": 0.5}, "s"),
        ({"data": {"session_id": "s", "temperature": 0.5}}, "s"),
        ({"data": {"temperature": 0.5}}, None),
        ({"session_id": None, "data": {"temperature": 0.5}}, None),
        ({"data": {"session_id": None, "temperature": 0.5}}, None),
        ({"session_id": None, "data": {"session_id": "s", "temperature": 0.5}}, "s"),
    ],
)
def test_a_config_update_is_for_one_session_or_for_all(
    message: dict[str, Any], session_id: str | None
) -> None:
    expected = ForSession("config_update", session_id, {"temperature": 0.5})
    assert of(type="config_update", **message) == expected


CONFIG = {"model": "m", "temperature": 0.1}


@pytest.mark.proves("notes-1-server-config-update")
@pytest.mark.parametrize(
    ("data", "settings"),
    [
        ({"agent_config": CONFIG}, CONFIG),
        ({"agent_config": CONFIG, "temperature": 0.5}, {"model": "m", "temperature": 0.5}),
        ({"agent_config": None, "temperature": None}, {"temperature": None}),
        ({"agent_config": CONFIG, "api_keys": None, "llm_config": None}, CONFIG),
        ({"api_keys": {"openai": "sk-1"}}, {}),
    ],
)
def test_a_config_update_may_have_a_whole_configuration(
    data: dict[str, Any], settings: dict[str, Any]
) -> None:
    message = of(type="config_update", data={"session_id": "s", **data})
    assert (message.session_id, message.data) == ("s", settings)


@pytest.mark.proves("notes-1-server-config-update")
def test_keys_and_models_of_a_config_update_are_no_settings_of_a_session() -> None:
    data = {"llm_config": {"default_model": "m"}, "api_keys": {"openai": "sk-1", "other": None}}
    message = of(type="config_update", session_id="s", data={"temperature": 1, **data})
    assert message.data == {"temperature": 1}
    assert message.access.api_keys == {"openai": "sk-1"}
    assert message.access.llm_config == {"default_model": "m"}
    assert "sk-1" not in str(message.data)


@pytest.mark.parametrize(
    "data",
    [
        {"agent_config": [1]},
        {"agent_config": "x"},
        {"api_keys": "sk-1"},
        {"api_keys": {"openai": 7}},
        {"llm_config": "gpt"},
    ],
)
def test_a_config_update_that_cannot_be_read_is_malformed(data: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        of(type="config_update", session_id="s", data=data)


@pytest.mark.proves("notes-1-own-daemon-drops-the-repeated-message")
@pytest.mark.parametrize(
    ("history", "kept"),
    [
        ([("user", "hi")], 0),
        ([("user", "a"), ("assistant", "b"), ("user", "hi")], 2),
        ([("user", "hi"), ("assistant", "hi")], 2),
        ([("user", "hi"), ("user", "ho")], 2),
        ([("user", "hi"), ("user", "hi")], 1),
        ([], 0),
    ],
)
def test_a_message_at_the_end_of_its_own_history_is_dropped_there(
    history: list[tuple[str, str]], kept: int
) -> None:
    entries = [{"role": role, "content": content} for role, content in history]
    data = {"message": "hi", "history": entries}
    message = of(type="user_message", session_id="s", data=data)
    assert message.data == {"message": "hi", "history": entries[:kept]}


@pytest.mark.parametrize("history", ["hi", {"role": "user"}, ["hi"], [None], [["user", "hi"]], 7])
def test_a_history_that_is_none_is_left_to_the_session(history: Any) -> None:
    message = of(type="user_message", session_id="s", data={"message": "hi", "history": history})
    assert message.data == {"message": "hi", "history": history}


def test_an_init_with_nulls_is_one_that_leaves_them_out() -> None:
    nulls = dict.fromkeys(("org_id", "api_keys", "llm_config", "capabilities", "acked"))
    assert of(type="init", data={"user_id": "u", **nulls}) == of(type="init", data={"user_id": "u"})
    keys = of(type="init", data={"api_keys": {"openai": "sk-1", "anthropic": None}}).api_keys
    assert keys == {"openai": "sk-1"}


def test_a_start_with_nulls_is_one_that_leaves_them_out() -> None:
    names = ("runtime_type", "agent_config", "openclaw_config", "mcp_servers", "snapshot", "acked")
    assert of(type="start_session", data={"session_id": "s", **dict.fromkeys(names)}) == of(
        type="start_session", data={"session_id": "s"}
    )


def test_a_message_of_a_user_with_nulls_is_one_that_leaves_them_out() -> None:
    data = {"message": "hi", "turn_id": "t", "history": None, "metadata": None}
    message = of(type="user_message", session_id="s", data=data)
    assert message == ForSession("user_message", "s", {"message": "hi", "turn_id": "t"})


def test_a_null_inside_a_config_update_is_a_value() -> None:
    message = of(type="config_update", session_id="s", data={"temperature": None})
    assert message.data == {"temperature": None}


def test_a_complaint_about_no_session_is_read() -> None:
    message = of(type="error", session_id=None, error={"code": "X", "message": "m"})
    assert isinstance(message, Error)
    assert not message.session_id


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ("no", "REQUEST_FAILED", "no"),
        ({"message": "no"}, "REQUEST_FAILED", "no"),
        ({"code": "X"}, "X", "the request failed"),
        ({"code": None, "message": 7}, "REQUEST_FAILED", "the request failed"),
        ({}, "REQUEST_FAILED", "the request failed"),
        (["no"], "REQUEST_FAILED", "['no']"),
        ("x" * 10_000, "REQUEST_FAILED", "x" * 1_000),
    ],
)
def test_an_answer_with_an_odd_error_is_still_an_answer(
    error: Any, code: str, message: str
) -> None:
    assert of(type="response", id="r", error=error) == Response(
        id="r", error=ErrorBody(code=code, message=message)
    )


def test_an_unknown_type_is_no_fault() -> None:
    assert of(type="weather", sunny=True) == Unknown("weather")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"init"',
        "{}",
        '{"type": 3}',
        '{"type": null}',
        '{"type": "response"}',
        '{"type": "response", "id": 3}',
        '{"type": "response", "id": null, "error": "no"}',
        '{"type": "ack", "acked": [1]}',
        '{"type": "ack", "acked": {"s": "3"}}',
        '{"type": "init", "data": null}',
        '{"type": "init", "data": {"api_keys": {"openai": 3}}}',
        '{"type": "init", "data": {"capabilities": "seq"}}',
        '{"type": "start_session", "data": {}}',
        '{"type": "start_session", "data": {"session_id": "s", "agent_config": []}}',
        '{"type": "start_session", "data": {"session_id": "s", "acked": "x"}}',
        '{"type": "stop_session"}',
        '{"type": "user_message", "data": {"message": "hi"}}',
        '{"type": "user_message", "session_id": ["s"], "data": {"message": "hi"}}',
        '{"type": "cancel"}',
        '{"type": "cancel", "session_id": ""}',
        '{"type": "cancel", "session_id": "s", "data": [1]}',
        '{"type": "config_update", "session_id": 3, "data": {}}',
        '{"type": "resume_response", "results": []}',
        '{"type": "error", "error": "x"}',
        "[" * 100_000,
        '{"type":"x","a":' + '{"a":' * 100_000,
    ],
)
def test_what_cannot_be_read_is_malformed_and_nothing_worse(text: str) -> None:
    with pytest.raises(Malformed):
        read(text)
