"""Found open: an org's admin could run sessions on a member's machine, and the member was neither
told nor asked about dangerous tools. Admins may; the member sees it and has the say."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import LocalControl, TestUser, running
from tests.support.orgs import admin_of_new_org
from trunkline.control.access.auth import Principal
from trunkline.control.errors import Forbidden
from trunkline.control.sessions.others import Json, check_program, stricter, under
from trunkline.execution.orchestrator.settings import read_settings


async def admin_and_member(control: LocalControl) -> tuple[TestUser, TestUser]:
    admin = await admin_of_new_org(control, "olga")
    org = (await admin.ok("GET", "/me"))["org"]["id"]
    return admin, await control.user("ann", org_id=org)


def confirm_of(start: dict[str, Any]) -> str:
    """Which tools ask first, as the runtime reads it."""
    told = start["data"]
    return read_settings(told["agent_config"], told["session_config"])[0].confirm


async def entries(control: LocalControl) -> list[tuple[str, str, str]]:
    page = await control.ok("GET", "/audit?limit=200")
    return [
        (one["event"], one["user_id"], one["details"]["owner"])
        for one in reversed(page["items"])
        if "owner" in one["details"]
    ]


async def test_a_member_sees_who_made_a_session_on_their_machine_and_it_is_audited(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        admin, member = await admin_and_member(control)
        async with await member.vm():
            (machine,) = (await member.ok("GET", "/machines"))["items"]
            made = await admin.ok("POST", "/sessions", {"machine_id": machine["id"]})
            (listed,) = (await member.ok("GET", "/sessions"))["items"]
            assert (listed["id"], listed["created_by"]) == (made["id"], admin.id)
            async with member.reader(made["id"]) as reader:
                told = await reader.until_type("session_status")
                assert told["created_by"] == admin.id
                await admin.say(made["id"], "list the files")
                said = await reader.until_type("user_message")
                assert said["user_id"] == admin.id
            await admin.ok("PATCH", f"/sessions/{made['id']}/config", {"temperature": 0})
            assert await entries(control) == [
                ("session.created", admin.id, member.id),
                ("session.message", admin.id, member.id),
                ("session.configured", admin.id, member.id),
            ]
            own = await member.session()
            assert (await member.ok("GET", f"/sessions/{own}"))["created_by"] is None


@pytest.mark.parametrize(
    ("members", "asked", "applied"),
    [
        ([], None, "dangerous"),
        ([], "never", "dangerous"),
        (["never"], "never", "dangerous"),
        (["never", "always"], "never", "always"),
        (["dangerous"], "always", "always"),
    ],
)
async def test_no_admin_runs_tools_there_that_the_member_wants_to_be_asked_about(
    tmp_path: Path, members: list[str], asked: str | None, applied: str
) -> None:
    async with running(tmp_path / "data") as control:
        admin, member = await admin_and_member(control)
        for confirm in members:
            await member.ok("POST", "/agents", {"name": "helper", "confirm": confirm})
        async with await member.vm() as vm:
            (machine,) = (await member.ok("GET", "/machines"))["items"]
            body: dict[str, Any] = {"machine_id": machine["id"]}
            if asked is not None:
                body["agent_config"] = {"confirm": asked}
                body["session_config"] = {"confirm": asked}
            made = await admin.ok("POST", "/sessions", body)
            assert confirm_of(await vm.expect("start_session")) == applied
            config = f"/sessions/{made['id']}/config"
            await admin.ok("PATCH", config, {"confirm": "never"})
            shown = (await member.ok("GET", f"/sessions/{made['id']}"))["agent_config"]
            assert stricter(shown["confirm"], "dangerous") == shown["confirm"]
            # The member may, on their own machine.
            await member.ok("PATCH", config, {"confirm": "never"})
            shown = (await member.ok("GET", f"/sessions/{made['id']}"))["agent_config"]
            assert shown["confirm"] == "never"


async def test_nor_with_an_agent_whose_session_config_asks_for_it(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        admin, member = await admin_and_member(control)
        agent = {"name": "bold", "confirm": "never", "session_config": {"confirm": "never"}}
        bold = await admin.ok("POST", "/agents", agent)
        async with await member.vm() as vm:
            (machine,) = (await member.ok("GET", "/machines"))["items"]
            body = {"machine_id": machine["id"], "agent_id": bold["id"]}
            await admin.ok("POST", "/sessions", body)
            assert confirm_of(await vm.expect("start_session")) == "dangerous"


async def test_nor_with_a_mode_in_which_the_program_asks_nobody(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        admin, member = await admin_and_member(control)
        async with await member.vm() as vm:
            (machine,) = (await member.ok("GET", "/machines"))["items"]
            modes = {"mode": "full-access", "permission_mode": "acceptEdits"}
            body = {"machine_id": machine["id"], "agent_config": modes, "session_config": modes}
            made = await admin.ok("POST", "/sessions", body)
            told = (await vm.expect("start_session"))["data"]
            assert not modes.keys() & (told["agent_config"].keys() | told["session_config"].keys())
            patch = {"agent_config": modes, "temperature": 0}
            await admin.ok("PATCH", f"/sessions/{made['id']}/config", patch)
            shown = (await member.ok("GET", f"/sessions/{made['id']}"))["agent_config"]
            assert not modes.keys() & shown.keys()


MINE, OTHER = {"acp": {"command": ["sh"]}}, {"acp": {"env": {"X": "1"}}}


@pytest.mark.parametrize(
    ("who", "config", "of_agent", "agent_owner", "is_refused"),
    [
        ("ann", MINE, {}, None, False),
        ("olga", MINE, {}, None, True),
        ("olga", OTHER, {}, None, True),
        ("olga", MINE, MINE, "ann", False),  # the member's own agent says it
        ("olga", MINE, MINE, "olga", True),
        ("olga", MINE, OTHER, "ann", True),
        ("olga", {"acp": {"preset": "codex"}}, {}, None, False),
        ("olga", {}, {}, None, False),
    ],
)
def test_no_admin_has_a_command_of_their_own_run_there(
    who: str, config: Json, of_agent: Json, agent_owner: str | None, is_refused: bool
) -> None:
    """It would run unasked."""
    principal = Principal(who, "org", "org_admin")
    with pytest.raises(Forbidden) if is_refused else nullcontext():
        check_program(principal, config, of_agent, "ann", agent_owner)


async def test_what_the_member_says_later_holds_at_the_next_start(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        admin, member = await admin_and_member(control)
        async with await member.vm() as vm:
            (machine,) = (await member.ok("GET", "/machines"))["items"]
            body = {"machine_id": machine["id"], "session_config": {"confirm": "dangerous"}}
            made = await admin.ok("POST", "/sessions", body)
            await vm.expect("start_session")
            await member.ok("PATCH", f"/sessions/{made['id']}/config", {"confirm": "always"})
            record = await member.ok("GET", f"/sessions/{made['id']}")
        assert read_settings(record["agent_config"], record["session_config"])[0].confirm == (
            "always"
        )


@pytest.mark.parametrize(
    ("rule", "config", "confirm"),
    [
        ("dangerous", {}, "dangerous"),
        ("dangerous", {"confirm": None}, "dangerous"),
        ("dangerous", {"confirm": "always"}, "always"),
        ("always", {"confirm": "sometimes"}, "always"),
    ],
)
def test_the_stricter_rule_counts(rule: str, config: dict[str, Any], confirm: str) -> None:
    assert under(rule, config)["confirm"] == confirm
