"""A session as a file, and the file as a session: nothing is lost on the way, nothing is taken from
a file that was not written by us, and nothing of a file that is not good all through."""

import gzip
import json
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tests.support import fresh_data
from tests.support.eventually import eventually
from tests.unit.control.api.conftest import ADMIN_TOKEN, Api
from tests.unit.control.api.test_erasing import QUICK, Dying, DyingLog, Killed
from tests.unit.control.api.test_session_list import end, listed, say
from tests.unit.control.api.test_sessions import new_session
from tests.unit.control.machines.stage import KeptLine
from tests.unit.control.people import People
from trunkline.control.access.keys import Keys
from trunkline.control.clock import now_ms
from trunkline.control.core import Core
from trunkline.control.ids import id_at, new_id
from trunkline.control.log import events
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.machines.traits import KINDS
from trunkline.control.sessions import session_file
from trunkline.control.sessions.importing import ImportQuery
from trunkline.control.sessions.listing import SessionQuery
from trunkline.control.settings import Settings
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.wire.commands import Start

Json = dict[str, Any]
Lines = list[Json]

HEAD = {"format": "trunkline-session", "version": 1, "session": {"title": "From afar"}}


async def exported(api: Api, session_id: str, who: Any = None) -> bytes:
    path = f"/api/v1/sessions/{session_id}/export"
    async with await api.send(who or api.people.ann, "GET", path) as answer:
        assert answer.status == 200
        return await answer.read()


async def imported(api: Api, data: Any, query: str = "", who: Any = None, **more: Any) -> Any:
    path = f"/api/v1/sessions/import{query}"
    async with await api.send(who or api.people.ann, "POST", path, data=data, **more) as answer:
        return answer.status, await answer.json()


async def made(api: Api, data: Any, query: str = "", who: Any = None) -> Json:
    status, session = await imported(api, data, query, who)
    assert status == 201, session
    found: Json = session
    return found


def read(data: bytes) -> Lines:
    return [json.loads(line) for line in data.splitlines()]


def events_of(data: bytes) -> list[Any]:
    return [line["event"] for line in read(data) if "event" in line]


def file_of(*said: Any, head: Json = HEAD, at: int = 5) -> bytes:
    lines: Lines = [head]
    lines += [{"id": number, "at": at, "event": one} for number, one in enumerate(said, 1)]
    lines.append({"end": {"events": len(said), "notes": 0}})
    return written(lines)


def written(lines: Lines) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


async def talked(api: Api) -> str:
    """A session in which something of everything happened."""
    session_id = await new_session(api)
    ann, core = api.people.ann, api.core
    machine = await core.machines.of(await core.sessions.get(ann, session_id))
    core.machines.attach(machine, KeptLine(KINDS["vm"]), fresh=True)
    turn = await say(api, session_id, "Grüße, 世界 \u2028 and \\u0041")
    log = machine.logs[session_id]
    call = {"tool_name": "shell", "tool_input": {"n": 2**60}, "tool_call_id": "c"}
    for kind, fields in (
        ("text_chunk", {"content": "I look."}),
        ("tool_call_start", call),
        ("tool_call_complete", {**call, "result": "a\nb"}),
    ):
        core.machines.write(machine, log, events.make(kind, 7, turn_id=turn, **fields))
    core.machines.write(machine, log, "no event at all")
    core.machines.write(machine, log, '"a text that is JSON"')
    await api.ask(ann, session_id, "q", kind="approve", message="may I?", turn_id=turn)
    await core.projection.settled()
    await core.sessions.answer(ann, "q", True, None, session_id)
    await end(api, session_id, turn, "Two files.")
    # Of one whose turns have no names.
    await say(api, session_id, "again")
    core.machines.write(machine, log, events.make("execution_complete", 9, content="Done."))
    await core.log.flushed()
    await core.projection.settled()
    return session_id


async def test_a_session_comes_back_from_its_file_with_every_event(api: Api) -> None:
    session_id, ann = await talked(api), api.people.ann
    data = await exported(api, session_id)
    head, *lines, last = read(data)
    assert (head["format"], head["version"]) == ("trunkline-session", 1)
    assert head["session"]["id"] == session_id
    kept = [line for line in lines if "event" in line]
    assert last == {"end": {"events": len(kept), "notes": len(lines) - len(kept)}}
    assert len(lines) > len(kept) > 8
    assert all(line["at"] > 0 for line in lines)
    assert "no event at all" in events_of(data)

    # Here, where its turns are: they get other ids. All else is the same.
    copy = await made(api, data)
    again = await exported(api, copy["id"])
    assert (copy["title"], copy["status"], copy["id"] != session_id) == ("t", "active", True)
    names = sorted({one["turn_id"] for one in map(_object, events_of(data)) if "turn_id" in one})
    others = sorted({one["turn_id"] for one in map(_object, events_of(again)) if "turn_id" in one})
    assert (len(names), set(names) & set(others)) == (2, set())
    same = again.decode()
    for old, new in zip(names, others, strict=True):
        same = same.replace(new, old)
    assert events_of(same.encode()) == events_of(data)

    # Where nobody has them, as on another system, they are kept: not a letter is different.
    await api.call(ann, "DELETE", f"/sessions/{session_id}?erase=true")
    moved = await made(api, data)
    assert _texts(await exported(api, moved["id"])) == _texts(data)
    _, shown = await api.call(ann, "GET", f"/sessions/{moved['id']}/snapshot")
    _, other = await api.call(ann, "GET", f"/sessions/{copy['id']}/snapshot")
    for one in (shown, other):
        assert [turn["state"] for turn in one["turns"]] == ["completed", "completed"]
        assert [turn["answer"] for turn in one["turns"]] == ["Two files.", "Done."]
    times = [line["at"] for line in kept]
    assert times[0] <= shown["turns"][0]["created_at"] <= times[-1]
    assert not await api.core.store.all(
        select(schema.approvals).where(schema.approvals.c.state == "pending")
    )


def _object(event: Any) -> Json:
    return event if isinstance(event, dict) else {}


def _texts(data: bytes) -> list[bytes]:
    return [line.partition(b'"event":')[2] for line in data.splitlines() if b'"event":' in line]


async def test_an_imported_session_goes_on_with_what_was_said(api: Api) -> None:
    data = await exported(api, await talked(api))
    machine_id = await api.schedule(api.people.ann)
    line = KeptLine(KINDS["vm"])
    api.core.machines.attach(await api.core.machines.get(machine_id), line, fresh=True)
    copy = await made(api, data, f"?machine_id={machine_id}&title=Mine")
    assert (copy["title"], copy["machine_id"]) == ("Mine", machine_id)

    async def started() -> Start | None:
        return next((one for one in line.told if isinstance(one, Start)), None)

    start = await eventually(started, lambda one: one is not None)
    assert start is not None
    assert start.fork is not None
    said = [one["content"] for one in start.fork["history"] if one["role"] == "user"]
    assert (start.fork["session_id"], said[-1]) == ("", "again")
    turn = await say(api, copy["id"], "and now?")
    await end(api, copy["id"], turn, "Now.")
    assert (await listed(api))[0]["last_turn"]["status"] == "completed"


async def test_what_a_file_leaves_open_is_ended_and_runs_nowhere(api: Api) -> None:
    turn, other = id_at(5), id_at(6)
    said = {"type": "user_message", "ts": 5}
    machine_id = await api.schedule(api.people.ann)
    line = KeptLine(KINDS["vm"])
    api.core.machines.attach(await api.core.machines.get(machine_id), line, fresh=True)
    data = file_of(
        {**said, "content": "rm -rf /", "turn_id": turn},
        {**said, "content": "and more", "turn_id": turn, "steers": turn, "message_id": other},
        {"type": "approval_request", "request_id": "q", "message": "?", "turn_id": turn},
        {"type": "session_closed", "ts": 5, "reason": "user_closed"},
    )
    session = await made(api, data)
    assert session["state"] == "idle"
    kinds = [one["type"] for one in events_of(await exported(api, session["id"]))]
    assert kinds[-2:] == ["approval_resolved", "execution_complete"]
    assert "session_closed" not in kinds
    await api.core.tasks.done()
    assert {type(one).__name__ for one in line.told} == {"Start"}
    _, log = await api.call(api.people.orla, "GET", "/audit")
    assert [one["event"] for one in log["items"][:2]] == ["session.imported", "machine.scheduled"]


async def test_nobody_speaks_for_others_and_no_file_says_to_ask_less(api: Api) -> None:
    ann, bob = api.people.ann, api.people.bob
    config: Json = {"system_prompt": "Be kind.", "confirm": "never", "permission_mode": "free"}
    config |= {"workspace": "/", "acp": {"command": ["sh"], "preset": "codex"}, "extra": 1}
    record = {"title": "x", "runtime_type": "semigraph", "agent_config": config, "user_id": "x"}
    await api.schedule(ann)
    said = {"type": "user_message", "content": "hi", "ts": 1}
    hidden = '{"type":"user_message","content":"hi","turn_id":"b","us\\u0065r_id":"%s"}'
    data = file_of(
        {**said, "turn_id": "a", "user_id": bob.user_id},
        {**said, "turn_id": "c", "user_id": "somebody elsewhere"},
        head={**HEAD, "session": record},
    )
    raw = hidden % bob.user_id
    data = data.replace(b'{"end"', b'{"id":9,"at":5,"event":' + raw.encode() + b'}\n{"end"')
    data = data.replace(b'"events": 2', b'"events": 3')
    session = await made(api, data)
    people = [one.get("user_id") for one in events_of(await exported(api, session["id"]))]
    assert people[:3] == [ann.user_id, "somebody elsewhere", ann.user_id]
    kept = session["agent_config"]
    assert (kept["system_prompt"], kept["acp"]) == ("Be kind.", {"preset": "codex"})
    assert not {"confirm", "permission_mode", "workspace", "extra"} & set(kept)


async def test_a_file_has_no_secrets(api: Api) -> None:
    config: Json = {
        "api_key": "sk-aaaaaaaaaaaa",
        "acp": {"preset": "codex", "env": {"A": "secret"}},
    }
    shown = json.dumps(session_file.without_secrets(config))
    assert "aaaaaaaa" not in shown
    assert "bbbbbbbb" not in shown
    assert "secret" not in shown
    assert "codex" in shown


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def without_end(data: bytes) -> bytes:
    return b"\n".join(data.splitlines()[:-1])


SAID = {"type": "user_message", "content": "hi", "turn_id": "t", "ts": 1}
GOOD = file_of(SAID, {"type": "text_chunk", "content": "x"})
HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "nothing in it"),
    "blank": (b"\n\n \n", "nothing in it"),
    "truncated": (cut(GOOD), "line "),
    "without its end": (without_end(GOOD), "cut off"),
    "no head": (b"\n".join(GOOD.splitlines()[1:]), "no session that was exported"),
    "an end first": (b'{"end":{"events":0,"notes":0}}', "no session that was exported"),
    "a newer version": (GOOD.replace(b'"version": 1', b'"version": 2'), "has version 2"),
    "a version that is none": (GOOD.replace(b'"version": 1', b'"version": [1]'), "version"),
    "another format": (GOOD.replace(b"trunkline-session", b"something"), "no session"),
    "two heads": (GOOD.splitlines()[0] + b"\n" + GOOD, "second beginning"),
    "two files": (GOOD + GOOD, "follows the line that ends"),
    "wrong order": (GOOD.replace(b'"id": 2', b'"id": 1'), "comes behind"),
    "ids backwards": (GOOD.replace(b'"id": 1,', b'"id": 7,'), "comes behind 7"),
    "an id of nothing": (GOOD.replace(b'"id": 1,', b'"id": 0,'), "line 2"),
    "a huge id": (GOOD.replace(b'"id": 2,', b'"id": 9007199254740992,'), "line 3"),
    "an id in words": (GOOD.replace(b'"id": 2,', b'"id": "2",'), "line 3"),
    "a time of never": (GOOD.replace(b'"at": 5', b'"at": -5'), "line 2"),
    "a time that is none": (GOOD.replace(b'"at": 5', b'"at": NaN'), "line 2"),
    "a wrong count": (GOOD.replace(b'"events": 2', b'"events": 3'), "should have 3"),
    "not UTF-8": (GOOD.replace(b"hi", b"\xff\xfe"), "not UTF-8"),
    "not JSON": (GOOD.replace(b'"id": 2', b'"id": 2 2'), "line 3"),
    "a list": (GOOD.replace(b'{"type": "text_chunk", "content": "x"}', b"[1]"), "an object, or"),
    "no event": (GOOD.replace(b'"event"', b'"evnt"'), "neither an event nor a note"),
    "two types": (GOOD.replace(b'"ts": 1', b'"type": "session_closed"'), "two types"),
    "nested without end": (GOOD.replace(b'"x"', b"[" * 5_000 + b"]" * 5_000), "line 3"),
    "packed": (gzip.compress(GOOD), "unpack it first"),
    "a page": (b"<!doctype html>\n<p>hello</p>\n", "line 1"),
    "a turn twice": (
        file_of(SAID, {"type": "execution_complete", "turn_id": "t"}, SAID),
        "two turns have the id",
    ),
    "a turn without end": (file_of({**SAID, "turn_id": "t" * 300}), "is too long"),
    "a name twice": (
        file_of(*({**SAID, "turn_id": str(n), "client_message_id": "c"} for n in range(2))),
        "client_message_id",
    ),
    "a name without end": (file_of({**SAID, "client_message_id": "c" * 300}), "client_message_id"),
    "too many open turns": (
        file_of(*({**SAID, "turn_id": str(n)} for n in range(1_001))),
        "open at once",
    ),
    "a title without end": (
        file_of(head={**HEAD, "session": {"title": "x" * 300}}),
        "line 1",
    ),
    "a record that is none": (file_of(head={**HEAD, "session": [1]}), "line 1"),
    "a setting that is none": (
        file_of(head={**HEAD, "session": {"agent_config": {"temperature": "hot"}}}),
        "temperature",
    ),
}


async def test_nothing_is_made_of_a_file_that_is_not_good_all_through(api: Api) -> None:
    await api.schedule(api.people.ann)
    for name, (data, problem) in HOSTILE.items():
        status, answer = await imported(api, data)
        assert status in (400, 413), (name, status, answer)
        assert problem in answer["error"]["message"], (name, answer)
    assert await listed(api) == []
    assert await api.core.store.all(select(schema.drafts)) == []
    assert await api.core.segments.sizes() == {}
    assert (await imported(api, GOOD, "?machine_id=nothing"))[0] == 404
    assert (await imported(api, GOOD, f"?machine_id={new_id()}"))[0] == 404
    assert (await imported(api, GOOD, "?title=" + "x" * 300))[0] == 400
    assert (await made(api, GOOD))["title"] == "From afar"


async def test_a_file_that_unpacks_to_much_more_is_read_no_further_than_its_bound(
    api: Api,
) -> None:
    await api.schedule(api.people.ann)
    long = gzip.compress(GOOD + b" " * (session_file.LINE_BYTES_MAX + 2))
    headers = {"Content-Encoding": "gzip"}
    status, answer = await imported(api, long, headers=headers)
    assert (status, answer["error"]["code"]) == (413, "TOO_LARGE")
    assert await listed(api) == []


async def test_an_import_that_fails_in_the_middle_leaves_nothing(api: Api) -> None:
    await api.schedule(api.people.ann)
    data = file_of(*({"type": "text_chunk", "content": str(n)} for n in range(2_000)))

    async def half() -> AsyncIterator[bytes]:
        yield data[: len(data) // 2]
        raise ConnectionError("the line broke")

    with pytest.raises(ConnectionError):
        await api.core.importing.read(api.people.ann, half(), ImportQuery())
    await api.call(
        api.people.ada, "PATCH", f"/users/{api.people.ann.user_id}/quotas", {"sessions": 0}
    )
    assert (await imported(api, data))[1]["error"]["code"] == "QUOTA_REACHED"
    assert await api.core.segments.sizes() == {}
    assert await api.core.store.all(select(schema.drafts)) == []


async def test_a_killed_import_leaves_all_of_a_session_or_nothing(
    sqlite_store: Store, keys: Keys, tmp_path: Path
) -> None:
    """Killed before each of its changes in turn."""
    people = await People.settle(sqlite_store, now_ms)
    ann, store = people.ann, Dying(sqlite_store)
    fresh_data.copy_to(tmp_path / "data")
    log = DyingLog(await SqliteSegments.open(tmp_path / "data" / "log.db"), store)
    settings = Settings(data=str(tmp_path))
    data = file_of({**SAID, "turn_id": new_id()}, {"type": "text_chunk", "content": "x"})

    async def chunks() -> AsyncIterator[bytes]:
        yield data

    core = Core(settings, store, log, keys, ADMIN_TOKEN, tuning=QUICK)
    await core.vms.schedule(ann, ann.user_id, base_url="http://here")
    for step in count():
        store.left = step
        is_killed = False
        try:
            await core.importing.read(ann, chunks(), ImportQuery())
        except Killed:
            is_killed = True
        store.left = 0 if is_killed else None
        await core.tasks.cancel()
        store.left = None
        core = Core(settings, store, log, keys, ADMIN_TOKEN, tuning=QUICK)
        await core.recover()
        found = await core.session_list.page(ann, SessionQuery())
        assert set(await log.sizes()) == {one.id for one in found.items}
        for one in found.items:
            (turn,) = await core.turns.recent(one.id)
            assert (turn.state, one.last_event_id) == ("cancelled", 3)
            await core.erasing.erase(ann, one.id)
        if not is_killed:
            break
    assert step > 2
    await core.services.close()
    await log.close()
