"""The routes of sessions, over a real core whose machine is scheduled and not yet there."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import update

from tests.unit.control.api.conftest import Api
from trunkline.control.api.routes.sessions import read_events
from trunkline.control.sessions.records import LoggedEvent
from trunkline.control.store import schema
from trunkline.control.tuning import Tuning


async def new_session(api: Api) -> str:
    machine_id = await api.schedule(api.people.ann)
    return await api.make(api.people.ann, "/sessions", {"machine_id": machine_id, "title": "t"})


async def test_a_session_lives_from_its_making_to_its_closing(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    path = f"/sessions/{session_id}"
    _, session = await api.call(ann, "GET", path)
    assert (session["title"], session["status"]) == ("t", "active")
    assert session["runtime_type"] == "semigraph"
    assert (await api.call(ann, "PATCH", path, {"title": "新"}))[1]["title"] == "新"
    assert (await api.call(ann, "PATCH", path, {"title": None}))[1]["title"] is None
    assert (await api.call(ann, "DELETE", path))[0] == 204
    assert (await api.call(ann, "GET", path))[1]["status"] == "closed"
    for state, count in (("active", 0), ("closed", 1)):
        _, page = await api.call(ann, "GET", f"/sessions?status={state}")
        assert len(page["items"]) == count
    status, answer = await api.call(ann, "POST", f"{path}/messages", {"message": "hi"})
    assert (status, answer["error"]["code"]) == (409, "SESSION_CLOSED")


async def test_without_a_machine_there_is_no_session(api: Api) -> None:
    status, answer = await api.call(api.people.ann, "POST", "/sessions")
    assert (status, answer["error"]["code"]) == (503, "NO_MACHINE")


async def test_the_same_client_message_twice_has_one_effect(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    body = {"message": "hello", "client_message_id": "m-1"}
    path = f"/sessions/{session_id}/messages"
    answers = await asyncio.gather(*(api.call(ann, "POST", path, body) for _ in range(10)))
    assert [status for status, _ in answers] == [202] * 10
    assert len({answer["turn_id"] for _, answer in answers}) == 1
    _, page = await api.call(ann, "GET", f"/sessions/{session_id}/events")
    said = [item["event"] for item in page["items"] if item["event"]["type"] == "user_message"]
    assert [event["content"] for event in said] == ["hello"]


async def test_a_message_that_was_accepted_has_its_answer_after_the_session_was_closed_too(
    api: Api,
) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    path = f"/sessions/{session_id}/messages"
    body = {"message": "hello", "client_message_id": "m-1"}
    accepted = await api.call(ann, "POST", path, body)
    await api.call(ann, "DELETE", f"/sessions/{session_id}")
    assert await api.call(ann, "POST", path, body) == accepted
    assert (await api.call(ann, "POST", path, {**body, "client_message_id": "m-2"}))[0] == 409
    assert (await api.call(api.people.bob, "POST", path, body))[0] == 404


async def test_the_log_is_read_page_by_page(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    for number in range(5):
        await api.call(ann, "POST", f"/sessions/{session_id}/messages", {"message": str(number)})
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        _, page = await api.call(ann, "GET", f"/sessions/{session_id}/events?after={after}&limit=2")
        assert len(page["items"]) <= 2
        seen += [item["id"] for item in page["items"]]
        after = page["next_after"]
    assert seen == sorted(set(seen))
    assert len(seen) >= 5


@pytest.mark.parametrize("tuning", [Tuning(events_page_bytes_max=1_000, ring_bytes_max=1_000)])
async def test_a_page_that_large_events_make_short_is_not_taken_for_the_last_one(
    api: Api,
) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    for _ in range(5):
        body = {"message": "x" * 700}
        await api.call(ann, "POST", f"/sessions/{session_id}/messages", body)
    _, snapshot = await api.call(ann, "GET", f"/sessions/{session_id}/snapshot")
    last_id = snapshot["last_event_id"]
    assert snapshot["events"][-1]["id"] == last_id
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        _, page = await api.call(ann, "GET", f"/sessions/{session_id}/events?after={after}")
        assert page["items"]
        seen += [item["id"] for item in page["items"]]
        after = page["next_after"]
    assert seen == list(range(1, last_id + 1))


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "limit=0", "limit=1001", "after=1" + "0" * 30]
)
async def test_a_position_in_the_log_is_a_number_within_bounds(api: Api, query: str) -> None:
    session_id = await new_session(api)
    status, answer = await api.call(api.people.ann, "GET", f"/sessions/{session_id}/events?{query}")
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")


async def test_a_snapshot_holds_the_state_and_its_position(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    await api.call(ann, "POST", f"/sessions/{session_id}/messages", {"message": "hello"})
    status, snapshot = await api.call(ann, "GET", f"/sessions/{session_id}/snapshot")
    assert status == 200
    assert snapshot["session"]["id"] == session_id
    assert snapshot["last_event_id"] == snapshot["events"][-1]["id"]
    said, held = (entry["event"] for entry in snapshot["events"][-2:])
    assert said["content"] == "hello"
    assert held["type"] == "session_status"
    assert (held["machine"], held["held"]) == ("offline", True)


async def test_cancel_and_configure_are_accepted(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    path = f"/sessions/{session_id}"
    assert await api.call(ann, "POST", f"{path}/cancel") == (202, None)
    assert await api.call(ann, "POST", f"{path}/cancel", {"reason": "user_cancelled"}) == (
        202,
        None,
    )
    assert await api.call(ann, "PATCH", f"{path}/config", {"temperature": 0.5}) == (202, None)
    _, session = await api.call(ann, "GET", path)
    assert session["agent_config"]["temperature"] == 0.5
    bodies: list[Any] = [{}, [], "x"]
    for body in bodies:
        assert (await api.call(ann, "PATCH", f"{path}/config", body))[0] == 400


@pytest.mark.parametrize(
    "config",
    [
        {"confirm": "sometimes"},
        {"confirm": True},
        {"temperature": "hot"},
        {"temperature": 3},
        {"max_tokens": 0},
        {"tools": "bash"},
        {"model": ""},
        {"system_prompt": 7},
    ],
    ids=str,
)
async def test_a_choice_that_makes_no_sense_is_refused_and_no_default_takes_its_place(
    api: Api, config: dict[str, Any]
) -> None:
    ann = api.people.ann
    machine_id = await api.schedule(ann)
    for place in ("agent_config", "session_config"):
        status, answer = await api.call(
            ann, "POST", "/sessions", {"machine_id": machine_id, place: config}
        )
        assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")
        assert place in answer["error"]["message"]
        assert next(iter(config)) in answer["error"]["message"]
    session_id = await api.make(ann, "/sessions", {"machine_id": machine_id})
    status, answer = await api.call(ann, "PATCH", f"/sessions/{session_id}/config", config)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")


async def test_a_choice_of_null_is_the_agents_own(api: Api) -> None:
    ann = api.people.ann
    machine_id = await api.schedule(ann)
    agent_id = await api.make(ann, "/agents", {"name": "careful", "confirm": "always"})
    chosen = {"agent_config": {"confirm": None, "of_a_runtime": {"x": 1}}}
    new = {"machine_id": machine_id, "agent_id": agent_id, **chosen}
    _, session = await api.call(ann, "POST", "/sessions", new)
    assert session["agent_config"]["confirm"] == "always"
    assert session["agent_config"]["of_a_runtime"] == {"x": 1}


async def test_of_many_answers_to_a_question_one_wins(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    await api.ask(ann, session_id, "q1", tool_name="shell")
    _, page = await api.call(ann, "GET", "/approvals")
    approval_id = page["items"][0]["id"]
    answers = await asyncio.gather(
        *(
            api.call(ann, "POST", f"/approvals/{approval_id}", {"confirmed": number % 2 == 0})
            for number in range(8)
        )
    )
    assert sorted(status for status, _ in answers) == [200] + [409] * 7
    assert (await api.call(ann, "GET", "/approvals"))[1]["items"] == []
    _, decided = await api.call(ann, "GET", "/approvals?state=all")
    assert decided["items"][0]["state"] in ("confirmed", "denied")


async def test_a_question_named_by_its_machine_needs_its_session_where_two_ask(api: Api) -> None:
    ann = api.people.ann
    one, other = await new_session(api), await new_session(api)
    for session_id in (one, other):
        await api.ask(ann, session_id, "q1", tool_name="shell")
    status, answer = await api.call(ann, "POST", "/approvals/q1", {"confirmed": True})
    assert (status, answer["error"]["code"]) == (409, "AMBIGUOUS")
    for session_id in (one, other):
        body = {"confirmed": True, "session_id": session_id}
        status, answer = await api.call(ann, "POST", "/approvals/q1", body)
        assert (status, answer["session_id"]) == (200, session_id)
    for wrong in ("", "x" * 101, 1):
        body = {"confirmed": True, "session_id": wrong}
        assert (await api.call(ann, "POST", "/approvals/q1", body))[0] == 400


async def test_an_answer_says_yes_or_no(api: Api) -> None:
    for body in ({}, {"confirmed": "yes"}, {"confirmed": None}, {"confirmed": 1}):
        status, answer = await api.call(api.people.ann, "POST", "/approvals/x", body)
        assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ('{"type":"text_chunk"}', b'{"type":"text_chunk"}'),
        ("[1, 2]", b"[1, 2]"),
        ("not json", b'"not json"'),
        ("", b'""'),
        ('{"a":1} x', b'"{\\"a\\":1} x"'),
        ('{"a":', b'"{\\"a\\":"'),
        ("\ud800", b'"?"'),
        ("你", '"你"'.encode()),
    ],
)
def test_a_logged_text_is_shown_as_json_or_as_text(data: str, shown: bytes) -> None:
    assert [bytes(one.event) for one in read_events([LoggedEvent(1, data)])] == [shown]


def test_a_logged_text_of_any_depth_is_shown() -> None:
    deep = "[" * 100_000
    assert bytes(read_events([LoggedEvent(1, deep)])[0].event) == f'"{deep}"'.encode()


async def test_a_session_moves_only_to_a_machine_of_its_own_user(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    path = f"/sessions/{session_id}"
    _, before = await api.call(ann, "GET", path)
    theirs = await api.schedule(api.people.bob)
    own = await api.schedule(ann)
    for machine_id in (theirs, "01a1dd21-c738-7000-8000-000000000000", "x", "é" * 100):
        status, answer = await api.call(ann, "PATCH", path, {"machine_id": machine_id})
        assert (status, answer["error"]["code"]) == (404, "MACHINE_NOT_FOUND"), machine_id
    # An administrator sees both, and yet may not hand one user's session to another.
    status, answer = await api.call(api.people.ada, "PATCH", path, {"machine_id": theirs})
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")
    # Somebody else's session is not there, whoever's machine is named.
    for machine_id in (theirs, own):
        status, answer = await api.call(api.people.bob, "PATCH", path, {"machine_id": machine_id})
        assert (status, answer["error"]["code"]) == (404, "SESSION_NOT_FOUND")
    assert (await api.call(ann, "GET", path))[1]["machine_id"] == before["machine_id"]
    status, moved = await api.call(api.people.ada, "PATCH", path, {"machine_id": own})
    assert (status, moved["machine_id"], moved["user_id"]) == (200, own, ann.user_id)


async def test_a_session_is_changed_by_what_makes_sense_and_by_nothing_else(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    path = f"/sessions/{session_id}"
    _, before = await api.call(ann, "GET", path)
    bodies: list[Any] = [{}, [], {"machine_id": None}, {"machine_id": ""}, {"machine_id": 7}]
    bodies += [
        {"machine_id": "x" * 101},
        {"machine_id": "\x00"},
        {"machine_id": [before["machine_id"]]},
        {"title": 7},
    ]
    for body in bodies:
        status, answer = await api.call(ann, "PATCH", path, body)
        assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST"), body
    assert (await api.call(ann, "GET", path))[1] == before
    other = await api.schedule(ann)
    both = {"machine_id": other, "title": "moved"}
    _, changed = await api.call(ann, "PATCH", path, both)
    assert (changed["machine_id"], changed["title"]) == (other, "moved")
    _, kept = await api.call(ann, "PATCH", path, {"machine_id": other})
    assert (kept["machine_id"], kept["title"]) == (other, "moved")


async def test_a_closed_session_and_a_machine_that_is_gone_are_no_place_to_move(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    path, other = f"/sessions/{session_id}", await api.schedule(ann)
    gone = await api.schedule(ann)
    assert (await api.call(ann, "DELETE", f"/machines/{gone}"))[0] == 204
    status, answer = await api.call(ann, "PATCH", path, {"machine_id": gone})
    assert (status, answer["error"]["code"]) == (503, "MACHINE_OFFLINE")
    await api.call(ann, "DELETE", path)
    status, answer = await api.call(ann, "PATCH", path, {"machine_id": other})
    assert (status, answer["error"]["code"]) == (409, "SESSION_CLOSED")


async def test_of_many_moves_at_once_the_session_is_on_one_machine(api: Api) -> None:
    ann, session_id = api.people.ann, await new_session(api)
    machines = [await api.schedule(ann) for _ in range(4)]
    answers = await asyncio.gather(
        *(
            api.call(ann, "PATCH", f"/sessions/{session_id}", {"machine_id": machine_id})
            for machine_id in machines
        )
    )
    assert {status for status, _ in answers} <= {200, 409}
    _, session = await api.call(ann, "GET", f"/sessions/{session_id}")
    holders = [one for one in machines if session_id in (await api.core.machines.get(one)).logs]
    assert holders == [session["machine_id"]]


@pytest.mark.parametrize(
    ("known", "chosen", "is_wanted"),
    [
        (["model", "titles"], {}, True),
        (["model"], {}, None),
        (None, {}, None),
        (["titles"], {"title": "Mine"}, None),
        (["titles"], {"session_config": {"titles": False}}, False),
        (["titles"], {"runtime_type": "acp", "agent_config": {"acp": {"preset": "codex"}}}, None),
    ],
)
async def test_a_machine_that_knows_how_is_told_to_ask_for_a_title_that_nobody_gave(
    api: Api, known: list[str] | None, chosen: dict[str, Any], is_wanted: bool | None
) -> None:
    machine_id = await api.schedule(api.people.ann)
    body = {"machine_id": machine_id, **chosen}
    session_id = await api.make(api.people.ann, "/sessions", body)
    said = {"semigraph": {"usable": True, "settings": known}} if known else None
    await api.core.store.run(update(schema.machines).values(runtimes=said))
    start = await api.core.starting.build(session_id)
    assert start is not None
    assert start.session_config.get("titles") == is_wanted
