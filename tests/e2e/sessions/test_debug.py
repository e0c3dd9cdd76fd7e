"""The debug view's data: each event as it came from the machine, as the log has it, and as every
client protocol gets it."""

import json
from typing import Any

import pytest

from tests.support.agp import new_device
from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import new_agent
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def seen(user: TestUser, session: str, query: str = "") -> Any:
    return await user.ok("GET", f"/sessions/{session}/debug{query}")


async def until_event(user: TestUser, session: str, event_id: int) -> Any:
    page = await eventually(
        lambda: seen(user, session), lambda page: page["last_event_id"] >= event_id
    )
    return next(one for one in page["items"] if one["id"] == event_id)


def sources(page: Any) -> set[str]:
    return {one["raw"]["source"] for one in page["items"] if one["raw"] is not None}


async def test_an_event_is_shown_in_every_form_that_somebody_gets(
    user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    await vm.text(session, "before")
    first = await until_event(user, session, 1)
    assert first["raw"] is None  # nobody was looking yet
    sent = {
        "type": "sse_event",
        "session_id": session,
        "data": '{"type":"text_chunk","content":"é"}',
    }
    async with user.reader(session, last_event_id=1) as reader:
        await vm.send(sent)
        await reader.until_count(1)
    found = await until_event(user, session, 2)
    assert (found["type"], found["log"]["text"]) == ("text_chunk", sent["data"])
    assert found["log"]["size"] == len(sent["data"].encode())
    assert json.loads(found["raw"]["text"]) == sent
    assert (found["raw"]["source"], found["raw"]["first_id"], found["raw"]["last_id"]) == (
        "line",
        2,
        2,
    )
    assert found["sse"]["text"] == f"id: 2\ndata: {sent['data']}\n\n"
    [piece] = [json.loads(one["text"]) for one in found["myagent"]]
    assert (piece["event"], piece["content"]) == ("agent.partial_answer", "é")
    for dialect in ("yeaft", "yeaft_deployed"):
        [output] = [json.loads(one["text"]) for one in found[dialect]]
        assert (output["type"], output["conversationId"]) == ("claude_output", session)


async def test_what_is_shown_for_yeaft_is_what_its_client_is_sent(
    user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    async with web_of(user) as page:
        await page.send("select_conversation", conversationId=session)
        await page.ask("sync_messages", "sync_messages_result", conversationId=session)
        turn = await user.say(session, "hello")
        await vm.event(
            session, type="tool_call_start", tool_name="bash", tool_input={"command": "ls"}
        )
        await vm.text(session, "one file")
        await vm.event(session, type="execution_complete", content="one file", turn_id=turn)
        await page.expect("turn_completed")
        got = [one for one in page.received if one["type"] == "claude_output"]
    items = (await seen(user, session))["items"]
    shown = [json.loads(words["text"]) for one in items for words in one["yeaft"]]
    assert [one for one in shown if one["type"] == "claude_output"] == got


async def test_one_frame_of_many_events_is_shown_with_each_of_them(user: TestUser) -> None:
    async with await user.vm("batch") as vm:
        session = await user.session()
        await seen(user, session)
        pieces = [
            {"session_id": session, "data": json.dumps({"type": "text_chunk", "content": one})}
            for one in "abc"
        ]
        await vm.send({"type": "batch", "events": pieces})
        await until_event(user, session, 3)
        items = (await seen(user, session))["items"]
        assert {(one["raw"]["first_id"], one["raw"]["last_id"]) for one in items} == {(1, 3)}
        assert [one["id"] for one in items] == [1, 2, 3]


async def test_devices_and_yeaft_agents_are_shown_in_their_own_words(user: TestUser) -> None:
    async with await new_device(user) as device:
        session = await user.session()
        await seen(user, session)
        await user.say(session, "go")
        prompt = await device.prompt("go")
        await device.text(prompt, "hi")
        raw = json.loads((await until_event(user, session, 2))["raw"]["text"])
        assert raw["method"] == "session.update"
    async with await new_agent(user) as agent:
        session = await user.session(machine_id=agent.id)
        await agent.expect("create_conversation")
        await user.say(session, "hello")
        await agent.prompt("hello")
        async with user.reader(session) as reader:
            thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
            await agent.blocks(session, thought, {"type": "text", "text": "I look. "})
            await reader.until_type("thinking")
            assert "log" in sources(await seen(user, session))  # it came before anybody looked
            await agent.text(session, "hi")
            await reader.until_text("hi")
        page = await seen(user, session)
        last = page["items"][-1]["raw"]
        assert (last["source"], json.loads(last["text"])["type"]) == ("line", "claude_output")


async def test_pages_and_their_bounds(user: TestUser, eve: TestUser, vm: ScriptedVm) -> None:
    session = await user.session()
    await vm.text(session, *(str(number) for number in range(9)), "x" * 200_000)
    large = (await until_event(user, session, 10))["log"]
    assert (large["is_cut"], large["size"] > 200_000, len(large["text"])) == (True, True, 65536)
    for query, ids in (
        ("?limit=2", [9, 10]),
        ("?after=0&limit=3", [1, 2, 3]),
        ("?after=99", []),
        ("?before=4&limit=2", [2, 3]),
        ("?before=0", []),
    ):
        assert [one["id"] for one in (await seen(user, session, query))["items"]] == ids, query
    for query in ("?limit=0", "?limit=201", "?after=-1", "?after=x", "?after=1&before=2", "?x=1"):
        assert (await user.call("GET", f"/sessions/{session}/debug{query}"))[0] == 400, query
    assert (await eve.call("GET", f"/sessions/{session}/debug"))[0] == 404
    await vm.event(session, type="deep", x=json.loads("[" * 500 + "]" * 500))
    await vm.send({"type": "sse_event", "session_id": session, "data": "no JSON"})
    assert (await until_event(user, session, 12))["log"]["text"] == "no JSON"


async def test_a_page_of_large_events_is_short_and_the_rest_can_be_read(
    user: TestUser, vm: ScriptedVm
) -> None:
    session = await user.session()
    await vm.text(session, *["y" * 70_000] * 20)
    await until_event(user, session, 20)
    last = (await seen(user, session))["items"]
    assert 1 <= len(last) < 20
    assert last[-1]["id"] == 20
    first = (await seen(user, session, "?after=0"))["items"]
    assert first[0]["id"] == 1
    earlier = (await seen(user, session, f"?before={last[0]['id']}"))["items"]
    assert earlier[-1]["id"] == last[0]["id"] - 1


async def test_the_log_is_read_backwards_page_by_page(user: TestUser, vm: ScriptedVm) -> None:
    session = await user.session()
    await vm.text(session, *(str(number) for number in range(7)))
    await until_event(user, session, 7)
    path, before, ids = f"/sessions/{session}/events", 100, []
    while before:
        page = await user.ok("GET", f"{path}?before={before}&limit=3")
        ids.append([one["id"] for one in page["items"]])
        assert page["next_after"] is None
        before = page["next_before"]
    assert ids == [[5, 6, 7], [2, 3, 4], [1]]
    assert (await user.ok("GET", f"{path}?before=1"))["items"] == []
    for query in ("?before=0", "?before=x", "?before=1&after=1", f"?before={2**63}"):
        assert (await user.call("GET", path + query))[0] == 400, query
