"""Lists of sessions over a real core: what they show, in which order, what is found in them, and
what is left when one is removed."""

from typing import Any

import pytest

from tests.unit.control.api.conftest import Api
from tests.unit.control.api.test_sessions import new_session
from tests.unit.control.machines.stage import KeptLine
from trunkline.control.clock import now_ms
from trunkline.control.log import events
from trunkline.control.machines.traits import KINDS

Json = dict[str, Any]


async def say(api: Api, session_id: str, text: str) -> str:
    path = f"/sessions/{session_id}/messages"
    status, answer = await api.call(api.people.ann, "POST", path, {"message": text})
    assert status == 202, answer
    await api.core.projection.settled()
    return str(answer["turn_id"])


async def end(api: Api, session_id: str, turn_id: str, answer: str = "", **fields: Any) -> None:
    session = await api.core.sessions.get(api.people.ann, session_id)
    machine = await api.core.machines.of(session)
    line = events.make("execution_complete", now_ms(), turn_id=turn_id, content=answer, **fields)
    api.core.machines.write(machine, machine.logs[session_id], line)
    await api.core.log.flushed()
    await api.core.projection.settled()


async def listed(api: Api, query: str = "") -> list[Json]:
    status, page = await api.call(api.people.ann, "GET", f"/sessions?{query}")
    assert status == 200, page
    items: list[Json] = page["items"]
    return items


async def found(api: Api, q: str, **more: Any) -> Json:
    path = "/api/v1/sessions/search"
    query = {"q": q, **more}
    async with await api.send(api.people.ann, "GET", path, params=query) as answer:
        assert answer.status == 200, await answer.text()
        hits: Json = await answer.json()
        return hits


async def three(api: Api) -> list[str]:
    machine_id = await api.schedule(api.people.ann)
    body = {"machine_id": machine_id}
    return [
        await api.make(api.people.ann, "/sessions", {**body, "title": title})
        for title in ("one", "two", "three")
    ]


async def test_the_pinned_ones_come_first_and_then_the_newest_activity(api: Api) -> None:
    one, two, three_ = await three(api)
    ann = api.people.ann
    await say(api, one, "hello")
    await api.call(ann, "PATCH", f"/sessions/{two}", {"pinned": True})
    assert [item["id"] for item in await listed(api)] == [two, one, three_]
    seen: list[str] = []
    cursor = ""
    while True:
        _, page = await api.call(ann, "GET", f"/sessions?limit=1{cursor}")
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == [two, one, three_]
    _, changed = await api.call(ann, "PATCH", f"/sessions/{three_}", {"archived": True})
    assert (changed["archived"], changed["pinned"]) == (True, False)
    assert [item["id"] for item in await listed(api, "archived=false")] == [two, one]
    assert [item["id"] for item in await listed(api, "archived=true")] == [three_]
    assert [item["id"] for item in await listed(api, "q=TW")] == [two]
    assert await listed(api, f"machine_id={one}") == []


@pytest.mark.parametrize(
    "query",
    [
        "cursor=0.1",
        "cursor=2.1.x",
        "cursor=0.x.y",
        "state=odd",
        "archived=perhaps",
        "q=" + "x" * 300,
        "cursor=0.99999999999999999999999.00000000-0000-0000-0000-000000000000",
    ],
)
async def test_a_query_that_no_list_understands_is_refused(api: Api, query: str) -> None:
    status, answer = await api.call(api.people.ann, "GET", f"/sessions?{query}")
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")


async def test_a_list_says_what_a_session_is_doing(api: Api) -> None:
    session_id = await new_session(api)
    ann, records = api.people.ann, api.core.session_records

    async def state(wanted: str) -> Json:
        (item,) = await listed(api)
        assert item["state"] == wanted
        for one in ("running", "needs_you", "idle", "offline", "closed"):
            assert len(await listed(api, f"state={one}")) == (one == wanted)
        return item

    assert (await state("offline"))["last_turn"] is None
    machine = await api.core.machines.of(await records.get(ann, session_id))
    api.core.machines.attach(machine, KeptLine(KINDS["vm"]), fresh=True)
    await state("idle")
    turn_id = await say(api, session_id, "hello")
    before = await state("running")
    await api.ask(ann, session_id, "q", kind="approve", message="may I?", turn_id=turn_id)
    await api.core.projection.settled()
    await state("needs_you")
    await end(api, session_id, turn_id, "done", cancelled=True)
    item = await state("idle")
    assert item["last_turn"]["status"] == "cancelled"
    assert item["last_turn"]["ended_at"] == item["last_activity_at"]
    assert item["last_activity_at"] >= before["last_activity_at"] >= before["created_at"]
    await api.call(ann, "DELETE", f"/sessions/{session_id}")
    await state("closed")


async def test_what_was_said_is_found_in_any_language_by_whoever_may_see_it(api: Api) -> None:
    one, two, _ = await three(api)
    long = "x" * 500
    turn = await say(api, one, f"{long} Where is the Übergang to 上海浦东机场? {long}")
    await end(api, one, turn, "The bridge_of 100% is closed.")
    await say(api, two, "nothing of it")
    for q in ("übergang", "ÜBERGANG where", "浦东", "TO 机场"):
        (hit,) = (await found(api, q))["items"]
        assert (hit["session_id"], hit["where"], hit["turn_id"]) == (one, "message", turn), q
        assert (hit["event_id"], hit["title"]) == (1, "one")
        assert (hit["snippet"][0], hit["snippet"][-1]) == ("…", "…")
        assert len(hit["snippet"]) < 200
    (hit,) = (await found(api, "bridge_of 100%"))["items"]
    assert (hit["where"], hit["snippet"]) == ("answer", "The bridge_of 100% is closed.")
    _, log = await api.call(api.people.ann, "GET", f"/sessions/{one}/events")
    types = {item["id"]: item["event"]["type"] for item in log["items"]}
    assert types[hit["event_id"]] == "execution_complete"
    assert (await found(api, "bridgeXof"))["items"] == []
    titles = (await found(api, "two"))["items"]
    assert [(hit["session_id"], hit["where"]) for hit in titles] == [(two, "title")]
    assert (await found(api, "o", limit=1))["complete"] is False
    path = "/sessions/search?q=bridge"
    assert (await api.call(api.people.bob, "GET", path))[1] == {"items": [], "complete": True}
    assert len((await api.call(api.people.orla, "GET", path))[1]["items"]) == 1


@pytest.mark.parametrize("q", ["", " ", "q" * 300, "a\x00b"])
async def test_a_search_for_nothing_is_refused(api: Api, q: str) -> None:
    path = "/api/v1/sessions/search"
    async with await api.send(api.people.ann, "GET", path, params={"q": q}) as answer:
        assert answer.status == 400


async def test_one_session_does_not_fill_all_that_is_found(api: Api) -> None:
    one, two, _ = await three(api)
    await say(api, two, "the needle")
    for number in range(6):
        await say(api, one, f"needle {number}")
    found_in = [hit["session_id"] for hit in (await found(api, "needle"))["items"]]
    assert found_in == [one, one, one, two]


async def test_a_session_is_saved_as_a_conversation(api: Api) -> None:
    session_id = await new_session(api)
    machine = await api.core.machines.of(await api.core.sessions.get(api.people.ann, session_id))
    turn = await say(api, session_id, "List `files`")
    log = machine.logs[session_id]
    told: list[tuple[str, Json]] = [
        ("text_chunk", {"content": "I "}),
        ("text_chunk", {"content": "look."}),
        (
            "tool_call_complete",
            {"tool_name": "shell", "tool_input": {"command": "ls"}, "result": "a\n```\nb"},
        ),
    ]
    for kind, fields in told:
        line = events.make(kind, now_ms(), turn_id=turn, **fields)
        api.core.machines.write(machine, log, line)
    api.core.machines.write(machine, log, "no event at all")
    await end(api, session_id, turn, "Two files.")
    path = f"/api/v1/sessions/{session_id}/export"
    async with await api.send(api.people.ann, "GET", f"{path}?format=markdown") as answer:
        text = await answer.text()
    assert text == (
        "# t\n\n## You\n\nList `files`\n\n## Agent\n\nI look.\n\n"
        '**shell** ` {"command":"ls"} `\n\n````\na\n```\nb\n````\n'
    )
    assert (await api.send(api.people.ann, "GET", f"{path}?format=pdf")).status == 400
    assert (await api.send(api.people.bob, "GET", path)).status == 404

    # Retention waits until it is saved: nothing is missing in the middle.
    parts = api.core.export.lines(await api.core.sessions.get(api.people.ann, session_id), log)
    await anext(parts)
    assert await api.core.log.cut(session_id, 2) == 1
    saved = b"".join([part async for part in parts])
    assert saved.count(b'"event":') == log.last_id > 2
    assert await api.core.log.cut(session_id, 2) == 3


async def test_a_message_is_said_in_other_words_in_a_copy_that_ends_before_it(api: Api) -> None:
    session_id, ann = await new_session(api), api.people.ann
    machine = await api.core.machines.of(await api.core.sessions.get(ann, session_id))
    api.core.machines.attach(machine, KeptLine(KINDS["vm"]), fresh=True)
    first = await say(api, session_id, "one")
    await end(api, session_id, first, "1")
    second = await say(api, session_id, "two")
    path = f"/sessions/{session_id}/fork"

    async def said_in(before: str) -> list[str]:
        copy = await api.make(ann, path, {"before_turn": before})
        _, log = await api.call(ann, "GET", f"/sessions/{copy}/events")
        lines = [item["event"] for item in log["items"]]
        return [one["content"] for one in lines if one["type"] == "user_message"]

    for more, title in (({}, "t (fork)"), ({"title_suffix": "（副本）"}, "t（副本）")):
        _, copy = await api.call(ann, "POST", path, {"before_turn": second, **more})
        assert copy["title"] == title
    assert await said_in(second) == ["one"]
    assert await said_in(first) == []
    for body, wanted in (
        ({"before_turn": "nothing"}, 404),
        ({"before_turn": first, "from_turn": 1}, 400),
        ({"before_turn": ""}, 400),
    ):
        assert (await api.call(ann, "POST", path, body))[0] == wanted
