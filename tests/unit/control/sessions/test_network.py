"""What a session's network may be said to be, and who may make it wider."""

from typing import Any

import pytest

from trunkline.control.errors import InvalidRequest
from trunkline.control.records.session_config import check_choices
from trunkline.control.sessions.others import is_weaker
from trunkline.control.sessions.starting import configs


@pytest.mark.parametrize(
    "said",
    [
        {"network": "nonsense"},
        {"network": ["off"]},
        {"network": "list", "network_hosts": "a.org"},
        {"network_hosts": [1]},
        {"network_hosts": ["a b"]},
        {"network_hosts": ["http://a.org/"]},
        {"network_hosts": ["*"]},
        {"network_hosts": ["a" * 254]},
        {"network_hosts": ["a.org"] * 201},
    ],
)
def test_nonsense_about_the_network_is_refused_when_it_is_said(said: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="network"):
        check_choices(said)


@pytest.mark.parametrize(
    "said",
    [
        {"network": None},
        {"network": "off"},
        {"network": "list", "network_hosts": ["a.org", "*.b.org", "10.0.0.1", "::1"]},
        {"network": "list", "network_hosts": []},
    ],
)
def test_a_network_that_a_machine_understands_passes(said: dict[str, Any]) -> None:
    check_choices(said)


@pytest.mark.parametrize(
    ("of_agent", "chosen", "said", "expected"),
    [
        ({"network": "off"}, {}, {}, {"network": "off"}),
        ({"network": "off"}, {"network": "list"}, {}, {"network": "list"}),
        ({"network": "off"}, {}, {"network": "open"}, {"network": "open"}),
        ({}, {"network": "off"}, {"network": "open"}, {"network": "open"}),
        ({"network_hosts": ["a.org"]}, {"network": "list"}, {}, None),
    ],
)
def test_the_network_stands_where_it_is_changed_later(
    of_agent: Any, chosen: Any, said: Any, expected: Any
) -> None:
    """Runtimes read `session_config` last: what stood there would hold against a later change."""
    agent: Any = dict.fromkeys(
        ("id", "name", "system_prompt", "model", "temperature", "max_tokens", "tools", "confirm")
    )
    agent |= dict.fromkeys(("permission_mode", "agent_app", "workspace", "acp"))
    config, session = configs({**agent, "session_config": of_agent}, chosen, said)
    assert config == (expected or {"network": "list", "network_hosts": ["a.org"]})
    assert not {"network", "network_hosts"} & set(session)


@pytest.mark.parametrize(
    ("before", "now", "is_wider"),
    [
        ({}, {}, False),
        ({}, {"network": "off"}, False),
        ({"network": "off"}, {"network": "off"}, False),
        ({"network": "off"}, {}, True),
        ({"network": "off"}, {"network": "list", "network_hosts": []}, True),
        ({"network": "list"}, {"network": "open"}, True),
        ({"network": "list"}, {"network": "off"}, False),
        ({"network": "list"}, {"network": "list"}, False),
        ({"network": "list"}, {"network": "list", "network_hosts": ["a"]}, True),
        ({"network": "list", "network_hosts": ["a"]}, {"network": "list"}, True),
        (
            {"network": "list", "network_hosts": ["a", "b"]},
            {"network": "list", "network_hosts": ["a"]},
            False,
        ),
        (
            {"network": "list", "network_hosts": ["a"]},
            {"network": "list", "network_hosts": ["a", "b"]},
            True,
        ),
    ],
)
def test_a_wider_network_needs_whoever_may_answer_questions(
    before: Any, now: Any, is_wider: bool
) -> None:
    assert is_weaker(now, before) is is_wider
