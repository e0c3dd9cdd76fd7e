"""Reports of a session that ended while its machine was away: what was used was used."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.orgs import admin_of_new_org
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

USAGE = {"model": "m-1", "tokens_in": 10, "tokens_out": 5}
SKILL = {"name": "Tidy", "description": "Tidies", "skill_md": "# Tidy", "quality_score": 0.9}
REPORTS: list[tuple[str, dict[str, Any], str]] = [
    ("usage_report", USAGE, "/usage?group_by=model"),
    ("audit_log", {"event": "tool.ran", "details": {}}, "/audit"),
    ("evolution_submit", SKILL, "/evolutions?state=pending"),
    ("memory_write", {"content": "Ada likes tea"}, "/memories"),
]
MARKS = {"usage_report": "m-1", "audit_log": "tool.ran", "evolution_submit": "Tidy"}
MARKS["memory_write"] = "Ada likes tea"


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    """Of one for which a machine that is away is gone."""
    return {"rate_limit_per_minute": 0, "machine_away_s": 0}


class Late(NamedTuple):
    """A session that was closed while its machine was away, and that machine, returned."""

    session: str
    vm: ScriptedVm


@pytest_asyncio.fixture(loop_scope="module")
async def late(user: TestUser) -> AsyncIterator[Late]:
    vm = await user.vm()
    session = await user.session()
    await vm.expect("start_session")
    await vm.heartbeat(session)
    await vm.drop()

    async def is_online() -> bool:
        return bool((await user.ok("GET", "/machines"))["items"][0]["online"])

    await eventually(is_online, lambda online: not online)
    await user.ok("DELETE", f"/sessions/{session}")
    async with user.again(vm) as back:
        yield Late(session, back)


async def send(vm: ScriptedVm, session: str, method: str, params: dict[str, Any]) -> None:
    message = {"type": "fire_and_forget", "session_id": session}
    await vm.send({**message, "method": method, "params": params})


@pytest.mark.parametrize(("method", "params", "page"), REPORTS, ids=[one[0] for one in REPORTS])
@pytest.mark.parametrize("asks", [True, False], ids=["asked for an answer", "not asked"])
async def test_a_report_of_a_closed_session_still_counts(
    user: TestUser,
    late: Late,
    method: str,
    params: dict[str, Any],
    page: str,
    asks: bool,
) -> None:
    if asks:
        answer = await late.vm.request(late.session, method, **params)
        assert (answer["result"], answer["error"]) == ({"accepted": True}, None)
    else:
        await send(late.vm, late.session, method, params)

    async def found() -> str:
        return str(await user.ok("GET", page))

    assert MARKS[method] in await eventually(found, lambda text: MARKS[method] in text)
    assert late.vm.of_type("error") == []


async def test_reports_keep_their_order_and_count_once_in_a_closed_session_too(
    user: TestUser, late: Late
) -> None:
    names = [f"tool.{number}" for number in range(10)]
    for name in names + names:
        await send(late.vm, late.session, "audit_log", {"event": name, "report_id": name})

    async def recorded() -> list[str]:
        items = (await user.ok("GET", "/audit?limit=100"))["items"]
        found = {one["seq"]: one["event"] for one in items}
        return [found[seq] for seq in sorted(found) if found[seq].startswith("tool.")]

    await eventually(recorded, lambda seen: len(seen) >= 10)
    answer = await late.vm.request(late.session, "audit_log", event="tool.last")
    assert answer["error"] is None
    assert await recorded() == [*names, "tool.last"]


async def test_a_closed_session_asks_for_nothing_and_saves_nothing_any_more(late: Late) -> None:
    for method in ("get_config", "memory_search", "get_session", "mcp_tools"):
        answer = await late.vm.request(late.session, method, query="tea", server="x")
        assert answer["error"]["code"] == "SESSION_NOT_FOUND"
    await send(late.vm, late.session, "snapshot_sync", {"checkpoint": {}})
    complaint = await late.vm.expect("error")
    assert (complaint["error"]["code"], complaint["session_id"]) == (
        "SESSION_NOT_FOUND",
        late.session,
    )


async def test_a_session_that_never_ran_on_a_machine_stays_unknown_to_it(
    user: TestUser, late: Late
) -> None:
    foreign = await admin_of_new_org(user.control)
    theirs = await foreign.vm()
    theirs_open = await foreign.session()
    theirs_closed = await foreign.session()
    await foreign.ok("DELETE", f"/sessions/{theirs_closed}")
    other = await user.vm()
    elsewhere = await user.session(machine_id=await machine_id_of(user, other))
    ended = await user.session(machine_id=await machine_id_of(user, other))
    await user.ok("DELETE", f"/sessions/{ended}")
    unknown = ["", "x", "\x00", "é" * 5_000, "01a1dd21-c738-7000-8000-000000000000"]
    for session in (theirs_open, theirs_closed, elsewhere, ended, *unknown):
        answer = await late.vm.request(session, "usage_report", **USAGE)
        assert answer["error"]["code"] == "SESSION_NOT_FOUND", session
        await send(late.vm, session, "usage_report", USAGE)
        await late.vm.expect("error", partial(_is_about, session[:200]))
    assert {one["error"]["code"] for one in late.vm.of_type("error")} == {"SESSION_NOT_FOUND"}
    for one in (user, foreign):
        assert (await one.ok("GET", "/usage?group_by=model"))["items"] == []
    await theirs.leave()
    await other.leave()


def _is_about(session: str, complaint: dict[str, Any]) -> bool:
    return bool(complaint["session_id"] == session)


async def machine_id_of(user: TestUser, vm: ScriptedVm) -> str:
    """The newest machine of the user is the one that came last."""
    machines = (await user.ok("GET", "/machines"))["items"]
    assert vm.close_code is None
    return str(max(machine["id"] for machine in machines))


async def test_a_machine_without_seq_that_is_online_may_report_after_the_close(
    user: TestUser,
) -> None:
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        await vm.heartbeat(session)
        await user.ok("DELETE", f"/sessions/{session}")
        await vm.expect("stop_session")
        await vm.heartbeat()  # it has stopped: nothing more of it is expected
        answer = await vm.request(session, "usage_report", **USAGE)
        assert answer["error"] is None
        async with user.reader(session) as reader:
            await vm.text(session, "too late")
            await vm.expect("error", lambda one: one["session_id"] == session)
            assert "too late" not in "".join(reader.texts())
