"""Who sees what: every kind of record, for every kind of person."""

import io
import zipfile
from collections.abc import Awaitable, Callable

import pytest

from tests.unit.control.api.conftest import Api
from trunkline.control.ids import new_id
from trunkline.control.services.evolutions import EvolutionInput

SKILL = b"---\nname: greet\ndescription: says hello\n---\nSay hello.\n"


def package() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("greet/SKILL.md", SKILL)
    return buffer.getvalue()


async def ann_agent(api: Api) -> str:
    return await api.make(api.people.ann, "/agents", {"name": "a"})


async def ann_machine(api: Api) -> str:
    return await api.schedule(api.people.ann)


async def ann_session(api: Api) -> str:
    machine_id = await api.schedule(api.people.ann)
    return await api.make(api.people.ann, "/sessions", {"machine_id": machine_id})


async def ann_herself(api: Api) -> str:
    return api.people.ann.user_id


async def ann_org(api: Api) -> str:
    return api.people.ann.org_id


async def ann_token(api: Api) -> str:
    return await api.make(api.people.ann, f"/users/{api.people.ann.user_id}/token", {})


async def ann_memory(api: Api) -> str:
    return await api.make(api.people.ann, "/memories", {"content": "likes tea"})


async def ann_mcp_server(api: Api) -> str:
    server = {"name": "mine", "type": "local", "command": "mcp-server-time"}
    return await api.make(api.people.ann, "/mcp-servers", server)


async def org_skill(api: Api) -> str:
    status, answer = await api.call(api.people.orla, "POST", "/skills", data=package())
    assert status == 201, answer
    return str(answer["id"])


async def ann_evolution(api: Api) -> str:
    given = EvolutionInput(
        name="greet", description="says hello", skill_md=SKILL.decode(), quality_score=0.5
    )
    ann = api.people.ann
    return (await api.core.services.evolutions.submit(ann.org_id, ann.user_id, None, given)).id


async def ann_person(api: Api) -> str:
    return await api.make(api.people.ann, "/persons", {"name": "alice"})


async def ann_group(api: Api) -> str:
    return await api.make(api.people.ann, "/groups", {"name": "team"})


async def ann_rule(api: Api) -> str:
    return await api.make(api.people.ann, "/rules", {"effect": "allow", "rule": "bash(ls *)"})


async def ann_approval(api: Api) -> str:
    session_id = await ann_session(api)
    ann = api.people.ann
    await api.ask(ann, session_id, "q1", tool="shell")
    return (await api.core.approvals.page(ann))[0].id


Make = Callable[[Api], Awaitable[str]]

# What ann has, who else may see it (bob: a member of her org; orla: its admin; zoe and olaf: a
# member and the admin of another; ada: the admin of all), and where it is read.
ONLY_HER = {"ann": True, "bob": False, "orla": True, "zoe": False, "olaf": False, "ada": True}
WHOLE_ORG = {**ONLY_HER, "bob": True}

READS = [
    (ann_herself, "/users/{}", ONLY_HER),
    (ann_herself, "/users/{}/tokens", ONLY_HER),
    (ann_herself, "/users/{}/credentials", ONLY_HER),
    (ann_org, "/orgs/{}", WHOLE_ORG),
    (ann_agent, "/agents/{}", ONLY_HER),
    (ann_machine, "/machines/{}", ONLY_HER),
    (ann_session, "/sessions/{}", ONLY_HER),
    (ann_session, "/sessions/{}/events", ONLY_HER),
    (ann_session, "/sessions/{}/snapshot", ONLY_HER),
    (org_skill, "/skills/{}", WHOLE_ORG),
    (ann_evolution, "/evolutions/{}", ONLY_HER),
]


@pytest.mark.parametrize(("make", "path", "seen_by"), READS, ids=[path for _, path, _ in READS])
async def test_a_record_is_there_for_those_who_may_see_it_and_missing_for_the_rest(
    api: Api, make: Make, path: str, seen_by: dict[str, bool]
) -> None:
    record_id = await make(api)
    missing = await api.call(api.people.ann, "GET", path.format(new_id()))
    assert missing[0] == 404
    for name, sees in seen_by.items():
        status, answer = await api.call(getattr(api.people, name), "GET", path.format(record_id))
        assert status == (200 if sees else 404), f"{name}: {answer}"
        if not sees:  # and it looks like one that does not exist
            assert answer["error"]["code"] == missing[1]["error"]["code"]
    status, answer = await api.call(None, "GET", path.format(record_id))
    assert (status, answer["error"]["code"]) == (401, "UNAUTHORIZED")


LISTS = [
    (ann_herself, "/users", ONLY_HER),
    (ann_org, "/orgs", WHOLE_ORG),
    (ann_agent, "/agents", ONLY_HER),
    (ann_machine, "/machines", ONLY_HER),
    (ann_session, "/sessions", ONLY_HER),
    (ann_approval, "/approvals", ONLY_HER),
    (org_skill, "/skills", WHOLE_ORG),
    (ann_evolution, "/evolutions", ONLY_HER),
    (ann_memory, "/memories", ONLY_HER),
    (ann_mcp_server, "/mcp-servers", ONLY_HER),
]


@pytest.mark.parametrize(("make", "path", "seen_by"), LISTS, ids=[path for _, path, _ in LISTS])
async def test_a_list_holds_what_one_may_see(
    api: Api, make: Make, path: str, seen_by: dict[str, bool]
) -> None:
    record_id = await make(api)
    for name, sees in seen_by.items():
        status, answer = await api.call(getattr(api.people, name), "GET", path)
        assert status == 200, answer
        assert (record_id in {item["id"] for item in answer["items"]}) == sees, name
        await check_lookup(api, name, path[1:], record_id, sees)
    assert (await api.call(None, "GET", path))[0] == 401


async def check_lookup(api: Api, name: str, kind: str, record_id: str, sees: bool) -> None:
    for q in (record_id, record_id[:-2]):
        status, answer = await api.call(
            getattr(api.people, name), "GET", f"/lookup/{kind}?limit=50&q={q}"
        )
        assert status == 200, answer
        assert (record_id in {item["id"] for item in answer["items"]}) == sees, (name, q)


LOOKED_UP = [
    (ann_token, "tokens", ONLY_HER),
    (ann_person, "persons", ONLY_HER),
    (ann_group, "groups", ONLY_HER),
    (ann_rule, "rules", ONLY_HER),
]


@pytest.mark.parametrize(("make", "kind", "seen_by"), LOOKED_UP)
async def test_what_is_looked_up_is_what_one_may_see(
    api: Api, make: Make, kind: str, seen_by: dict[str, bool]
) -> None:
    record_id = await make(api)
    for name, sees in seen_by.items():
        await check_lookup(api, name, kind, record_id, sees)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("agents?q=" + "x" * 201, 400),
        ("agents?q=%00", 400),
        ("agents?limit=0", 400),
        ("agents?limit=51", 400),
        ("agents?limit=all", 400),
        ("agents?name=x", 400),
        ("passwords?q=x", 404),
        ("agents?q=%ff", 200),
    ],
)
async def test_a_lookup_is_bounded(api: Api, path: str, status: int) -> None:
    assert (await api.call(api.people.ann, "GET", f"/lookup/{path}"))[0] == status
    assert (await api.call(None, "GET", f"/lookup/{path}"))[0] == 401


WRITES = [
    (ann_herself, "PATCH", "/users/{}", {"name": "x"}),
    (ann_herself, "POST", "/users/{}/token", {}),
    (ann_herself, "POST", "/users/{}/vm", {}),
    (ann_herself, "POST", "/users/{}/login-link", {}),
    (ann_herself, "PUT", "/users/{}/credentials/openai", {"api_key": "k"}),
    (ann_agent, "PATCH", "/agents/{}", {"name": "x"}),
    (ann_agent, "DELETE", "/agents/{}", None),
    (ann_token, "DELETE", "/tokens/{}", None),
    (ann_machine, "POST", "/machines/{}/token", None),
    (ann_machine, "DELETE", "/machines/{}", None),
    (ann_session, "PATCH", "/sessions/{}", {"title": "x"}),
    (ann_session, "POST", "/sessions/{}/messages", {"message": "hi"}),
    (ann_session, "POST", "/sessions/{}/cancel", {}),
    (ann_session, "PATCH", "/sessions/{}/config", {"temperature": 0.1}),
    (ann_session, "DELETE", "/sessions/{}", None),
    (ann_approval, "POST", "/approvals/{}", {"confirmed": True}),
    (ann_memory, "DELETE", "/memories/{}", None),
    (ann_mcp_server, "DELETE", "/mcp-servers/{}", None),
]


@pytest.mark.parametrize(
    ("make", "method", "path", "body"),
    WRITES,
    ids=[f"{method} {path}" for _, method, path, _ in WRITES],
)
@pytest.mark.parametrize("stranger", ["bob", "zoe", "olaf"])
async def test_what_one_may_not_see_one_cannot_change(
    api: Api, make: Make, method: str, path: str, body: object, stranger: str
) -> None:
    target = path.format(await make(api))
    status, answer = await api.call(getattr(api.people, stranger), method, target, body)
    assert status == 404, answer
    assert (await api.call(None, method, target, body))[0] == 401
    status, answer = await api.call(api.people.ann, method, target, body)
    assert status in (200, 201, 202, 204), answer


async def test_the_orgs_admin_decides_on_evolutions_and_nobody_else(api: Api) -> None:
    evolution_id = await ann_evolution(api)
    for who, expected in ((api.people.ann, 403), (api.people.bob, 403), (api.people.olaf, 404)):
        status, _ = await api.call(who, "POST", f"/evolutions/{evolution_id}/approve")
        assert status == expected
    status, answer = await api.call(api.people.orla, "POST", f"/evolutions/{evolution_id}/approve")
    assert (status, answer["state"]) == (200, "approved")
    status, _ = await api.call(api.people.bob, "GET", f"/skills/{answer['skill']}")
    assert status == 200
    status, _ = await api.call(api.people.orla, "POST", f"/evolutions/{evolution_id}/reject")
    assert status == 409


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/orgs", {"name": "x"}),
        ("POST", "/users", {"name": "x"}),
        ("POST", "/memories", {"content": "x", "shared": True}),
        ("POST", "/mcp-servers", {"name": "x", "type": "local", "command": "y", "shared": True}),
        ("POST", "/skills", None),
        ("GET", "/audit/verify", None),
    ],
)
async def test_what_concerns_the_whole_org_is_not_for_members(
    api: Api, method: str, path: str, body: object
) -> None:
    options = {"data": package()} if path == "/skills" else {}
    status, answer = await api.call(api.people.ann, method, path, body, **options)
    assert (status, answer["error"]["code"]) == (403, "FORBIDDEN")


async def test_an_org_admin_gets_no_admins_token_machine_or_keys(api: Api) -> None:
    orla, ada = api.people.orla, api.people.ada.user_id
    machine_id = await api.schedule(api.people.ada)
    for method, path, body in (
        ("POST", f"/users/{ada}/token", {}),
        ("POST", f"/users/{ada}/vm", {}),
        ("POST", f"/users/{ada}/login-link", {}),
        ("POST", f"/machines/{machine_id}/token", {}),
        ("PATCH", f"/machines/{machine_id}", {"dialect": "deployed"}),
        ("PUT", f"/users/{ada}/credentials/openai", {"api_key": "k"}),
        ("DELETE", f"/users/{ada}", None),
    ):
        status, answer = await api.call(orla, method, path, body)
        assert (status, answer["error"]["code"]) == (403, "FORBIDDEN"), path


async def test_memories_of_others_are_not_found_by_searching(api: Api) -> None:
    await ann_memory(api)
    found = {}
    for name in ("ann", "bob", "zoe"):
        status, answer = await api.call(getattr(api.people, name), "GET", "/memories/search?q=tea")
        assert status == 200
        found[name] = [hit["content"] for hit in answer["results"]]
    assert found == {"ann": ["likes tea"], "bob": [], "zoe": []}


async def test_audit_and_usage_show_each_their_own(api: Api) -> None:
    session_id = await ann_session(api)
    await api.call(api.people.ann, "DELETE", f"/sessions/{session_id}")
    for name, sees in ONLY_HER.items():
        who = getattr(api.people, name)
        status, answer = await api.call(who, "GET", "/audit")
        assert status == 200
        assert any(entry["session_id"] == session_id for entry in answer["items"]) == sees, name
        assert (await api.call(who, "GET", "/usage?group_by=day"))[0] == 200
    status, answer = await api.call(api.people.orla, "GET", "/audit/verify")
    assert (status, answer["ok"]) == (200, True)
