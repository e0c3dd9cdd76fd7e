"""The routes of records, from the outside: answers, bounds, and what is never answered."""

import io
import zipfile
from typing import Any

import pytest

from tests.unit.control.api.conftest import Api
from trunkline import limits
from trunkline.control.ids import new_id


async def test_a_user_with_a_token_can_work_at_once(api: Api) -> None:
    user_id = await api.make(api.people.orla, "/users", {"name": "new"})
    status, issued = await api.call(api.people.orla, "POST", f"/users/{user_id}/token")
    assert (status, set(issued)) == (201, {"token", "id", "expires_at", "scopes"})
    headers = {"Authorization": f"Bearer {issued['token']}"}
    status, me = await api.call(None, "GET", "/me", headers=headers)
    assert (status, me["user"]["id"], me["user"]["role"]) == (200, user_id, "member")
    assert (await api.call(None, "DELETE", f"/tokens/{issued['id']}", headers=headers))[0] == 204
    assert (await api.call(None, "GET", "/me", headers=headers))[0] == 401


async def test_a_key_is_never_answered(api: Api) -> None:
    ann = api.people.ann
    path = f"/users/{ann.user_id}/credentials"
    secret = {"api_key": "sk-very-secret", "base_url": "https://llm.example/v1"}
    answers = [
        await api.call(ann, "PUT", f"{path}/openai", secret),
        await api.call(ann, "GET", f"{path}/openai"),
        await api.call(ann, "GET", path),
        await api.call(ann, "PUT", f"{path}/openai", {**secret, "base_url": "ftp://x"}),
    ]
    assert [status for status, _ in answers] == [200, 200, 200, 400]
    assert "sk-very-secret" not in repr(answers)
    assert (await api.call(ann, "DELETE", f"{path}/openai"))[0] == 204
    assert (await api.call(ann, "GET", f"{path}/openai"))[0] == 404


@pytest.mark.parametrize(
    "base_url",
    ["", "x", "javascript:alert(1)", "http://", "http://a b", "http://u:p@x", "http://x?k=v"],
)
async def test_a_base_url_is_a_plain_http_address(api: Api, base_url: str) -> None:
    path = f"/users/{api.people.ann.user_id}/credentials/openai"
    body = {"api_key": "k", "base_url": base_url}
    status, answer = await api.call(api.people.ann, "PUT", path, body)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "name"),
        ({"name": ""}, "body: name: "),
        ({"name": "   "}, "body: name: "),
        ({"name": "x" * 201}, "body: name: "),
        ({"name": 1}, "body: name: "),
        ({"name": "a", "temperature": 3}, "body: temperature: "),
        ({"name": "a", "temperature": -1}, "body: temperature: "),
        ({"name": "a", "max_tokens": 0}, "body: max_tokens: "),
        ({"name": "a", "max_tokens": 10**30}, "body: max_tokens: "),
        ({"name": "a", "confirm": "sometimes"}, "body: confirm: "),
        ({"name": "a", "runtime_type": "cobol"}, "body: runtime_type: "),
        ({"name": "a", "tools": ["x"] * 201}, "body: tools: "),
        ({"name": "a", "tools": [""]}, "body: tools[0]: "),
        (
            {"name": "a", "system_prompt": "x" * (limits.TEXT_CHARS_MAX + 1)},
            "body: system_prompt: ",
        ),
        ({"name": "a", "session_config": []}, "body: session_config: "),
        ({"name": "a", "session_config": {"n": 2**63}}, "integer"),
    ],
)
async def test_an_agent_within_its_bounds_or_none(api: Api, body: Any, place: str) -> None:
    status, answer = await api.call(api.people.ann, "POST", "/agents", body)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")
    assert place in answer["error"]["message"]


async def test_lists_are_paged_by_cursor(api: Api) -> None:
    ann = api.people.ann
    made = [await api.make(ann, "/agents", {"name": str(number)}) for number in range(5)]
    seen: list[str] = []
    path = "/agents?limit=2"
    for _ in range(3):
        _, page = await api.call(ann, "GET", path)
        seen += [item["id"] for item in page["items"]]
        path = f"/agents?limit=2&cursor={page['next_cursor']}"
    assert page["next_cursor"] is None
    assert sorted(seen) == sorted(made)


@pytest.mark.parametrize("path", ["/users", "/agents", "/machines", "/sessions", "/approvals"])
@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=-1", "limit=x", "cursor=%00"])
async def test_a_page_is_bounded(api: Api, path: str, query: str) -> None:
    status, answer = await api.call(api.people.ann, "GET", f"{path}?{query}")
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "query",
    [
        *(
            "/audit?q=x",
            "/audit?q=%00%00",
            f"/audit?q={'x' * 201}",
            "/audit?event=",
            "/audit?since=-1",
        ),
        *("/audit?until=x", "/audit?source=me", "/audit?user_id=", "/usage?group_by=org"),
        *("/usage?since=9e99", "/usage?by_day=perhaps"),
    ],
)
async def test_an_impossible_filter_is_refused(api: Api, query: str) -> None:
    status, answer = await api.call(api.people.ann, "GET", query)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("odd", ["x", "..%2F..%2Fetc", "%F0%9F%98%80", "'%20OR%201=1", "0" * 5000])
@pytest.mark.parametrize(
    "path", ["/users", "/agents", "/machines", "/sessions", "/orgs", "/skills"]
)
async def test_an_odd_id_is_a_missing_record(api: Api, path: str, odd: str) -> None:
    status, answer = await api.call(api.people.ada, "GET", f"{path}/{odd}")
    assert status == 404
    assert answer["error"]["code"].endswith("NOT_FOUND")


async def test_removing_a_user_gives_their_machines_up_and_ends_their_tokens(api: Api) -> None:
    ann = api.people.ann
    machine_id = await api.schedule(ann)
    cut: list[str] = []
    api.core.signals.revoked.watch(cut.append)
    assert (await api.call(ann, "GET", "/me"))[0] == 200
    assert (await api.call(ann, "DELETE", f"/users/{ann.user_id}"))[0] == 403
    assert (await api.call(api.people.orla, "DELETE", f"/users/{ann.user_id}"))[0] == 204
    assert len(cut) == 1
    assert (await api.call(ann, "GET", "/me"))[0] == 401
    assert (await api.call(api.people.ada, "GET", f"/machines/{machine_id}"))[0] == 404
    assert not api.core.machines.is_online(machine_id)


async def test_removing_an_org_removes_what_is_in_it(api: Api) -> None:
    zoe = api.people.zoe
    agent_id = await api.make(zoe, "/agents", {"name": "a"})
    assert (await api.call(api.people.olaf, "DELETE", f"/orgs/{zoe.org_id}"))[0] == 403
    assert (await api.call(api.people.ada, "DELETE", f"/orgs/{zoe.org_id}"))[0] == 204
    assert (await api.call(zoe, "GET", "/me"))[0] == 401
    assert (await api.call(api.people.ada, "GET", f"/agents/{agent_id}"))[0] == 404


async def test_a_scheduled_machine_is_listed_until_it_is_given_up(api: Api) -> None:
    ann = api.people.ann
    status, vm = await api.call(
        ann, "POST", f"/users/{ann.user_id}/vm", {"provider": "manual", "name": "laptop"}
    )
    assert status == 201
    host = str(api.client.make_url("/")).removeprefix("http")
    assert vm["ws_url"] == f"ws{host}ws/vm"
    session_id = await api.make(ann, "/sessions", {"machine_id": vm["vm_id"]})
    _, machine = await api.call(ann, "GET", f"/machines/{vm['vm_id']}")
    assert (machine["name"], machine["kind"], machine["online"]) == ("laptop", "vm", False)
    assert (machine["state"], machine["sessions"]) == ("pending", [session_id])
    assert (await api.call(ann, "DELETE", f"/machines/{vm['vm_id']}"))[0] == 204
    assert (await api.call(ann, "GET", "/machines"))[1]["items"] == []
    _, page = await api.call(ann, "GET", "/machines?terminated=true")
    assert [item["state"] for item in page["items"]] == ["terminated"]


async def test_a_local_machine_is_only_for_admins(api: Api) -> None:
    ann = api.people.ann
    path = f"/users/{ann.user_id}/vm"
    assert (await api.call(ann, "POST", path, {"provider": "local"}))[0] == 403
    assert (await api.call(ann, "POST", path, {"provider": "cloud"}))[0] == 400


def zipped(**files: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def skill_md(version: str, text: str) -> str:
    return f"---\nname: greet\ndescription: says hello\nversion: {version}\n---\n{text}\n"


async def test_a_skill_comes_in_as_a_zip_and_shows_its_files(api: Api) -> None:
    orla, ann = api.people.orla, api.people.ann
    package = {
        "SKILL.md": skill_md("1", "Hi.").encode(),
        "scripts/run.py": b"<script>",
        "logo": b"\x89\xff",
    }
    status, skill = await api.call(orla, "POST", "/skills", data=zipped(**package))
    assert status == 201, skill
    status, shown = await api.call(ann, "GET", f"/skills/{skill['skill_id']}")
    assert (status, shown["files"]) == (200, ["SKILL.md", "logo", "scripts/run.py"])
    assert shown["file_inventory"]["script_files"] == ["scripts/run.py"]
    for path, kind, saved in (
        ("scripts/run.py", "text/plain", None),
        ("logo", "application/octet-stream", "attachment; filename*=UTF-8''logo"),
    ):
        async with await api.send(ann, "GET", f"/api/v1/skills/greet/files/{path}") as answer:
            assert (await answer.read(), answer.content_type) == (package[path], kind)
            assert answer.headers.get("Content-Disposition") == saved
            assert "sandbox" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for odd in ("none", "..%2FSKILL.md", "scripts", "x" * 3_000):
        assert (await api.call(ann, "GET", f"/skills/greet/files/{odd}"))[0] == 404
    path = f"/skills/{skill['id']}/files/SKILL.md"
    assert (await api.call(api.people.zoe, "GET", path))[0] == 404
    assert (await api.call(ann, "DELETE", f"/skills/{skill['id']}"))[0] == 403
    assert (await api.call(orla, "DELETE", f"/skills/{skill['id']}"))[0] == 204
    assert (await api.call(ann, "GET", f"/skills/{skill['id']}"))[0] == 404


async def test_versions_of_a_skill_are_shown_together_with_what_each_changed(api: Api) -> None:
    orla, ann = api.people.orla, api.people.ann
    for version in ("1", "2"):
        package = zipped(**{"SKILL.md": skill_md(version, f"Hi {version}.")})
        assert (await api.call(orla, "POST", "/skills", data=package))[0] == 201
    _, latest = await api.call(ann, "GET", "/skills?latest=true")
    assert [item["version"] for item in latest["items"]] == ["2"]
    _, every = await api.call(ann, "GET", "/skills?skill_id=greet")
    assert [item["version"] for item in every["items"]] == ["2", "1"]
    _, shown = await api.call(ann, "GET", "/skills/greet?version=1")
    assert [one["version"] for one in shown["versions"]] == ["2", "1"]
    _, changed = await api.call(ann, "GET", "/skills/greet/diff")
    assert changed["against"]["version"] == "1"
    assert "-Hi 1.\n+Hi 2.\n" in changed["diff"]
    _, first = await api.call(ann, "GET", "/skills/greet/diff?version=1")
    assert first["against"] is None


async def test_a_memory_is_changed_and_found_by_its_id(api: Api) -> None:
    ann = api.people.ann
    memory_id = await api.make(ann, "/memories", {"content": "the deadline is on Monday"})
    change = {"content": "the deadline is on Friday"}
    status, changed = await api.call(ann, "PATCH", f"/memories/{memory_id}", change)
    assert (status, changed["content"]) == (200, "the deadline is on Friday")
    _, found = await api.call(ann, "GET", "/memories/search?q=deadline")
    assert [(hit["id"], hit["content"]) for hit in found["results"]] == [
        (memory_id, "the deadline is on Friday")
    ]
    _, listed = await api.call(ann, "GET", "/memories?owned=own")
    assert [item["id"] for item in listed["items"]] == [memory_id]
    assert (await api.call(ann, "PATCH", f"/memories/{memory_id}", {"shared": True}))[0] == 403
    for bad in ({"content": ""}, {"text": "x"}, {"metadata": None}):
        assert (await api.call(ann, "PATCH", f"/memories/{memory_id}", bad))[0] == 400


async def test_the_tools_that_an_agent_may_name_are_listed(api: Api) -> None:
    ann = api.people.ann
    await api.make(ann, "/mcp-servers", {"name": "fs", "type": "local", "command": "mcp-fs"})
    _, tools = await api.call(ann, "GET", "/tools")
    assert {item["kind"] for item in tools["items"]} == {"built_in", "mcp_server"}
    every = [item["name"] for item in tools["items"]]
    assert {"bash", "fs"} <= set(every)
    agent_id = await api.make(ann, "/agents", {"name": "a", "tools": every})
    rule = {"effect": "deny", "rule": "bash", "level": "agent", "target": agent_id}
    rule_id = await api.make(ann, "/rules", rule)
    await api.make(ann, "/rules", {"effect": "deny", "rule": "bash"})
    _, held = await api.call(ann, "GET", f"/rules?agent_id={agent_id}")
    assert [one["id"] for one in held["items"]] == [rule_id]


@pytest.mark.parametrize("content", [b"not a zip", b"PK\x03\x04" + b"\0" * 50])
async def test_a_package_that_is_none_is_refused(api: Api, content: bytes) -> None:
    status, answer = await api.call(api.people.orla, "POST", "/skills", data=content)
    assert status == 400, answer
    assert (await api.call(api.people.orla, "GET", "/skills"))[1]["items"] == []


async def test_an_mcp_servers_secrets_are_never_answered(api: Api) -> None:
    server = {
        "name": "hub",
        "type": "remote",
        "url": "https://mcp.example/mcp?key=in-the-url",
        "headers": {"Authorization": "Bearer in-the-header"},
    }
    answers = [
        await api.call(api.people.orla, "POST", "/mcp-servers", {**server, "shared": True}),
        await api.call(api.people.ann, "GET", "/mcp-servers"),
    ]
    assert [status for status, _ in answers] == [201, 200]
    assert answers[1][1]["items"][0]["name"] == "hub"
    assert "in-the" not in repr(answers)


async def test_unknown_records_are_named_in_the_error(api: Api) -> None:
    for kind in ("user", "agent", "machine", "session", "org", "evolution"):
        status, answer = await api.call(api.people.ada, "GET", f"/{kind}s/{new_id()}")
        assert (status, answer["error"]["code"]) == (404, f"{kind.upper()}_NOT_FOUND")


@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        ("/evolutions?state=pending", "/evolutions?state=lost"),
        ("/usage?group_by=day", "/usage?group_by=planet"),
    ],
)
async def test_what_is_asked_for_is_one_of_what_there_is(
    api: Api, known: str, unknown: str
) -> None:
    assert (await api.call(api.people.orla, "GET", known))[0] == 200
    status, answer = await api.call(api.people.orla, "GET", unknown)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")
