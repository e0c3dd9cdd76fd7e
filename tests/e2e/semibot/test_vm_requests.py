"""What a VM asks for (000 §4.3): every method's answer and its errors."""

import base64
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.admission import Json
from tests.support.control import Control, TestUser, running
from tests.support.gate import Gate, answer_to, gated_tools, mcp_call
from tests.support.mcp_server import running_server
from tests.support.orgs import admin_of_new_org, import_skill
from tests.support.vm import ScriptedVm
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser, vm: ScriptedVm) -> str:
    return await user.session()


def code_of(answer: Json) -> str:
    """The code of a failed response, whose shape is checked on the way."""
    assert answer.keys() == {"type", "id", "result", "error"}
    assert answer["result"] is None
    assert answer["error"].keys() == {"code", "message"}
    return str(answer["error"]["code"])


MANIFEST = b"---\nname: Search\ndescription: d\nversion: %s\n---\nBody \xe4\xbd\xa0\xe5\xa5\xbd"


@pytest.mark.proves("000-4.3-get-skill-package", "000-4.3-skill-version-optional")
async def test_get_skill_package_sends_the_whole_directory_of_one_version(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    binary = bytes(range(256))
    await import_skill(user, {"SKILL.md": MANIFEST % b"1.0", "scripts/old.py": b"old"})
    await import_skill(
        user,
        {"SKILL.md": MANIFEST % b"2.0", "scripts/run.py": b"print()\n", "logo.bin": binary},
    )
    latest = await vm.request(session, "get_skill_package", skill_id="search")
    assert latest["error"] is None
    package = latest["result"]["package"]
    assert (package["skill_id"], package["version"]) == ("search", "2.0")
    files = {file["path"]: file for file in package["files"]}
    assert files.keys() == {"SKILL.md", "scripts/run.py", "logo.bin"}
    assert files["SKILL.md"]["content"] == (MANIFEST % b"2.0").decode()
    assert files["SKILL.md"]["encoding"] == "utf-8"
    assert files["logo.bin"]["encoding"] == "base64"
    assert base64.b64decode(files["logo.bin"]["content"]) == binary
    assert package["file_inventory"]["script_files"] == ["scripts/run.py"]
    older = await vm.request(session, "get_skill_package", skill_id="search", version="1.0")
    assert {file["path"] for file in older["result"]["package"]["files"]} == {
        "SKILL.md",
        "scripts/old.py",
    }
    named = await vm.request(session, "get_skill_package", skill_id="search", version="latest")
    assert named["result"] == latest["result"]


@pytest.mark.proves("000-5.4-skill-not-found", "000-5.4-response-failure")
async def test_a_skill_that_is_not_there_or_another_orgs_is_not_found(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    other = await admin_of_new_org(control, "eve")
    await import_skill(other, {"SKILL.md": MANIFEST % b"1.0"})
    for params in ({"skill_id": "search"}, {"skill_id": "../../etc"}, {"skill_id": "x\x00"}):
        answer = await vm.request(session, "get_skill_package", **params)
        assert code_of(answer) in ("SKILL_NOT_FOUND", "INVALID_REQUEST")
    await import_skill(user, {"SKILL.md": MANIFEST % b"1.0"})
    wrong = await vm.request(session, "get_skill_package", skill_id="search", version="9")
    assert code_of(wrong) == "SKILL_NOT_FOUND"
    assert code_of(await vm.request(session, "get_skill_package")) == "INVALID_PARAMS"


@pytest.mark.proves("000-4.3-memory-search")
async def test_memory_search_finds_the_callers_memories_only(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    org_id = (await user.ok("GET", f"/users/{user.id}"))["org_id"]
    colleague = await control.user("bob", org_id=org_id)
    await user.ok("POST", "/memories", {"content": "The ship sails at noon", "metadata": {"a": 1}})
    await user.ok("POST", "/memories", {"content": "shared ship", "shared": True})
    await user.ok("POST", "/memories", {"content": "船在中午起航"})
    await colleague.ok("POST", "/memories", {"content": "bob's secret ship"})
    answer = await vm.request(session, "memory_search", query="ship", top_k=5)
    found = answer["result"]["results"]
    assert {one["content"] for one in found} >= {"The ship sails at noon", "shared ship"}
    assert all("secret" not in one["content"] for one in found)
    first = next(one for one in found if one["content"].startswith("The ship"))
    assert first.keys() == {"content", "score", "metadata"}
    assert first["metadata"] == {"a": 1}
    chinese = await vm.request(session, "memory_search", query="起航")
    assert chinese["result"]["results"][0]["content"] == "船在中午起航"


@pytest.mark.usefixtures("gate")
@pytest.mark.proves("000-4.3-mcp-call")
async def test_mcp_call_reaches_a_remote_server(vm: ScriptedVm, session: str) -> None:
    await vm.send(mcp_call(session, "sum", "add", a=2, b=40))
    answer = await answer_to(vm, "sum")
    assert answer["error"] is None
    assert answer["result"]["result"]["content"][0]["text"] == "42"


@pytest.mark.proves("000-8-mcp-timeout-is-the-servers", "000-8-timeout-per-method")
async def test_mcp_call_ends_after_the_servers_own_timeout(
    user: TestUser, vm: ScriptedVm, session: str
) -> None:
    async with running_server() as server:
        slow = {"name": "slow", "type": "remote", "url": server.url, "timeout_s": 0.5}
        await user.ok("POST", "/mcp-servers", slow)
        answer = await vm.request(session, "mcp_call", server="slow", tool="hang", arguments={})
        assert code_of(answer) == "MCP_TIMEOUT"


@pytest.mark.proves("000-4.3-get-config")
async def test_get_config_gives_the_configuration_of_an_agent_of_the_org(
    control: Control, user: TestUser, vm: ScriptedVm, session: str
) -> None:
    agent = await user.ok("POST", "/agents", {"name": "a", "model": "m", "temperature": 0.5})
    answer = await vm.request(session, "get_config", agent_id=agent["id"])
    config = answer["result"]["config"]
    assert (config["name"], config["model"], config["temperature"]) == ("a", "m", 0.5)
    other = await admin_of_new_org(control, "eve")
    foreign = await other.ok("POST", "/agents", {"name": "theirs", "system_prompt": "secret"})
    for agent_id in (foreign["id"], "none", "../x", ""):
        answer = await vm.request(session, "get_config", agent_id=agent_id)
        assert code_of(answer) == "AGENT_NOT_FOUND"


@pytest.mark.proves("000-4.3-get-session")
async def test_get_session_gives_a_session_of_the_user_with_its_agent(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    agent = await user.ok("POST", "/agents", {"name": "a", "model": "m"})
    session_id = await user.session(agent_id=agent["id"], agent_config={"model": "n"})
    answer = await vm.request(session_id, "get_session", session_id=session_id)
    assert answer["result"]["session"]["id"] == session_id
    assert (answer["result"]["agent"]["name"], answer["result"]["agent"]["model"]) == ("a", "n")
    itself = await vm.request(session_id, "get_session")
    assert itself["result"]["session"]["id"] == session_id
    stranger = await control.user("eve")
    async with await stranger.vm():
        theirs = await stranger.session()
        answer = await vm.request(session_id, "get_session", session_id=theirs)
        assert code_of(answer) == "SESSION_NOT_FOUND"


@pytest.mark.proves("000-5.4-response-failure")
async def test_an_unknown_method_is_an_error_with_its_code(vm: ScriptedVm, session: str) -> None:
    for method in ("from_the_future", "", "snapshot_sync", "__class__", "x" * 10_000):
        assert code_of(await vm.request(session, method)) == "METHOD_NOT_FOUND"


@pytest.mark.proves("000-4.3-answer-has-the-requests-id")
async def test_each_request_gets_its_own_answer_whatever_the_order(
    user: TestUser, vm: ScriptedVm, session: str, gate: Gate
) -> None:
    await vm.send(mcp_call(session, "slow", "gate"))
    await gate.reached.wait()
    await vm.send(mcp_call(session, "quick", "add", a=1, b=2))
    assert (await answer_to(vm, "quick"))["result"]["result"]["content"][0]["text"] == "3"
    assert [one["id"] for one in vm.of_type("response")] == ["quick"]
    gate.opened.set()
    slow = await answer_to(vm, "slow")
    assert slow["result"]["result"]["content"][0]["text"] == "through"


async def test_too_many_requests_at_once_are_refused_and_the_line_lives_on(
    tmp_path: Path,
) -> None:
    tuning = Tuning(requests_max=2)
    async with running(tmp_path / "data", tuning=tuning, mcp_allowed_hosts="127.0.0.1") as control:
        user = await admin_of_new_org(control)
        async with await user.vm() as vm, gated_tools(user) as gate:
            await _three_at_once(vm, await user.session(), gate)


async def _three_at_once(vm: ScriptedVm, session: str, gate: Gate) -> None:
    for number in range(3):
        await vm.send(mcp_call(session, f"r{number}", "gate"))
    assert code_of(await answer_to(vm, "r2")) == "TOO_MANY_REQUESTS"
    gate.opened.set()
    assert (await answer_to(vm, "r0"))["error"] is None
    assert (await answer_to(vm, "r1"))["error"] is None
    await vm.send(mcp_call(session, "r3", "gate"))
    assert (await answer_to(vm, "r3"))["error"] is None


async def test_two_machines_may_use_the_same_request_id(
    user: TestUser, vm: ScriptedVm, session: str, gate: Gate
) -> None:
    async with await user.vm() as second:
        neighbour = await user.session()
        await second.expect("start_session")
        await vm.send(mcp_call(session, "msg-1", "gate"))
        await gate.reached.wait()
        await second.send(mcp_call(neighbour, "msg-1", "add", a=1, b=1))
        answer = await answer_to(second, "msg-1")
        assert answer["result"]["result"]["content"][0]["text"] == "2"
        gate.opened.set()
        first = await answer_to(vm, "msg-1")
        assert first["result"]["result"]["content"][0]["text"] == "through"
