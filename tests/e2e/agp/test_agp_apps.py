"""Public apps as they are: three ways to say who they are, results that are no text, empty names,
answers that a broken line has swallowed, and refusals that they understand."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.agp import register
from tests.support.agp_app import AppLine, PublicApp
from tests.support.clock import Clock
from tests.support.control import Control, LocalControl, TestUser, running
from tests.support.eventually import eventually
from trunkline import limits

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest.fixture(scope="module")
def now() -> Clock:
    return Clock()


RESULT = {"content": [{"type": "text", "text": "notes.md"}], "details": {"count": 1}}


async def _turn(user: TestUser, line: AppLine) -> None:
    """A whole turn: a tool, some text, the end."""
    session_id = await user.session()
    await user.say(session_id, f"list the files of {session_id}")
    prompt = await line.prompt(f"list the files of {session_id}")
    assert prompt["user_id"] == user.id
    await line.returns(prompt, "c1", RESULT)
    await line.returns(prompt, "c2", {"exit": 0})
    await line.text(prompt, "There is ", "one.")
    await line.respond(prompt, "There is one.")
    async with user.reader(session_id) as reader:
        assert (await reader.until_type("execution_complete"))["content"] == "There is one."
        found = [one.json for one in reader.events]
        results = [one["result"] for one in found if one["type"] == "tool_call_complete"]
        assert results == ["notes.md", '{"exit":0}']
        assert reader.texts() == ["There is ", "one."]


@pytest.mark.parametrize("names_nobody", [False, True])
@pytest.mark.parametrize("says", [["token"], ["token", "guid"], ["token", "guid", "user_id"]])
@pytest.mark.proves("notes-4-token-alone", "notes-4-token-and-guid")
@pytest.mark.proves("notes-4-object-text", "notes-4-empty-ids")
async def test_an_app_of_each_kind_has_its_turns(
    user: TestUser, says: list[str], names_nobody: bool
) -> None:
    made = await register(user)
    named = {name: made[name] for name in says}
    app = PublicApp(user.control.url, names_nobody=names_nobody, **named)
    async with await app.line() as line:
        await _turn(user, line)
        await _turn(user, line)
    async with await app.line() as returned:
        await _turn(user, returned)


@pytest.mark.parametrize("says", [["token"], ["token", "guid"], ["token", "guid", "user_id"]])
@pytest.mark.proves("notes-4-wrong-token-is-401")
async def test_a_wrong_token_is_refused_so_that_an_app_waits_longer_each_time(
    user: TestUser, says: list[str]
) -> None:
    made = await register(user) | {"token": "dev_0123456789-wrong"}
    app = PublicApp(user.control.url, **{name: made[name] for name in says})
    waits = []
    for _ in range(7):
        assert await app.come() is None
        assert app.status == 401
        waits.append(round(app.wait_s, 1))
    assert waits == [4.5, 6.8, 10.1, 15.2, 22.8, 25.0, 25.0]
    assert app.accepted == 0


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.proves("notes-4-lost-answer")
async def test_a_turn_whose_answer_a_broken_line_has_swallowed_ends_and_the_next_is_served(
    control: LocalControl, user: TestUser, now: Clock, is_heard: bool
) -> None:
    assert 60 <= limits.AGP_RETURNED_SILENCE_S <= 120
    made = await register(user)
    app = PublicApp(control.url, token=made["token"])
    line = await app.line()
    session_id = await user.session(machine_id=made["machine_id"])
    turn_id = await user.say(session_id, "work")
    prompt = await line.prompt("work")
    if is_heard:
        await line.text(prompt, "half")
        await line.round_trip()
    await line.drop()  # and with it the answer
    async with await app.line() as back, user.reader(session_id) as reader:
        await back.round_trip()
        if not is_heard:
            await back.prompt("work")  # sent again
        await user.say(session_id, "next")
        control.sweep()
        await now.pass_time(limits.AGP_RETURNED_SILENCE_S)
        control.sweep()
        await back.round_trip()
        assert back.of("session.cancel") == []
        await now.pass_time(1.0)
        control.sweep()
        end = await reader.until_type("execution_error")
        assert (end["turn_id"], end["code"]) == (turn_id, "DEVICE_SILENT")
        assert "after its line came back" in end["error"]
        await back.cancel_of(prompt)
        following = await back.prompt("next")
        assert app.dropped == (0 if is_heard else 1)
        await back.respond(prompt, "too late")
        await back.respond(following, "done")
        assert (await reader.until_type("execution_complete"))["content"] == "done"


async def _connected_machine(user: TestUser, machine_id: str) -> Any:
    return await user.ok("GET", f"/machines/{machine_id}")


@pytest.mark.proves("notes-4-two-programs", "notes-4-owner-is-told")
@pytest.mark.proves("003-2-older-connection-is-kicked")
async def test_two_programs_with_one_guid_replace_each_other_ever_more_slowly(
    control: LocalControl, user: TestUser, now: Clock
) -> None:
    made = await register(user)
    named = {name: made[name] for name in ("guid", "user_id", "token")}
    here, there = PublicApp(control.url, **named), PublicApp(control.url, **named)
    active, session_id = await here.line(), await user.session(machine_id=made["machine_id"])
    async with user.reader(session_id) as reader:
        for app in (there, here):  # as the document says
            newer = await app.line()
            assert await active.closed() == 1008
            await active.finish()
            active = newer
        for app, wait_s in ((there, 2.0), (here, 4.0), (there, 8.0)):
            newer = await app.line()
            await newer.round_trip()  # it is accepted, and its pings are answered
            await now.pass_time(wait_s - 0.5)
            await active.round_trip()
            control.sweep()
            turn_id = await user.say(session_id, f"after {wait_s:.0f}")
            prompt = await active.prompt(f"after {wait_s:.0f}")  # the older one is still served
            assert prompt["payload"]["prompt_id"] == turn_id
            await active.respond(prompt, "here")
            await active.round_trip()
            assert newer.of("session.prompt") == []
            await now.pass_time(0.5)
            control.sweep()
            assert await active.closed() == 1008
            await active.finish()
            active = newer
        told = await reader.until_type("session_status")
        await reader.until(lambda one: any("two programs" in event.data for event in one.events))
        assert told["machine_id"] == made["machine_id"]
        machine = await eventually(
            lambda: _connected_machine(user, made["machine_id"]), lambda one: one["detail"]
        )
        assert "two programs" in machine["detail"]
        assert machine["online"] is True
        # One of them is stopped: nobody has to look at it any more.
        await now.pass_time(61.0)
        await active.round_trip()
        control.sweep()
        await eventually(
            lambda: _connected_machine(user, made["machine_id"]), lambda one: one["detail"] is None
        )
    await active.leave()


async def _contested(control: LocalControl, made: dict[str, Any]) -> tuple[AppLine, AppLine]:
    """The line that is served, and one that waits for its place."""
    app = PublicApp(control.url, token=made["token"])
    lines = [await app.line() for _ in range(4)]
    for replaced in lines[:2]:
        assert await replaced.closed() == 1008
        await replaced.finish()
    await lines[3].round_trip()
    return lines[2], lines[3]


async def test_who_waits_takes_over_at_once_when_the_older_line_ends(
    control: LocalControl, user: TestUser
) -> None:
    made = await register(user)
    older, newer = await _contested(control, made)
    await older.leave()
    async with newer:
        await _turn(user, newer)


async def test_a_still_newer_line_takes_the_place_of_the_one_that_waits(
    control: LocalControl, user: TestUser, now: Clock
) -> None:
    made = await register(user)
    older, waiting = await _contested(control, made)
    newest = await PublicApp(control.url, token=made["token"]).line()
    assert await waiting.closed() == 1008
    await waiting.finish()
    await now.pass_time(2.0)
    control.sweep()
    assert await older.closed() == 1008
    await older.finish()
    async with newest:
        await _turn(user, newest)


@pytest.mark.parametrize("end", ["renewed", "removed"])
async def test_who_waits_does_not_outlive_its_token(
    control: LocalControl, user: TestUser, end: str
) -> None:
    made = await register(user)
    older, waiting = await _contested(control, made)
    if end == "renewed":
        await register(user, guid=made["guid"])
    else:
        await user.ok("DELETE", f"/machines/{made['machine_id']}")
    for line, code in ((older, 1008 if end == "renewed" else 4003), (waiting, 1008)):
        assert await line.closed() == code
        await line.finish()
    again = PublicApp(control.url, token=made["token"])
    assert await again.come() is None
    assert again.status == 401


@pytest.mark.proves("notes-4-any-token-where-open", "notes-4-token-and-guid")
async def test_where_it_is_open_any_token_will_do_and_the_name_has_to_be_whole(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", open_agp=True) as control:
        user, stranger = await control.user(), await control.user("eve")
        made = await register(user, guid="device_002")
        for guid, token in (
            ("device_001", "any"),
            ("device_001", "another-" + "x" * 2000),
            ("device_002", made["token"]),
            ("device_002", "dev_wrong"),
        ):
            app = PublicApp(control.url, guid=guid, user_id=user.id, token=token)
            async with await app.line() as line:
                await _turn(user, line)
        for named, status in (
            ({"guid": "device_002", "token": made["token"]}, 400),
            ({"guid": "device_002", "token": "any"}, 400),
            ({"guid": "device_002", "user_id": stranger.id, "token": made["token"]}, 401),
            ({"guid": "device_003", "user_id": "nobody", "token": "any"}, 401),
            ({"token": "dev_wrong"}, 401),
        ):
            refused = PublicApp(control.url, **named)
            assert await refused.come() is None
            assert refused.status == status


async def test_what_no_document_knows_is_tolerated_and_counted(
    control: Control, user: TestUser
) -> None:
    made = await register(user)
    app = PublicApp(control.url, token=made["token"], guid=made["guid"])
    app.named |= {"path": "/ws/agp"}
    line = AppLine(app)
    line.url += "&app_version=7"
    async with line:
        for _ in range(2):
            await line.send("session.hello", {"any": "thing"})
        plan = {"session_id": "s", "prompt_id": "p", "update_type": "plan"}
        await line.send("session.update", plan)
        end = {"session_id": "s", "prompt_id": "p", "stop_reason": "end_turn", "mood": "good"}
        await line.send("session.promptResponse", end)
        await _turn(user, line)
    async with aiohttp.ClientSession() as http, http.get(f"{control.url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    counts = [one for one in lines if one.startswith("wire_unknown_total{") and 'wire="agp"' in one]
    assert any("message session.hello" in one and one.endswith(" 2.0") for one in counts)
    assert any("update_type plan" in one for one in counts)
    assert any("query field app_version" in one for one in counts)
    assert [one.count("mood") for one in counts if '"field ' in one] == [1]
