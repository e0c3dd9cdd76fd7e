"""What a machine may learn about agents and sessions, and how a runtime is chosen."""

import pytest

from tests.unit.control.services.conftest import World, add_agent
from trunkline.control.errors import NotFound
from trunkline.control.services import Services
from trunkline.control.services.config import runtime_type


@pytest.mark.parametrize(
    ("session", "agent", "user", "org", "expected"),
    [
        ("acp", "openclaw", "claude-code", "semigraph", "acp"),
        (None, "openclaw", "claude-code", "semigraph", "openclaw"),
        (None, None, "claude-code", "openclaw", "claude-code"),
        (None, None, None, "openclaw", "openclaw"),
        (None, None, None, None, "semigraph"),
        ("", "", "", "", "semigraph"),
    ],
)
def test_the_runtime_is_the_first_that_is_set(
    session: str | None, agent: str | None, user: str | None, org: str | None, expected: str
) -> None:
    assert runtime_type(session, agent, user, org) == expected


async def test_an_agents_config_is_for_its_owner_and_for_sessions_that_use_it(
    world: World, services: Services
) -> None:
    ann = world.ann.user_id
    answer = await services.config.get_config(ann, world.session, world.agent)
    assert answer["config"]["id"] == world.agent
    assert answer["config"]["system_prompt"] == "Be kind."
    assert answer["config"]["model"] == "gpt-4o"
    assert "temperature" not in answer["config"]
    foreign = await add_agent(world.store, world.bob)
    colleagues = await add_agent(world.store, world.olga)
    for agent in (foreign, colleagues, "no-such-agent", "", "\x00"):
        with pytest.raises(NotFound) as caught:
            await services.config.get_config(ann, world.session, agent)
        assert caught.value.code == "AGENT_NOT_FOUND"


async def test_a_session_comes_with_its_agent_and_its_own_choices(
    world: World, services: Services
) -> None:
    answer = await services.config.get_session(world.ann.user_id, world.session)
    assert answer["session"]["id"] == world.session
    assert answer["session"]["runtime_type"] == "semigraph"
    assert answer["agent"]["model"] == "gpt-4o"
    assert answer["agent"]["temperature"] == 0.5


async def test_a_session_without_an_agent_record_has_its_own_config(
    world: World, services: Services
) -> None:
    answer = await services.config.get_session(world.bob.user_id, world.bobs_session)
    assert answer["agent"] == {"temperature": 0.5}


async def test_a_foreign_session_is_not_found(world: World, services: Services) -> None:
    for session in (world.bobs_session, "no-such-session", "../x", "\x00"):
        with pytest.raises(NotFound) as caught:
            await services.config.get_session(world.ann.user_id, session)
        assert caught.value.code == "SESSION_NOT_FOUND"
