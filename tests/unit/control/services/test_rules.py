"""Rules as records: who may write which, which a session has, and what the control plane itself
refuses by them."""

import pytest

from tests.support.mcp_server import running_server
from tests.unit.control.services.conftest import World
from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import Forbidden, InvalidRequest, LimitReached, NotFound
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.mcp_servers import McpServerInput
from trunkline.control.services.methods import Caller
from trunkline.control.services.rules import NewRule, Owner, Rule, tried
from trunkline.permissions.rules import Effect


async def add(
    services: Services,
    who: Principal,
    rule: str,
    effect: Effect = "deny",
    owner: Owner | None = None,
) -> Rule:
    return await services.rules.add(
        who, NewRule(effect=effect, rule=rule), owner or Owner(who.org_id, who.user_id)
    )


async def held(services: Services, session_id: str) -> list[str]:
    return [f"{one.effect} {one.rule}" for one in await services.rules.of_session(session_id)]


async def test_a_session_has_the_rules_of_its_org_user_and_agent_and_no_others(
    world: World, services: Services
) -> None:
    ann, olga = world.ann, world.olga
    everyone = Owner(world.org, None)
    await add(services, ann, "bash(make *)", "allow")
    await add(
        services, ann, "web_search", "ask", Owner(world.org, ann.user_id, agent_id=world.agent)
    )
    await add(services, olga, "bash(rm *)", "deny", everyone)
    await add(services, olga, "mcp__own__*", "allow")  # her own, for her own sessions
    await add(services, world.bob, "bash", "allow")
    assert await held(services, world.session) == [
        "deny bash(rm *)",
        "ask web_search",
        "allow bash(make *)",
    ]
    assert await held(services, world.bobs_session) == ["allow bash"]
    levels = {one.rule: one.level for one in await services.rules.of_session(world.session)}
    assert levels == {"bash(rm *)": "org", "web_search": "agent", "bash(make *)": "user"}


async def test_who_may_write_see_and_remove_which_rule(world: World, services: Services) -> None:
    ann, olga, bob = world.ann, world.olga, world.bob
    with pytest.raises(Forbidden):
        await add(services, ann, "bash", "allow", Owner(world.org, None))
    with pytest.raises(Forbidden):  # not even an administrator loosens what is somebody else's
        await add(
            services, olga, "bash", "allow", Owner(world.org, ann.user_id, session_id=world.session)
        )
    strict = await add(
        services, olga, "bash", "deny", Owner(world.org, ann.user_id, session_id=world.session)
    )
    with pytest.raises(Forbidden):  # what an administrator denied, its owner does not undo
        await services.rules.remove(ann, strict.id)
    with pytest.raises(NotFound):
        await services.rules.remove(bob, strict.id)
    own = await add(services, ann, "bash(ls *)", "allow")
    assert (await add(services, ann, "bash(ls *)", "allow")).id == own.id
    assert len((await services.rules.page(ann, Paging())).items) == 2
    assert (await services.rules.page(bob, Paging())).items == []
    await services.rules.remove(ann, own.id)
    await services.rules.remove(olga, strict.id)
    assert await held(services, world.session) == []


@pytest.mark.parametrize("text", ["bash(", "x" * 999 + "(", "web_fetch(evil)", "edit_file(../x)"])
async def test_what_is_no_rule_is_refused(world: World, services: Services, text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await add(services, world.ann, text)
    assert caught.value.code == "INVALID_RULE"


async def test_a_user_has_a_bounded_number_of_rules(world: World, services: Services) -> None:
    for number in range(limits.RULES_PER_USER_MAX):
        await add(services, world.ann, f"bash(x{number} *)")
    with pytest.raises(LimitReached):
        await add(services, world.ann, "bash(one more)")


async def test_the_control_plane_refuses_what_a_rule_denies(
    world: World, services: Services
) -> None:
    """An `mcp_call` of a machine that knows no rules is held by an explicit rule alone."""
    caller = world.caller
    asking = Caller(caller.user_id, caller.org_id, caller.machine_id, caller.session_id, asks=True)
    async with running_server() as server:
        given = McpServerInput(name="tools", type="remote", url=server.url)
        await services.mcp_servers.add(world.org, world.ann.user_id, given)
        params = {"server": "tools", "tool": "add", "arguments": {"a": 1, "b": 2}}

        async def code(who: Caller) -> str:
            try:
                await services.methods.request(who, "mcp_call", params)
            except Forbidden as error:
                return error.code
            return "done"

        assert await code(caller) == "done"
        ask = await add(services, world.ann, "mcp__tools__add", "ask")
        assert (await code(caller), await code(asking)) == ("RULE_ASKS", "done")
        await add(services, world.ann, "mcp__tools", "deny")
        assert (await code(caller), await code(asking)) == ("RULE_DENIES", "RULE_DENIES")
        await services.rules.remove(world.ann, ask.id)
    await add(services, world.ann, "memory_write", "deny")
    with pytest.raises(Forbidden, match="a rule of the user denies it: memory_write"):
        await services.methods.request(caller, "memory_write", {"content": "x"})
    entries = (await services.audit.page(world.root, Paging(limit=10))).items
    refused = [one for one in reversed(entries) if one.event == "rule.refused"]
    assert [(one.source, one.details["tool_name"], one.details["code"]) for one in refused] == [
        ("control", "mcp__tools__add", "RULE_ASKS"),
        ("control", "mcp__tools__add", "RULE_DENIES"),
        ("control", "mcp__tools__add", "RULE_DENIES"),
        ("control", "memory_write", "RULE_DENIES"),
    ]
    assert refused[-1].session_id == caller.session_id
    assert "a rule of the user denies it: memory_write" in refused[-1].details["reason"]


@pytest.mark.parametrize(
    ("effect", "rule", "call", "about", "matches"),
    [
        ("allow", "bash(git status *)", "git status -s", "command", True),
        ("allow", "Bash(git status *)", "git status; rm -rf .", "command", False),
        ("deny", "bash(rm *)", "ls && sudo rm -rf x", "command", True),
        ("allow", "edit_file(src/**)", "./src/a/b.py", "path", True),
        ("allow", "edit_file(src/**)", "notes/a.md", "path", False),
        ("ask", "web_fetch(domain:*.example.org)", "https://a.example.org/x", "domain", True),
        ("ask", "web_fetch(domain:example.org)", "https://example.org@evil.test/", "domain", False),
        ("allow", "mcp__mail__*", "mcp__mail__send", "tool", True),
        ("allow", "mcp__mail__*", "", "tool", None),
        ("allow", "bash(git status *)", "\x00" * 3, "command", False),
    ],
)
def test_a_rule_can_be_tried_before_it_is_made(
    effect: Effect, rule: str, call: str, about: str, matches: bool | None
) -> None:
    found = tried(effect, rule, call)
    assert (found.about, found.matches) == (about, matches)


def test_a_rule_that_cannot_be_read_is_not_tried() -> None:
    with pytest.raises(InvalidRequest) as caught:
        tried("allow", "todo_write(x)", "x")
    assert caught.value.code == "INVALID_RULE"
