"""The MyAgent page as it is deployed, against the real server: what it stumbled over works."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from tests.support.myagent import Json, MyAgentClient, client_of
from tests.support.myagent_page import Page
from tests.support.vm import ScriptedVm
from trunkline.control.tuning import DEFAULT

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def page(user: TestUser, vm: ScriptedVm) -> AsyncIterator[Page]:
    async with Page(user) as live:
        yield live


async def begin(client: MyAgentClient, vm: ScriptedVm) -> str:
    session = await client.create_session()
    await client.say(session, "go")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    return session


async def has(page: Page, answer: str) -> None:
    """Waits until these pieces have come, and no others."""
    last = answer.split()[-1]
    await page.first(
        lambda one: one["event"] == "agent.partial_answer" and last in one["content"].split(),
        f"piece {last}",
    )
    assert page.answer == answer


@pytest.mark.proves("notes-2-busy")
async def test_a_turn_can_be_stopped_before_the_machine_has_said_a_word(
    page: Page, vm: ScriptedVm
) -> None:
    session = await begin(page, vm)
    await page.expect("agent.thinking")
    assert page.is_busy
    await page.cancel(session)
    await vm.expect("cancel", lambda one: one["session_id"] == session)
    await vm.event(session, type="execution_complete", cancelled=True, content="")
    await page.expect("agent.interrupted")
    assert not page.is_busy


@pytest.mark.proves("notes-2-busy")
async def test_a_page_that_opens_in_mid_turn_can_stop_it(
    page: Page, user: TestUser, vm: ScriptedVm
) -> None:
    session = await begin(page, vm)
    await vm.text(session, "one ")
    await has(page, "one ")
    async with Page(user) as other:
        await other.reconnect(session, last_event_id=page.last_event_id)
        first = await other.first(lambda one: one.get("session_id") == session, "session")
        assert first["event"] == "agent.thinking"
        assert other.is_busy
    await vm.event(session, type="execution_complete", content="one")
    await page.expect("agent.final_answer")
    async with Page(user) as late:
        await late.reconnect(session, last_event_id=page.last_event_id)
        await late.answered()
        assert late.of_session(session) == [], "no turn runs any more"


@pytest.mark.proves("notes-2-confirm-dialog")
async def test_a_dialog_says_what_it_confirms(page: Page, vm: ScriptedVm) -> None:
    session = await begin(page, vm)
    await vm.event(
        session,
        type="approval_request",
        request_id="r-1",
        message="Really?",
        tool_name="bash",
        tool_input={"command": "rm -rf build"},
    )
    confirm = await page.expect("agent.user_confirm")
    read = page.dialog(confirm)
    assert all(part in read for part in ("tool", "Really?", "bash", "rm -rf build"))
    await page.respond(confirm, {"confirmed": True})
    answer = await vm.expect("approval_response", lambda one: one["session_id"] == session)
    assert answer["data"]["confirmed"] is True
    await page.expect("agent.thinking", lambda one: "confirmation" in one["metadata"])
    assert page.is_busy


@pytest.mark.proves("notes-2-own-reconnect")
async def test_a_page_that_was_cut_off_in_mid_turn_gets_the_rest_without_asking(
    page: Page, vm: ScriptedVm
) -> None:
    session = await begin(page, vm)
    await vm.text(session, "one ")
    await has(page, "one ")
    await page.has_acknowledged()
    last = page.last_event_id
    again = await page.come_back()
    try:
        await vm.text(session, "two ")
        await has(again, "one two ")
        await again.reconnect(session, last_event_id=last)
        await again.reconnect(session)
        await again.answered()
        assert again.answer == "one two ", "what has come is not repeated"
        await vm.text(session, "three ")
        await has(again, "one two three ")
        await vm.event(session, type="execution_complete", content="one two three")
        await again.expect("agent.final_answer")
        assert not again.is_busy
    finally:
        await again.leave()


@pytest.mark.proves("notes-2-own-reconnect")
async def test_what_a_page_has_not_acknowledged_comes_again(page: Page, vm: ScriptedVm) -> None:
    """It was sent, and may have been lost with the line, though the page was just heard."""
    session = await begin(page, vm)
    await vm.text(session, "one ")
    await has(page, "one ")
    await page.has_acknowledged()
    page.fall_silent()
    await vm.text(session, "two ")
    await has(page, "one two ")
    await page.cancel("of nobody")  # a sign of life
    again = await page.come_back()
    try:
        await again.expect("agent.partial_answer")
        assert again.text(session) == "two "
    finally:
        await again.leave()


@pytest.mark.proves("notes-2-own-reconnect")
async def test_what_was_said_and_ended_meanwhile_is_the_rest_too(
    page: Page, user: TestUser, vm: ScriptedVm
) -> None:
    session = await begin(page, vm)
    await vm.text(session, "one ")
    await has(page, "one ")
    await page.has_acknowledged()
    await page.drop()
    await vm.text(session, "two ")
    await vm.event(session, type="execution_complete", content="one two")
    await user.until_turns(session, "completed")
    again = await page.come_back()
    try:
        final = await again.expect("agent.final_answer")
        assert (final["content"], again.answer, again.is_busy) == ("one two", "one two ", False)
    finally:
        await again.leave()


@pytest.mark.proves("notes-2-own-reconnect")
async def test_a_page_that_is_back_before_its_break_was_noticed_gets_the_rest_too(
    page: Page, user: TestUser, vm: ScriptedVm
) -> None:
    session = await begin(page, vm)
    await vm.text(session, "one ")
    await has(page, "one ")
    await page.has_acknowledged()
    async with Page(user, page.shown) as again:
        await again.expect("system.connected")
        await page.drop()
        await vm.text(session, "two ")
        await has(again, "one two ")


@pytest.mark.proves("notes-2-own-reconnect")
async def test_a_session_that_somebody_else_follows_or_that_rests_is_not_gone_on_with(
    page: Page, user: TestUser, vm: ScriptedVm
) -> None:
    session, resting = await begin(page, vm), await begin(page, vm)
    await vm.event(resting, type="execution_complete", content="done")
    await page.expect("agent.final_answer")
    async with client_of(user) as desk:
        await desk.reconnect(session)
        await desk.answered()
        again = await page.come_back()
        seen = len(again.shown)
        await again.answered()
        assert {one["event"] for one in again.shown[seen:]} <= {"system.connected", "system.error"}
        async with user.reader(resting) as reader:  # what is new there is for who follows it
            await user.say(resting, "more")
            await vm.expect("user_message", lambda one: one["data"]["message"] == "more")
            await vm.text(resting, "new")
            await reader.until_text("new")
        await again.answered()
        assert {one["event"] for one in again.shown[seen:]} <= {"system.connected", "system.error"}
        await again.leave()


@pytest.mark.proves("notes-2-own-reconnect")
async def test_a_turn_that_has_said_nothing_for_long_is_gone_on_with_after_a_restart_too(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock) as first:
        user = await first.user()
        vm, page = await user.vm(), await Page(user).connect()
        session = await begin(page, vm)
        await vm.text(session, "one ")
        await has(page, "one ")
        await vm.leave()  # else the page is told of that when the server ends
        await page.expect("agent.thinking", lambda one: one["metadata"].get("machine") == "offline")
        await page.has_acknowledged()  # which is written down at once
        page.fall_silent()
        clock.advance(2 * DEFAULT.myagent_departed_s)
    await page.closed()
    await page.leave()
    async with running(tmp_path / "data", clock) as second:
        user = TestUser(second, user.id, user.token)
        async with user.again(vm) as back, Page(user, page.shown) as again:
            await back.text(session, "two ")
            await has(again, "one two ")


async def test_a_client_that_says_itself_where_it_goes_on_is_told_nothing_before(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as first:
        session = await begin(first, vm)
        await vm.text(session, "one ")
        seen = await first.expect("agent.partial_answer")
        await vm.text(session, "two ")
        await first.expect("agent.partial_answer", lambda one: "two" in one["content"])
        await first.drop()
    async with client_of(user) as second:
        await second.reconnect(session, last_event_id=seen["event_id"])
        await second.expect("agent.partial_answer")
        assert second.text(session) == "two "


@pytest.mark.proves("notes-2-plan-commands")
@pytest.mark.parametrize(
    ("event", "content", "code"),
    [
        ("user.solve_tasks", {"tasks": [{"id": 1, "title": "a"}]}, "NOT_SUPPORTED"),
        ("user.cancel_task", {"task_id": 1}, "NOT_SUPPORTED"),
        ("user.restart_task", {"task_id": 1}, "NOT_SUPPORTED"),
        ("user.replan", None, "NOT_SUPPORTED"),
        ("user.something_new", {"x": 1}, "UNKNOWN_EVENT"),
    ],
)
async def test_a_command_that_means_nothing_here_is_answered_and_ends_no_turn(
    page: Page, vm: ScriptedVm, event: str, content: Json | None, code: str
) -> None:
    session = await begin(page, vm)
    await page.expect("agent.thinking")
    fields = {} if content is None else {"content": content}
    await page.send(event, session_id=session, **fields)
    notice = await page.expect("system.notice")
    assert "session_id" not in notice
    assert notice["metadata"]["answers"] == event
    assert notice["metadata"]["error_code"] == code
    assert isinstance(notice["content"], str)
    assert page.is_busy


@pytest.mark.proves("notes-2-plan-commands")
async def test_a_plan_is_cancelled_and_made_anew(page: Page, vm: ScriptedVm) -> None:
    session = await begin(page, vm)
    await vm.event(session, type="plan", plan=[{"title": "a"}])
    await page.expect("plan.completed")
    await page.send("user.cancel_plan", session_id=session)
    await vm.expect("cancel", lambda one: one["session_id"] == session)
    await vm.event(session, type="execution_complete", cancelled=True, content="")
    await page.expect("plan.cancelled")
    await page.expect("agent.interrupted")
    await page.send("user.replan", session_id=session, content={"question": "and now?"})
    said = await vm.expect("user_message", lambda one: one["data"]["message"] == "and now?")
    assert said["session_id"] == session


@pytest.mark.proves("notes-2-silently-accepted")
async def test_an_acknowledgement_of_nothing_is_taken_without_a_word(
    page: Page, vm: ScriptedVm
) -> None:
    await begin(page, vm)
    await page.expect("agent.thinking")
    seen = len(page.received)
    nothing: list[Json] = [{}, {"content": {}}, {"metadata": {"received_count": 3}}]
    for fields in nothing:
        await page.send("user.ack", **fields)
    await page.answered()
    assert [one["event"] for one in page.received[seen:]] == ["system.error"], "of `answered`"


@pytest.mark.proves("notes-2-joined")
async def test_twenty_thousand_pieces_do_not_flood_a_page_and_none_is_lost(
    page: Page, user: TestUser, vm: ScriptedVm
) -> None:
    assert DEFAULT.myagent_pieces_s == 0.075
    session = await begin(page, vm)
    began = time.monotonic()
    words = [f"{number} " for number in range(20_000)]
    await vm.text(session, *words)
    await vm.event(session, type="tool_call_start", tool_name="bash", tool_call_id="c1")
    await page.expect("agent.tool_call")
    took_s = time.monotonic() - began
    assert page.answer == "".join(words), "all of them, before the call"
    frames = page.of_event("agent.partial_answer")
    text_bound = len(page.answer) // (64 * 1024)
    assert len(frames) <= took_s / 0.075 + 2 + text_bound
    await page.drop()
    async with client_of(user) as again:
        await again.reconnect(session, last_event_id=frames[0]["event_id"])
        await again.expect("agent.tool_call")
        assert frames[0]["content"] + again.text(session) == page.answer


async def test_words_and_fields_that_are_not_known_are_counted_and_harm_nobody(
    page: Page, vm: ScriptedVm, control: LocalControl
) -> None:
    await page.send("user.never_heard_of")
    await page.expect("system.notice")
    await page.send("user.ack", never_seen={"a": 1})
    await page.answered()
    counts = control.core.surprises.counts
    assert counts[("myagent", "message user.never_heard_of")] == 1
    assert counts[("myagent", "field never_seen")] == 1
    assert not [kind for _, kind in counts if "timestamp" in kind], "which every page sends"
