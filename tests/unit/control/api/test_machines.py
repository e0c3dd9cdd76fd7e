"""Machines over the API: how each kind is let in, emptied, named; what a newcomer is told."""

import shlex
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.unit.control.api.conftest import Api
from tests.unit.control.machines.stage import KeptLine
from trunkline.control.access.auth import Principal
from trunkline.control.machines.rows import SqlMachineRows
from trunkline.control.machines.traits import KINDS
from trunkline.control.records.credentials import Revealed

SAYS: dict[str, object] = {
    "runtimes": ["semigraph"],
    "runtime_details": {
        "semigraph": {
            "usable": True,
            "version": "0.1",
            "models": {"providers": [], "any": False, "default": "demo"},
        }
    },
    "fence": {"in_force": True, "words": "kept to its folder"},
    "sessions": {"running": 2, "resting": 1, "max": 20},
    "load": {"cpu": 0.5, "cpus": 4, "memory_bytes": 10, "memory_bytes_max": 20},
    "degradation": {"without_line": {"degraded": {"remote_mcp": "calls fail", "x": 7}}},
}


async def online(api: Api, who: Principal, says: dict[str, object] = SAYS) -> str:
    machine = await api.core.machines.get(await api.schedule(who))
    api.core.machines.attach(machine, KeptLine(KINDS["vm"]), fresh=True)
    api.core.machines.heartbeat(machine, [], says)
    return machine.id


async def test_the_command_for_a_machine_is_whole(api: Api) -> None:
    ann = api.people.ann
    _, vm = await api.call(ann, "POST", f"/users/{ann.user_id}/vm", {"connect_within_s": 3600})
    *words, program, node, home, _ = shlex.split(vm["start_command"])
    assert (program, node, home) == ("trunkline", "node", "--home")
    named = dict(word.split("=", 1) for word in words)
    assert named == {
        "USER_ID": ann.user_id,
        "VM_TOKEN": vm["token"],
        "VM_TICKET": vm["ticket"],
        "CONTROL_PLANE_WS": vm["ws_url"],
    }
    assert vm["environment"] == {**named, "VM_USER_ID": ann.user_id}
    for within in (0, -1, 10**9, "1", True):
        body = {"connect_within_s": within}
        assert (await api.call(ann, "POST", f"/users/{ann.user_id}/vm", body))[0] == 400


async def test_a_device_and_a_yeaft_agent_are_told_where_to_connect(api: Api) -> None:
    ann, host = api.people.ann, api.client.make_url("/").authority
    _, device = await api.call(ann, "POST", f"/users/{ann.user_id}/devices", {"guid": "a&b=1#"})
    url = urlsplit(device["connect_url"])
    assert (url.scheme, url.netloc, url.path) == ("ws", host, "/ws/agp")
    assert parse_qs(url.query) == {
        "guid": ["a&b=1#"],
        "user_id": [ann.user_id],
        "token": [device["token"]],
    }
    known, devices = device["machine_id"], f"/users/{ann.user_id}/devices"
    await api.call(ann, "PATCH", f"/machines/{known}", {"name": "my phone"})
    _, again = await api.call(ann, "POST", devices, {"id": known})
    assert (again["guid"], again["machine_id"]) == ("a&b=1#", known)
    assert again["token"] != device["token"]
    assert (await api.call(ann, "POST", devices, {"id": known, "guid": "x"}))[0] == 400
    for stranger in (await api.schedule(ann), "../x", "0"):
        assert (await api.call(ann, "POST", devices, {"id": stranger}))[0] == 404
    path, name = f"/users/{ann.user_id}/yeaft-agents", "Ann's; rm -rf ~"
    _, agent = await api.call(ann, "POST", path, {"name": name})
    assert shlex.split(agent["start_command"]) == [
        f"SERVER_URL=ws://{host}",
        f"AGENT_NAME={name}",
        f"AGENT_SECRET={agent['secret']}",
        "yeaft-agent",
    ]
    _, renewed = await api.call(ann, "POST", path, {"id": agent["id"]})
    assert renewed["environment"]["AGENT_NAME"] == name
    assert renewed["secret"] != agent["secret"]


async def test_a_machine_that_is_drained_takes_no_new_sessions(api: Api) -> None:
    ann = api.people.ann
    kept, drained = await online(api, ann), await online(api, ann)
    old = await api.make(ann, "/sessions", {"machine_id": drained})
    moved = await api.make(ann, "/sessions", {"machine_id": kept})
    status, shown = await api.call(ann, "POST", f"/machines/{drained}/drain", {"drain": True})
    assert (status, shown["draining"], shown["sessions"]) == (200, True, [old])
    status, refused = await api.call(ann, "POST", "/sessions", {"machine_id": drained})
    assert (status, refused["error"]["code"]) == (409, "MACHINE_DRAINING")
    kept_row = await SqlMachineRows(api.core.store).get(drained)
    assert kept_row.is_draining, "over a restart too"
    body = {"machine_id": drained}
    status, refused = await api.call(ann, "PATCH", f"/sessions/{moved}", body)
    assert (status, refused["error"]["code"]) == (409, "MACHINE_DRAINING")
    chosen = await api.make(ann, "/sessions", {})
    assert (await api.call(ann, "GET", f"/sessions/{chosen}"))[1]["machine_id"] == kept
    said = await api.call(ann, "POST", f"/sessions/{old}/messages", {"message": "go on"})
    assert said[0] == 202, "what it has goes on"
    await api.call(ann, "POST", f"/machines/{kept}/drain", {"drain": True})
    status, refused = await api.call(ann, "POST", "/sessions", {})
    assert (status, refused["error"]["code"]) == (409, "MACHINE_DRAINING")
    await api.call(ann, "POST", f"/machines/{drained}/drain", {"drain": False})
    chosen = await api.make(ann, "/sessions", {})
    assert (await api.call(ann, "GET", f"/sessions/{chosen}"))[1]["machine_id"] == drained


@pytest.mark.parametrize("body", [None, {}, {"drain": "yes"}, {"drain": None}, {"drian": True}])
async def test_a_drain_says_yes_or_no(api: Api, body: object) -> None:
    ann = api.people.ann
    machine = await api.schedule(ann)
    assert (await api.call(ann, "POST", f"/machines/{machine}/drain", body))[0] == 400


async def test_nobody_drains_or_renames_another_ones_machine(api: Api) -> None:
    machine = await api.schedule(api.people.ann)
    for who in (api.people.bob, api.people.zoe):
        drained = await api.call(who, "POST", f"/machines/{machine}/drain", {"drain": True})
        renamed = await api.call(who, "PATCH", f"/machines/{machine}", {"name": "mine"})
        assert (drained[0], renamed[0]) == (404, 404)


async def test_a_machine_is_renamed(api: Api) -> None:
    ann = api.people.ann
    machine = await api.schedule(ann)
    status, shown = await api.call(ann, "PATCH", f"/machines/{machine}", {"name": "desk"})
    assert (status, shown["name"]) == (200, "desk")
    for name in ("", " ", "x" * 201, "a\nb", "this computer", 7, None):
        assert (await api.call(ann, "PATCH", f"/machines/{machine}", {"name": name}))[0] == 400
    group = await api.make(ann, "/groups", {"name": "friends"})
    for method, path, body in (
        ("PATCH", f"/machines/{group}", {"name": "foes"}),
        ("POST", f"/machines/{group}/drain", {"drain": True}),
    ):
        assert (await api.call(ann, method, path, body))[0] == 400


async def test_what_a_machine_says_of_its_load_is_shown_as_far_as_it_makes_sense(
    api: Api,
) -> None:
    ann = api.people.ann
    machine = await online(api, ann)
    _, shown = await api.call(ann, "GET", f"/machines/{machine}")
    assert shown["load"] == {
        "running": 2,
        "resting": 1,
        "sessions_max": 20,
        "cpu": 0.5,
        "cpus": 4,
        "memory_bytes": 10,
        "memory_bytes_max": 20,
    }
    assert shown["without_line"] == {"remote_mcp": "calls fail"}
    nonsense: list[object] = [[], {"running": -1, "max": 2**70}, {"running": True}, {"max": "9"}]
    for hostile in nonsense:
        says: dict[str, object] = {
            **SAYS,
            "sessions": hostile,
            "load": {"cpu": -1, "cpus": "4"},
            "degradation": 7,
        }
        machine = await online(api, ann, says)
        status, shown = await api.call(ann, "GET", f"/machines/{machine}")
        assert (status, shown["without_line"]) == (200, {})
        assert {one for one in shown["load"].values() if one} == set()


async def test_a_newcomer_is_told_what_is_there(api: Api) -> None:
    ann = api.people.ann
    _, empty = await api.call(ann, "GET", "/welcome")
    assert (empty["machines"], empty["model"], empty["providers"]) == ([], None, [])
    assert (empty["sessions"], empty["is_local"]) == (0, True)
    assert empty["url"] == str(api.client.make_url("")).rstrip("/")
    machine = await online(api, ann)
    await online(api, api.people.bob)
    await api.make(ann, "/sessions", {})
    await api.make(ann, "/groups", {"name": "friends"})
    _, there = await api.call(ann, "GET", "/welcome")
    assert [one["id"] for one in there["machines"]] == [machine]
    assert there["machines"][0]["fence"]["words"] == "kept to its folder"
    assert there["model"] == {"name": "demo", "is_built_in": True, "chosen_by": "nobody"}
    assert there["sessions"] == 1


async def test_the_default_model_is_the_users_choice(api: Api) -> None:
    ann = api.people.ann
    mine = f"/users/{ann.user_id}/credentials"
    api.core.records.credentials.lend(ann.user_id, [Revealed("brave", "b", None)])
    await online(api, ann)
    server = {"base_url": "http://127.0.0.1:11434/v1", "default_model": "llama3.2"}
    assert (await api.call(ann, "PUT", f"{mine}/ollama", server))[0] == 200
    _, models = await api.call(ann, "GET", "/models")
    chosen = {"name": "ollama/llama3.2", "is_built_in": False, "chosen_by": "user"}
    assert models["default"] == chosen
    assert [(one["provider"], one["source"]) for one in models["providers"]] == [
        ("brave", "server"),
        ("ollama", "stored"),
    ]
    assert {"name", "input", "output"} <= set(models["prices"][0])
    await api.call(ann, "PUT", f"{mine}/openai", {"api_key": "k", "default_model": "gpt-5"})
    assert (await api.call(ann, "GET", "/models"))[1]["default"]["name"] == "gpt-5"
    assert (await api.call(ann, "GET", f"{mine}/ollama"))[1]["default_model"] is None
    await api.call(ann, "PUT", f"{mine}/openai", {"api_key": "another"})
    assert (await api.call(ann, "GET", "/models"))[1]["default"]["name"] == "gpt-5", "it is kept"
    await api.call(ann, "PATCH", f"{mine}/openai", {"default_model": None})
    assert (await api.call(ann, "GET", "/models"))[1]["default"]["name"] == "demo"
    for wrong in ({}, {"api_key": ""}, {"api_key": "k", "default_model": "a b"}):
        assert (await api.call(ann, "PUT", f"{mine}/openai", wrong))[0] == 400
    assert (await api.call(ann, "PATCH", f"{mine}/groq", {"default_model": "x"}))[0] == 404


async def test_a_key_is_tried_only_for_those_one_may_act_for(api: Api) -> None:
    ann, ada = api.people.ann, api.people.ada
    path = f"/users/{ann.user_id}/credentials/openai/test"
    body = {"api_key": "k", "base_url": "http://127.0.0.1:1/v1"}
    assert (await api.call(ann, "POST", path, body))[1]["code"] == "ADDRESS_REFUSED"
    assert (await api.call(ada, "POST", path, body))[1]["code"] == "UNREACHABLE"
    assert (await api.call(api.people.bob, "POST", path, body))[0] == 404
    for wrong in ({"base_url": "file:///etc/passwd"}, {"base_url": "http://a:b@c/"}, {"key": "x"}):
        assert (await api.call(ann, "POST", path, wrong))[0] == 400
    bad = f"/users/{ann.user_id}/credentials/..%2Fx/test"
    assert (await api.call(ann, "POST", bad, body))[0] == 400
