"""Found open: names that nobody knows were accepted in silence, so that a limit, a machine or a
tool that somebody meant to set was not set.

On our own surfaces (settings, command line, REST's own fields) an unknown name is refused, with the
nearest right one. What travels on the documents' wires is tolerated, and `agent_config` may carry
anything.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import LocalControl, TestUser, running
from tests.support.orgs import admin_of_new_org
from trunkline import names
from trunkline.control.errors import InvalidRequest
from trunkline.control.sessions.configuring import CHOICES
from trunkline.control.settings import Settings, load
from trunkline.execution import settings as node
from trunkline.execution.errors import SettingsError
from trunkline.execution.orchestrator.settings import Settings as TurnSettings
from trunkline.execution.settings import NodeSettings

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalControl]:
    async with running(tmp_path_factory.mktemp("names") / "data") as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def user(control: LocalControl) -> TestUser:
    return await admin_of_new_org(control)


async def test_the_list_of_names_is_whole() -> None:
    """A new setting has to be on it, or nobody could set it by a variable."""
    assert set(names.CONTROL) == set(Settings.__struct_fields__)
    of_node = {one for found in (node.NAMES, node.FOREIGN_NAMES) for one in sum(found.values(), ())}
    ours = {one for one in of_node if one.startswith(names.PREFIX)}
    assert ours <= names.ENVIRONMENT
    assert {names.PREFIX + one.upper() for one in names.NODE} <= ours
    assert set(TurnSettings.__struct_fields__) <= CHOICES


def _pages() -> str:
    root = Path(__file__).parents[2]
    files = [root / "README.md", *(root / "docs").rglob("*.md")]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


async def test_documents_and_code_agree_on_the_name_of_every_variable() -> None:
    pages = _pages()
    written = set(re.findall(rf"\b{names.PREFIX}[A-Z][A-Z_]*[A-Z]\b", pages))
    assert written - names.ENVIRONMENT == set()
    of_node = {one for found in (node.NAMES, node.FOREIGN_NAMES) for one in sum(found.values(), ())}
    read = {*names.ENVIRONMENT, *of_node}
    settings = set(re.findall(r"^\| `(\w+)` \|", pages, re.MULTILINE))
    told = {names.PREFIX + one.upper() for one in settings}
    assert {one for one in read - told if not re.search(rf"\b{one}\b", pages)} == set()


async def test_documents_name_every_setting_of_a_session_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/agents.md").read_text(encoding="utf-8")
    table = page.partition("## What the runtime honours")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert set(TurnSettings.__struct_fields__) <= told
    assert told <= {*CHOICES, "skills", "mcp_servers", "sub_agents"}


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("TRUNKLINE_PROT", "TRUNKLINE_PORT"),
        ("TRUNKLINE_OPENAGP", "TRUNKLINE_OPEN_AGP"),
        ("TRUNKLINE_NODE_HOM", "TRUNKLINE_NODE_HOME"),
        ("TRUNKLINE_port", "TRUNKLINE_PORT"),
    ],
)
async def test_a_variable_that_nobody_reads_is_refused(variable: str, meant: str) -> None:
    with pytest.raises(InvalidRequest, match=f"did you mean '{meant}'") as caught:
        load(env={variable: "1"})
    assert caught.value.code == "INVALID_SETTINGS"
    with pytest.raises(SettingsError, match=variable):
        NodeSettings.from_env({variable: "1"})


async def test_names_of_other_programs_and_of_all_of_ours_pass() -> None:
    env = {"TRUNKLINE_URL": "x", "TRUNKLINE_TOKEN": "y", "TRUNKLINE_NODE_HOME": "z", "PROT": "1"}
    assert load(env=env | {"XDG_CONFIG_HOME": os.devnull}).port == 8080


async def test_a_setting_that_is_none_is_refused_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("rate_limit_per_minut = 10\n")
    with pytest.raises(InvalidRequest, match="did you mean 'rate_limit_per_minute'"):
        load(env={}, file=file)


async def test_hostile_names_are_shown_short_and_in_one_line() -> None:
    said = names.unknown("field", "a\n\x1b[2J" + "x" * 100_000, ("machine_id",))
    assert len(said) < 200
    assert said.isprintable()


@pytest.mark.parametrize(
    ("path", "body", "meant"),
    [
        ("/sessions", {"machne_id": "x"}, "machine_id"),
        ("/sessions", {"agent": "x"}, "agent_id"),
        ("/agents", {"name": "x", "temprature": 1}, "temperature"),
        ("/users", {"name": "x", "rol": "admin"}, "role"),
        ("/memories", {"content": "x", "share": True}, "shared"),
    ],
)
async def test_a_field_that_is_none_is_refused(
    user: TestUser, path: str, body: dict[str, Any], meant: str
) -> None:
    status, answer = await user.call("POST", path, body)
    assert (status, answer["error"]["code"]) == (400, "UNKNOWN_FIELD")
    assert f"did you mean '{meant}'" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "meant"),
    [
        ("GET", "/sessions?limt=5", "limit"),
        ("GET", "/sessions?limit=5&curser=x", "cursor"),
        ("GET", "/usage?untill=1", "until"),
        ("GET", "/me?limit=5", ""),
        ("DELETE", "/agents/x?force=1", ""),
    ],
)
async def test_a_query_field_that_is_none_is_refused(
    user: TestUser, method: str, path: str, meant: str
) -> None:
    status, answer = await user.call(method, path)
    assert (status, answer["error"]["code"]) == (400, "UNKNOWN_FIELD")
    assert ("did you mean" in answer["error"]["message"]) is bool(meant)
    assert meant in answer["error"]["message"]


async def test_a_query_field_of_a_page_of_another_make_passes(user: TestUser) -> None:
    assert (await user.call("GET", "/api/user/profile?t=123"))[0] == 200


async def test_what_a_machine_of_another_make_understands_passes(user: TestUser) -> None:
    async with await user.vm():
        session_id = await user.session(agent_config={"temprature": 1, "own": {"machne_id": 2}})
        path = f"/sessions/{session_id}/config"
        await user.ok("PATCH", path, {"agent_config": {"own": 3}, "temperature": 0.5})
        session = await user.ok("GET", f"/sessions/{session_id}")
        assert session["agent_config"]["own"] == 3
        assert session["agent_config"]["temperature"] == 0.5
        status, answer = await user.call("PATCH", path, {"temprature": 0.2})
        assert (status, answer["error"]["code"]) == (400, "UNKNOWN_FIELD")
        assert "did you mean 'temperature'" in answer["error"]["message"]
        assert (await user.call("PATCH", path, {"agent_config": 1}))[0] == 400


async def test_a_tool_that_is_none_is_refused_where_our_runtime_would_run_it(
    user: TestUser,
) -> None:
    status, answer = await user.call("POST", "/agents", {"name": "a", "tools": ["bsh"]})
    assert (status, answer["error"]["code"]) == (400, "UNKNOWN_TOOL")
    assert "did you mean 'bash'" in answer["error"]["message"]
    server = {"name": "files", "type": "local", "command": "mcp-files"}
    await user.ok("POST", "/mcp-servers", server)
    known = ["bash", "mcp__anything__at_all", "files", *sorted(names.TOOLS)]
    agent = await user.ok("POST", "/agents", {"name": "a", "tools": known})
    path = f"/agents/{agent['id']}"
    assert (await user.call("PATCH", path, {"tools": ["nosuchtool"]}))[0] == 400
    # Other runtimes have tools of their own.
    await user.ok("PATCH", path, {"tools": ["Bash"], "runtime_type": "claude-code"})
