"""Web Push from end to end: sessions of a scripted machine, a push service that decrypts."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.push_service import Browser, PushService, b64, push_service
from tests.support.vm import ScriptedVm
from trunkline.control.ids import new_id
from trunkline.control.push.subscriptions import QuietHours
from trunkline.control.store import schema
from trunkline.control.tuning import Tuning

NIGHT_MS = int(datetime(2026, 11, 16, 23, 30, tzinfo=UTC).timestamp() * 1000)
SECRET = "sk-abcdefghijklmnop"


class Stage:
    """Ada, her machine with a session that nobody reads, and the push service of her phone."""

    def __init__(
        self, control: LocalControl, service: PushService, user: TestUser, vm: ScriptedVm
    ) -> None:
        self.control = control
        self.service = service
        self.user = user
        self.vm = vm
        self.session = ""
        self.turn = ""

    async def begin(self) -> None:
        self.session = await self.user.session(title="Deploy")
        await self.vm.expect("start_session")
        self.turn = await self.user.say(self.session, "Go.")
        await self.vm.expect("user_message")

    async def subscribe(self, name: str = "phone", **fields: Any) -> Browser:
        browser = self.service.browser(name)
        await self.user.ok(
            "POST", "/push/subscriptions", {**browser.subscription, "name": name, **fields}
        )
        return browser

    async def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.user.ok("GET", "/push"))["subscriptions"]
        return found

    async def ask(self, request_id: str, **fields: Any) -> None:
        asked: dict[str, Any] = {"type": "approval_request", "request_id": request_id}
        asked["turn_id"] = self.turn
        await self.vm.event(self.session, **asked, **fields)

    async def answer(self, request_id: str) -> None:
        await self.user.ok("POST", f"/approvals/{request_id}", {"confirmed": True})

    async def end(self) -> None:
        await self.vm.event(self.session, type="execution_complete", turn_id=self.turn)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NIGHT_MS)


@pytest.fixture
async def stage(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Stage]:
    tuning = Tuning(retry_s=0.01)
    async with (
        push_service() as service,
        running(
            tmp_path / "data",
            clock,
            tuning,
            push_allowed_hosts="127.0.0.1",
            push_contact="mailto:ops@name.example",
        ) as control,
    ):
        user = await control.user()
        async with await user.vm() as vm:
            made = Stage(control, service, user, vm)
            await made.begin()
            yield made


async def test_a_question_reaches_the_phone_encrypted_and_its_answer_takes_it_back(
    stage: Stage, clock: FakeClock
) -> None:
    phone = await stage.subscribe()
    await stage.ask("q-1", message=f"Run it with {SECRET}?\n" + "x" * 5000, tool_name="bash")
    (asked,) = await phone.gets(1)
    (pending,) = (await stage.user.ok("GET", "/approvals"))["items"]
    assert asked["kind"] == "needs_you"
    assert (asked["session_id"], asked["approval_id"]) == (stage.session, pending["id"])
    assert asked["title"] == "Deploy"
    assert asked["text"].startswith("Run it with sk-***? xxx")
    assert len(asked["text"]) <= 300
    claims = stage.service.claims()
    assert claims["sub"] == "mailto:ops@name.example"
    assert 0 < claims["exp"] - clock() // 1000 <= 24 * 3600
    assert stage.service.tokens[-1][1] == (await stage.user.ok("GET", "/push"))["public_key"]
    await stage.answer("q-1")
    closed = (await phone.gets(2))[1]
    assert closed == {"kind": "closed", "tag": asked["tag"]}
    # What still waits at the service is replaced by the news that it is over.
    assert phone.headers[0]["Topic"] == phone.headers[1]["Topic"]
    assert (await stage.listed())[0]["sent_at"] == clock()


async def test_the_end_of_a_turn_is_told_only_where_nobody_reads_the_session(stage: Stage) -> None:
    phone = await stage.subscribe()
    async with stage.user.reader(stage.session):
        await eventually(lambda: _is_read(stage))
        await stage.end()
        await stage.user.until_turns(stage.session, "completed")
        stage.turn = await stage.user.say(stage.session, "Again.")
        await stage.vm.expect("user_message")
        await stage.ask("q-1")
        await phone.gets(1)
    await eventually(lambda: _is_read(stage), lambda is_read: not is_read)
    await stage.end()
    told = {one["kind"]: one for one in await phone.gets(3)}
    assert sorted(told) == ["closed", "done", "needs_you"], "nothing of the first turn's end"
    done = told["done"]
    assert (done["session_id"], done["status"]) == (stage.session, "completed")
    assert "text" not in done


async def _is_read(stage: Stage) -> bool:
    return stage.control.core.log.is_followed(stage.session)


async def test_what_a_person_in_a_group_asks_is_told_by_the_group_alone(stage: Stage) -> None:
    phone = await stage.subscribe()
    member, now, person = stage.session, stage.control.core.clock(), new_id()
    await stage.begin()
    seat = {"session_id": stage.session, "person_id": person, "member_session_id": member}
    named = {"id": person, "user_id": stage.user.id, "name": "Ann", "prompt": ""}
    async with stage.control.core.store.write() as connection:
        await connection.execute(insert(schema.persons).values(**named, created_at=now))
        await connection.execute(insert(schema.group_seats).values(**seat, created_at=now))
    asked: dict[str, Any] = {"type": "approval_request", "request_id": "q-1", "message": "own"}
    await stage.vm.event(member, **asked)
    await eventually(lambda: stage.user.ok("GET", f"/approvals?session_id={member}"), _has_items)
    await stage.ask("1.q-1", message="the group's")
    assert [one["text"] for one in await phone.gets(1)] == ["the group's"]


def _has_items(page: dict[str, Any]) -> bool:
    return bool(page["items"])


async def test_each_device_is_told_what_it_asked_for(stage: Stage) -> None:
    phone, tablet = await stage.subscribe(kinds=["done"]), await stage.subscribe("tablet")
    await stage.ask("q-1")
    await tablet.gets(1)
    await stage.end()
    kinds = [one["kind"] for one in await tablet.gets(3)]
    assert sorted(kinds) == ["closed", "done", "needs_you"]
    assert [one["kind"] for one in await phone.gets(1)] == ["done"]


async def test_what_is_asked_in_quiet_hours_is_told_when_they_are_over_if_it_still_waits(
    stage: Stage, clock: FakeClock
) -> None:
    quiet = {"from": "22:00", "to": "07:00", "time_zone": "UTC"}
    phone, tablet = await stage.subscribe(quiet=quiet), await stage.subscribe("tablet")
    for number in range(2):
        await stage.ask(f"q-{number}", message=f"Question {number}")
    await tablet.gets(2)
    await stage.answer("q-0")
    await tablet.gets(3)
    clock.advance(8 * 3600)
    stage.control.sweep()
    assert [one["text"] for one in await phone.gets(1)] == ["Question 1"]


async def test_a_service_that_is_busy_is_asked_again_and_a_browser_that_is_gone_forgotten(
    stage: Stage,
) -> None:
    phone, old = await stage.subscribe(), await stage.subscribe("old")
    refused = await stage.subscribe("refused")
    phone.answers = [(429, {"Retry-After": "0", "Set-Cookie": "a=b"}), (503, {})]
    old.answers = [(410, {})]
    refused.answers = [(403, {})]
    await stage.ask("q-1")
    await phone.gets(1)
    await eventually(stage.listed, lambda seen: len(seen) == 2 and seen[1]["problem"])
    by_name = {one["name"]: one for one in await stage.listed()}
    assert by_name["phone"]["problem"] is None
    assert by_name["refused"]["problem"] == "127.0.0.1 answered 403: as scripted"
    assert len(phone.headers) == 3
    assert not any("Cookie" in one for one in phone.headers)
    assert len(refused.headers) == 1


async def test_a_question_that_was_answered_meanwhile_is_not_sent_again(stage: Stage) -> None:
    phone, tablet = await stage.subscribe(), await stage.subscribe("tablet")
    phone.answers = [(429, {})]
    phone.gate.clear()
    await stage.ask("q-1")
    await tablet.gets(1)
    await eventually(lambda: asyncio.sleep(0, len(phone.headers)))
    await stage.answer("q-1")
    await tablet.gets(2)
    phone.gate.set()
    await eventually(lambda: asyncio.sleep(0, not phone.answers))
    await stage.end()
    assert [one["kind"] for one in await phone.gets(1)] == ["done"]


async def test_a_test_says_whether_it_was_taken_and_a_device_is_told_nothing_after_its_end(
    stage: Stage,
) -> None:
    phone = await stage.subscribe()
    (made,) = await stage.listed()
    path = f"/push/subscriptions/{made['id']}"
    await stage.user.ok("POST", f"{path}/test")
    assert [one["kind"] for one in await phone.gets(1)] == ["test"]
    phone.answers = [(400, {})]
    status, answer = await stage.user.call("POST", f"{path}/test")
    assert (status, answer["error"]["code"]) == (503, "PUSH_FAILED")
    changed = await stage.user.ok("PATCH", path, {"kinds": ["done"], "name": "pocket"})
    assert (changed["kinds"], changed["name"]) == (["done"], "pocket")
    again = await stage.subscribe()
    assert [one["id"] for one in await stage.listed()] == [made["id"]], "one browser, one record"
    await stage.user.ok("DELETE", path)
    assert await stage.listed() == []
    tablet = await stage.subscribe("tablet")
    await stage.end()
    await tablet.gets(1)
    assert again.received == []


async def test_a_subscription_ends_with_its_login_and_is_its_users_alone(stage: Stage) -> None:
    issued = await stage.control.ok("POST", f"/users/{stage.user.id}/token")
    lost = TestUser(stage.control, stage.user.id, issued["token"])
    gone = stage.service.browser("gone")
    made = await lost.ok("POST", "/push/subscriptions", {**gone.subscription, "name": "lost"})
    path = f"/push/subscriptions/{made['id']}"
    other = await stage.control.user("bob")
    for method, where in (("PATCH", path), ("DELETE", path), ("POST", f"{path}/test")):
        body = {"name": "mine"} if method == "PATCH" else None
        assert (await other.call(method, where, body))[0] == 404
        assert (await stage.control.call(method, where, body))[0] == 404, "administrators neither"
    await stage.control.ok("DELETE", f"/tokens/{issued['id']}")
    phone = await stage.subscribe()
    await stage.ask("q-1")
    await phone.gets(1)
    assert [one["name"] for one in await stage.listed()] == ["phone"]
    assert gone.headers == []


_STRANGE: list[tuple[dict[str, Any], str]] = [
    ({"endpoint": "http://push.example/x"}, "INVALID_REQUEST"),
    ({"endpoint": "https://10.0.0.1/x"}, "PUSH_ADDRESS_REFUSED"),
    ({"endpoint": "https://[::1]/x"}, "PUSH_ADDRESS_REFUSED"),
    ({"endpoint": "https://user:word@push.example/x"}, "INVALID_REQUEST"),
    ({"endpoint": "https://push.example/ x"}, "INVALID_REQUEST"),
    ({"endpoint": "https://push.example/\r\nA: b"}, "INVALID_REQUEST"),
    ({"endpoint": "file:///etc/passwd"}, "INVALID_REQUEST"),
    ({"endpoint": "https://[x"}, "INVALID_REQUEST"),
    ({"endpoint": "https://push.example/" + "x" * 2000}, "INVALID_REQUEST"),
    ({"keys": {"p256dh": b64(bytes(65)), "auth": b64(bytes(16))}}, "INVALID_REQUEST"),
    ({"keys": {"p256dh": "!", "auth": b64(bytes(16))}}, "INVALID_REQUEST"),
    ({"kinds": ["everything"]}, "INVALID_REQUEST"),
    ({"name": " "}, "INVALID_REQUEST"),
    ({"quiet": {"from": "7:00", "to": "08:00", "time_zone": "UTC"}}, "INVALID_REQUEST"),
    ({"quiet": {"from": "07:00", "to": "24:00", "time_zone": "UTC"}}, "INVALID_REQUEST"),
    ({"quiet": {"from": "07:00\n", "to": "08:00", "time_zone": "UTC"}}, "INVALID_REQUEST"),
    ({"quiet": {"from": "07:00", "to": "08:00", "time_zone": "Mars/Base"}}, "INVALID_REQUEST"),
    ({"quiet": {"from": "07:00", "to": "08:00", "time_zone": "../../x"}}, "INVALID_REQUEST"),
    ({"quiet": {"from": "07:00", "to": "08:00", "time_zone": "Europe"}}, "INVALID_REQUEST"),
]


async def test_a_strange_subscription_is_refused(stage: Stage) -> None:
    for changed, code in _STRANGE:
        body = {**stage.service.browser("phone").subscription, "name": "phone", **changed}
        status, answer = await stage.user.call("POST", "/push/subscriptions", body)
        assert (status in (400, 403), answer["error"]["code"]) == (True, code), (changed, answer)
    assert await stage.listed() == []
    # A name says nothing of where it leads: that is looked at when it is connected to.
    body = {**stage.service.browser("phone").subscription, "name": "phone"}
    body["endpoint"] = "https://2130706434/x"  # 127.0.0.2
    made = await stage.user.ok("POST", "/push/subscriptions", body)
    status, answer = await stage.user.call("POST", f"/push/subscriptions/{made['id']}/test")
    assert (status, answer["error"]["code"]) == (503, "PUSH_FAILED")
    assert "not public" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("start", "end", "zone", "at", "is_quiet"),
    [
        ("22:00", "07:00", "UTC", "23:30", True),
        ("22:00", "07:00", "UTC", "06:59", True),
        ("22:00", "07:00", "UTC", "07:00", False),
        ("22:00", "07:00", "UTC", "21:59", False),
        ("12:00", "13:00", "UTC", "12:30", True),
        ("12:00", "13:00", "UTC", "13:00", False),
        ("12:00", "12:00", "UTC", "12:00", False),
        ("22:00", "07:00", "Asia/Shanghai", "14:30", True),
        ("22:00", "07:00", "America/New_York", "14:30", False),
    ],
)
def test_quiet_hours_are_those_of_their_time_zone(
    start: str, end: str, zone: str, at: str, is_quiet: bool
) -> None:
    now = datetime.fromisoformat(f"2026-11-16T{at}:00+00:00").timestamp() * 1000
    assert QuietHours(start, end, zone).holds(int(now)) is is_quiet
