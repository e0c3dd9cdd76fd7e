"""Agents (`control/records/agents.py`)."""

import msgspec
import pytest

from tests.unit.control.people import People
from trunkline.control.errors import InvalidRequest, NotFound
from trunkline.control.records import Records
from trunkline.control.records.agents import AgentPatch, NewAgent


async def test_an_agent_comes_back_as_it_was_made(records: Records, people: People) -> None:
    new = NewAgent(
        name="helper",
        system_prompt="你好",
        temperature=0.5,
        tools=["bash"],
        skills=[],
        session_config={"max_turns": 3},
    )
    made = await records.agents.create(people.ann, new)
    assert await records.agents.get(people.ann, made.id) == made
    assert (made.user_id, made.org_id) == (people.ann.user_id, people.ann.org_id)
    assert (made.tools, made.skills, made.mcp_servers) == (["bash"], [], None)


async def test_a_patch_changes_what_it_names_and_null_clears(
    records: Records, people: People
) -> None:
    new = NewAgent(name="a", model="gpt", tools=["bash"], max_tokens=5)
    made = await records.agents.create(people.ann, new)
    patch = msgspec.json.decode(b'{"model": null, "tools": null, "name": "b"}', type=AgentPatch)
    changed = await records.agents.change(people.ann, made.id, patch)
    assert (changed.name, changed.model, changed.tools, changed.max_tokens) == ("b", None, None, 5)
    assert await records.agents.change(people.ann, made.id, AgentPatch()) == changed


async def test_agents_are_made_for_others_only_by_who_may_act_for_them(
    records: Records, people: People
) -> None:
    for_ann = NewAgent(name="a", user_id=people.ann.user_id)
    with pytest.raises(NotFound):
        await records.agents.create(people.bob, for_ann)
    with pytest.raises(NotFound):
        await records.agents.create(people.olaf, for_ann)
    made = await records.agents.create(people.orla, for_ann)
    assert (await records.agents.get(people.ann, made.id)).user_id == people.ann.user_id


async def test_a_removed_agent_is_gone(records: Records, people: People) -> None:
    made = await records.agents.create(people.ann, NewAgent(name="a"))
    with pytest.raises(NotFound):
        await records.agents.remove(people.bob, made.id)
    await records.agents.remove(people.ann, made.id)
    with pytest.raises(NotFound):
        await records.agents.get(people.ann, made.id)


async def test_an_agent_with_a_network_that_is_none_is_refused_at_once(
    records: Records, people: People
) -> None:
    nonsense = {"network": "nonsense"}
    with pytest.raises(InvalidRequest, match="session_config"):
        await records.agents.create(people.ann, NewAgent(name="a", session_config=nonsense))
    made = await records.agents.create(
        people.ann, NewAgent(name="a", session_config={"network": "off"})
    )
    with pytest.raises(InvalidRequest, match="session_config"):
        await records.agents.change(people.ann, made.id, AgentPatch(session_config=nonsense))
