"""What a machine can run: in its record, and for whoever makes a session there."""

from typing import Any

import pytest

from tests.support.control import Control, TestUser
from tests.support.eventually import eventually
from tests.support.myagent import client_of
from tests.support.told import started
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import web_of

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

Json = dict[str, Any]
HAS: Json = {
    "runtimes": ["semigraph", "acp"],
    "runtime_details": {
        "semigraph": {"usable": True, "version": "0.1.0"},
        "openclaw": {"usable": False, "reason": "OpenClaw is not installed", "install": "do this"},
        "acp": {
            "usable": True,
            "version": "0.12.1",
            "presets": {"opencode": {"usable": True, "version": "1.18.33"}, "goose": {}},
        },
    },
}


async def machine(user: TestUser, health: Json | None = None) -> tuple[str, ScriptedVm]:
    """One that has told what it has."""
    made = await user.schedule()
    vm = ScriptedVm(made["ws_url"], user.id, made["token"], made["ticket"])
    await vm.connect()
    await vm.authenticate()
    if health is not None:
        await tell(user, made["vm_id"], vm, health)
    return made["vm_id"], vm


async def tell(user: TestUser, machine_id: str, vm: ScriptedVm, health: Json) -> None:
    await vm.send({"type": "heartbeat", "active_sessions": [], "health": health})
    await eventually(lambda: record(user, machine_id), lambda found: found["health"] == health)


async def record(user: TestUser, machine_id: str) -> Json:
    found: Json = await user.ok("GET", f"/machines/{machine_id}")
    return found


async def refused(user: TestUser, **body: Any) -> tuple[int, str]:
    status, answer = await user.call("POST", "/sessions", body)
    assert answer["error"]["code"] == "RUNTIME_UNSUPPORTED", answer
    return status, answer["error"]["message"]


async def test_the_record_lists_what_it_can_run_also_when_it_is_gone(user: TestUser) -> None:
    machine_id, vm = await machine(user)
    async with vm:
        assert (await record(user, machine_id))["runtimes"] is None
        await tell(user, machine_id, vm, HAS)
        runtimes = (await record(user, machine_id))["runtimes"]
        assert runtimes["acp"]["presets"]["opencode"]["version"] == "1.18.33"
        assert runtimes["openclaw"]["usable"] is False
        assert runtimes["openclaw"]["install"] == "do this"
    gone = await eventually(lambda: record(user, machine_id), lambda found: not found["online"])
    assert gone["runtimes"] == runtimes
    assert (await refused(user, machine_id=machine_id, runtime_type="openclaw"))[0] == 409


async def test_what_the_machine_lacks_is_refused_and_no_session_is_left(user: TestUser) -> None:
    machine_id, vm = await machine(user, HAS)
    async with vm:
        status, message = await refused(user, machine_id=machine_id, runtime_type="openclaw")
        assert status == 409
        assert "OpenClaw is not installed (do this); it has: acp, semigraph" in message
        status, _ = await refused(user, machine_id=machine_id, runtime_type="claude-cod")
        assert status == 400
        goose = {"acp": {"preset": "goose"}}
        body = {"machine_id": machine_id, "runtime_type": "acp", "agent_config": goose}
        assert (await refused(user, **body))[0] == 409
        assert (await user.ok("GET", "/sessions"))["items"] == []
        body["agent_config"] = {"acp": {"preset": "opencode"}, "workspace": "project"}
        data = await started(vm, await user.session(**body))
        assert data["runtime_type"] == "acp"
        assert data["agent_config"] == body["agent_config"]


async def test_the_default_of_a_user_is_refused_likewise(user: TestUser) -> None:
    await user.ok("PATCH", f"/users/{user.id}", {"default_runtime_type": "openclaw"})
    machine_id, vm = await machine(user, HAS)
    async with vm:
        assert (await refused(user, machine_id=machine_id))[0] == 409


async def test_a_machine_without_a_list_takes_what_is_documented(user: TestUser) -> None:
    machine_id, vm = await machine(user, {"state": "fine"})
    async with vm:
        await user.session(machine_id=machine_id, runtime_type="semigraph")
        await user.session(machine_id=machine_id, runtime_type="openclaw")
        status, message = await refused(user, machine_id=machine_id, runtime_type="claude-code")
        assert status == 409
        assert "it has: openclaw, semigraph" in message


async def test_a_machine_is_picked_that_has_the_runtime(user: TestUser) -> None:
    first_id, first = await machine(user, {"runtimes": ["semigraph", "claude-code"]})
    second_id, second = await machine(user, {"runtimes": ["semigraph"]})
    async with first, second:
        made = await user.ok("POST", "/sessions", {"runtime_type": "claude-code"})
        assert made["machine_id"] == first_id
        made = await user.ok("POST", "/sessions", {})
        assert made["machine_id"] == second_id
        status, message = await refused(user, runtime_type="openclaw")
        assert status == 409
        assert "it has: semigraph" in message


async def test_a_session_does_not_move_to_a_machine_that_lacks_its_runtime(user: TestUser) -> None:
    first_id, first = await machine(user, {"runtimes": ["semigraph", "claude-code"]})
    second_id, second = await machine(user, {"runtimes": ["semigraph"]})
    async with first, second:
        session = await user.session(machine_id=first_id, runtime_type="claude-code")
        status, answer = await user.call("PATCH", f"/sessions/{session}", {"machine_id": second_id})
        assert (status, answer["error"]["code"]) == (409, "RUNTIME_UNSUPPORTED")


async def test_what_was_installed_counts_from_the_next_heartbeat(user: TestUser) -> None:
    machine_id, vm = await machine(user, {"runtimes": ["semigraph"]})
    async with vm:
        assert (await refused(user, machine_id=machine_id, runtime_type="openclaw"))[0] == 409
        await tell(user, machine_id, vm, {"runtimes": ["openclaw", "semigraph"]})
        await user.session(machine_id=machine_id, runtime_type="openclaw")


@pytest.mark.parametrize(
    "acp",
    [
        {},
        {"preset": "nope"},
        {"preset": "goose", "command": ["x"]},
        {"command": []},
        {"command": [" "]},
        {"command": "rm -rf"},
        {"command": ["x"] * 101},
        {"command": ["x" * 4001]},
        {"command": ["a\u0000b"]},
        {"command": ["x"], "env": {"A=B": "c"}},
        {"command": ["x"], "env": {"": "c"}},
        {"command": ["x"], "env": {"A": 1}},
        {"command": ["x"], "env": {f"A{number}": "b" for number in range(101)}},
        {"preset": "goose", "shell": True},
        "goose",
        [],
    ],
)
async def test_a_program_that_makes_no_sense_is_refused(user: TestUser, acp: object) -> None:
    for path, body in (
        ("/agents", {"name": "odd", "acp": acp}),
        ("/sessions", {"runtime_type": "acp", "agent_config": {"acp": acp}}),
        ("/sessions", {"runtime_type": "acp", "session_config": {"acp": acp}}),
    ):
        status, answer = await user.call("POST", path, body)
        assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST"), (path, answer)


@pytest.mark.parametrize("workspace", ["", "a\u0000b", "x" * 4001, 7, ["x"]])
async def test_a_folder_that_makes_no_sense_is_refused(user: TestUser, workspace: object) -> None:
    for path, body in (
        ("/agents", {"name": "odd", "workspace": workspace}),
        ("/sessions", {"agent_config": {"workspace": workspace}}),
        ("/sessions", {"session_config": {"workspace": workspace}}),
    ):
        status, _ = await user.call("POST", path, body)
        assert status == 400, path


async def test_an_agent_has_a_folder_and_a_program_and_its_sessions_get_them(
    user: TestUser,
) -> None:
    acp = {"command": ["my-agent", "--acp"], "env": {"MODE": "fast"}}
    new = {"name": "mine", "runtime_type": "acp", "acp": acp, "workspace": "project"}
    agent = await user.ok("POST", "/agents", new)
    assert (agent["acp"], agent["workspace"]) == (acp, "project")
    machine_id, vm = await machine(user, HAS)
    async with vm:
        session = await user.session(agent_id=agent["id"], machine_id=machine_id)
        config = (await started(vm, session))["agent_config"]
        assert (config["acp"], config["workspace"]) == (acp, "project")
    path = f"/agents/{agent['id']}"
    changed = await user.ok("PATCH", path, {"acp": {"preset": "goose"}, "workspace": None})
    assert (changed["acp"], changed["workspace"]) == ({"preset": "goose"}, None)
    assert (await user.ok("PATCH", path, {"acp": None}))["acp"] is None


@pytest.mark.parametrize("name", ["workspace", "acp"])
async def test_a_running_session_keeps_its_folder_and_its_program(
    user: TestUser, name: str
) -> None:
    value = {"workspace": "elsewhere", "acp": {"preset": "goose"}}[name]
    _, vm = await machine(user)
    async with vm:
        session = await user.session()
        for body in ({name: value}, {"agent_config": {name: value}}):
            status, answer = await user.call("PATCH", f"/sessions/{session}/config", body)
            assert status == 400
            assert "when a session is made" in answer["error"]["message"]


async def test_a_command_needs_the_right_to_answer_questions(
    control: Control, user: TestUser
) -> None:
    _, vm = await machine(user, HAS)
    body: Json = {"runtime_type": "acp", "agent_config": {"acp": {"command": ["x"]}}}
    path = f"/users/{user.id}/token"
    talker = (await user.ok("POST", path, {"scopes": ["read", "talk"]}))["token"]
    async with vm:
        status, answer = await control.call("POST", "/sessions", body, token=talker)
        assert (status, answer["error"]["code"]) == (403, "SCOPE_MISSING")
        preset = {**body, "agent_config": {"acp": {"preset": "opencode"}}}
        assert (await control.call("POST", "/sessions", preset, token=talker))[0] == 201
        await user.session(**body)


async def test_nobody_runs_a_command_on_somebody_elses_machine(
    control: Control, user: TestUser
) -> None:
    machine_id, vm = await machine(user, HAS)
    command = {"acp": {"command": ["x"]}}
    body: Json = {"machine_id": machine_id, "runtime_type": "acp", "agent_config": command}
    async with vm:
        status, answer = await control.call("POST", "/sessions", body)
        assert (status, answer["error"]["code"]) == (403, "FORBIDDEN")
        new = {"name": "theirs", "runtime_type": "acp", **command}
        agent = await user.ok("POST", "/agents", new)
        mine = {"machine_id": machine_id, "agent_id": agent["id"]}
        assert (await control.call("POST", "/sessions", mine))[0] == 201


@pytest.mark.parametrize(
    "said",
    [
        {"acp": {"command": ["x"]}},
        {"acp": {"preset": "opencode", "env": {"PATH": "elsewhere"}}},
        {"session_config": {"acp": {"command": ["x"]}}},
    ],
)
async def test_nobody_says_a_command_for_somebody_elses_agent(
    control: Control, user: TestUser, said: Json
) -> None:
    """It would run on that person's machines, unasked."""
    new = {"name": "theirs", "runtime_type": "acp"}
    status, answer = await control.call("POST", "/agents", {**new, **said, "user_id": user.id})
    assert (status, answer["error"]["code"]) == (403, "FORBIDDEN")
    own = await user.ok("POST", "/agents", {**new, **said})
    assert (await control.call("PATCH", f"/agents/{own['id']}", said))[0] == 200  # nothing new
    agent = await user.ok("POST", "/agents", new)
    path = f"/agents/{agent['id']}"
    status, answer = await control.call("PATCH", path, said)
    assert (status, answer["error"]["code"]) == (403, "FORBIDDEN")
    preset = {"acp": {"preset": "opencode"}, "session_config": {"max_turns": 3}}
    assert (await control.call("PATCH", path, preset))[0] == 200


async def test_a_myagent_client_is_refused_with_the_same_code(user: TestUser) -> None:
    machine_id, vm = await machine(user, HAS)
    async with vm, client_of(user) as client:
        content = {"machine_id": machine_id, "runtime_type": "openclaw"}
        await client.send("user.create_session", content=content)
        fault = await client.fault("RUNTIME_UNSUPPORTED")
        assert "it has: acp, semigraph" in str(fault)


async def test_a_person_of_a_group_is_refused_with_the_same_code(user: TestUser) -> None:
    machine_id, vm = await machine(user, HAS)
    new = {"name": "alice", "machine_id": machine_id, "runtime_type": "openclaw"}
    person = await user.ok("POST", "/persons", new)
    group = await user.ok("POST", "/groups", {"name": "team", "person_ids": [person["id"]]})
    async with vm:
        session = await user.session(machine_id=group["id"])
        async with user.reader(session) as reader:
            await user.say(session, "hello")
            error = await reader.until_type("person_error")
            assert error["code"] == "RUNTIME_UNSUPPORTED"


async def test_a_yeaft_page_gets_a_conversation_whatever_it_calls_its_provider(
    user: TestUser,
) -> None:
    """Pages name one in any case; a name that the machine has no runtime for chooses none."""
    machine_id, vm = await machine(user, HAS)
    async with vm, web_of(user) as web:
        session = await web.create(agentId=machine_id, provider="claude-code")
        assert (await started(vm, session))["runtime_type"] == "semigraph"


async def test_a_name_that_the_machine_is_known_not_to_know_is_refused(user: TestUser) -> None:
    knows = {"settings": ["max_turns"], "models": {"providers": ["groq"], "any": False}}
    own = {"usable": True, **knows}
    health = {"runtimes": ["semigraph"], "runtime_details": {"semigraph": own}}
    machine_id, vm = await machine(user, health)
    async with vm:
        for config, code, hint in (
            ({"session_config": {"max_turn": 3}}, "UNKNOWN_FIELD", "did you mean 'max_turns'?"),
            ({"agent_config": {"temprature": 1}}, "UNKNOWN_FIELD", "did you mean 'temperature'?"),
            ({"agent_config": {"model": "gtp-4o"}}, "MODEL_NOT_FOUND", "did you mean 'gpt-4o'?"),
            ({"session_config": {"model": "x/y"}}, "MODEL_NOT_FOUND", "groq has a key here"),
            ({"agent_config": {"model": "gpt-4o"}}, "MODEL_KEY_MISSING", "groq has a key here"),
        ):
            body = {"machine_id": machine_id, **config}
            status, answer = await user.call("POST", "/sessions", body)
            assert (status, answer["error"]["code"]) == (400, code), answer
            assert hint in answer["error"]["message"]
        assert (await user.ok("GET", "/sessions"))["items"] == []
        # A key that is stored now counts now, whatever the machine said last.
        stored = {"api_key": "k", "base_url": "https://x.example/v1"}
        await user.ok("PUT", f"/users/{user.id}/credentials/x", stored)
        session = await user.session(
            machine_id=machine_id, agent_config={"model": "x/y", "temperature": 1}
        )
        path = f"/sessions/{session}/config"
        status, answer = await user.call("PATCH", path, {"model": "gtp-4o", "temperature": 0})
        assert (status, answer["error"]["code"]) == (400, "MODEL_NOT_FOUND"), answer
        config = (await user.ok("GET", f"/sessions/{session}"))["agent_config"]
        assert (config["model"], config["temperature"]) == ("x/y", 1)
        await user.ok("PATCH", path, {"model": "groq/y"})
        await user.ok("PATCH", path, {"model": None})
    other_id, silent = await machine(user, {"runtimes": ["semigraph"]})
    async with silent:
        await user.session(machine_id=other_id, session_config={"max_turn": 3, "model": "gtp-4o"})
