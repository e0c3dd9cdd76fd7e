"""How a device comes in: who it says that it is, what proves it, and what is refused (003 §2)."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.agp import ScriptedDevice, device_of, new_device, register
from tests.support.control import Control, ControlProcess, LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.raw_ws import RawWs

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


AGP = "/ws/agp"


async def _refusals(user: TestUser, wire: str = "agp") -> list[Any]:
    page = await user.ok("GET", "/audit")
    return [
        (one["details"]["kind"], one["details"]["id"])
        for one in page["items"]
        if one["event"] == "access.refused" and one["details"]["wire"] == wire
    ]


async def _status(device: ScriptedDevice) -> int:
    """The HTTP status of a handshake that is refused."""
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await device.connect()
    return refused.value.status


async def _is_served(user: TestUser, device: ScriptedDevice) -> None:
    session_id = await user.session()
    await user.say(session_id, "hello")
    prompt = await device.prompt("hello")
    assert (prompt["guid"], prompt["user_id"]) == (device.guid, user.id)


@pytest.mark.parametrize("path", ["/", "/ws/agp"])
@pytest.mark.proves("003-2-address", "003-2-registered-after-handshake", "003-1-one-port")
async def test_a_device_that_says_and_proves_who_it_is_is_served(user: TestUser, path: str) -> None:
    made = await register(user, guid=f"device_{path.replace('/', '-')}_{user.id}")
    async with device_of(user, made, path=path) as device:
        await _is_served(user, device)
        listed = await user.ok("GET", f"/machines/{made['machine_id']}")
        assert (listed["kind"], listed["online"]) == ("agp", True)


@pytest.mark.parametrize("path", ["/", "/ws/agp"])
@pytest.mark.proves("notes-4-token-alone")
async def test_a_device_s_token_alone_is_a_complete_handshake(user: TestUser, path: str) -> None:
    made = await register(user)
    async with ScriptedDevice(user.control.url, token=made["token"], path=path) as device:
        session_id = await user.session()
        await user.say(session_id, "hello")
        prompt = await device.prompt("hello")
        assert (prompt["guid"], prompt["user_id"]) == (made["guid"], user.id)
        await device.respond(prompt, "echoes what the prompt said")
        async with user.reader(session_id) as reader:
            await reader.until_type("execution_complete")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"guid": "d"},
        {"user_id": "u"},
        {"guid": "", "user_id": "", "token": ""},
        {"guid": "d", "user_id": "u"},
        {"guid": "d", "user_id": "u", "token": ""},
        {"user_id": "u", "token": "t"},
        {"guid": "d" * 129, "user_id": "u", "token": "t"},
        {"guid": "d", "user_id": "u" * 101, "token": "t"},
        {"guid": "d", "user_id": "u", "token": "t" * 201},
        {"guid": "two words", "user_id": "u", "token": "t"},
        {"guid": "d\x00", "user_id": "u", "token": "t"},
        {"guid": "d", "user_id": "\u00fc", "token": "t"},
        {"guid": "../../etc/passwd\n", "user_id": "u", "token": "t"},
    ],
)
@pytest.mark.proves("003-2-guid-and-user-id-required", "003-2-missing-is-no-websocket")
@pytest.mark.proves("notes-4-nobody-is-400")
async def test_an_incomplete_or_impossible_url_gets_no_websocket(
    control: Control, given: dict[str, str]
) -> None:
    assert await _status(ScriptedDevice(control.url, path="/ws/agp", **given)) == 400


@pytest.mark.proves("003-2-bad-url-is-refused")
async def test_a_url_that_cannot_be_read_gets_no_websocket(control: Control) -> None:
    device = ScriptedDevice(control.url, path="/ws/agp")
    device.url += "&".join(f"x{number}=1" for number in range(100))
    assert await _status(device) == 400
    for path in ("/", "/ws/agp"):
        raw = RawWs(f"{control.url}{path}?guid=%zz&user_id=u&token=dev_t")
        assert (await raw.connect()).status == 400


@pytest.mark.parametrize("wrong", ["token", "guid", "guid alone", "user_id", "person"])
@pytest.mark.proves("003-2-token-is-checked")
@pytest.mark.proves("notes-4-wrong-token-is-401")
async def test_a_token_that_does_not_fit_gets_no_websocket(
    control: Control, user: TestUser, wrong: str
) -> None:
    made, other = await register(user), await register(user)
    fields = {"guid": made["guid"], "user_id": user.id, "token": made["token"]}
    stranger = await control.user("eve")
    fields |= {
        "token": {"token": "dev_no-such-token"},
        "guid": {"guid": other["guid"]},
        "guid alone": {"guid": other["guid"], "user_id": ""},
        "user_id": {"user_id": stranger.id},
        "person": {"token": user.token},
    }[wrong]
    assert await _status(ScriptedDevice(control.url, **fields)) == 401
    machine = await user.ok("GET", f"/machines/{made['machine_id']}")
    assert machine["online"] is False


async def test_who_names_another_user_s_device_is_refused_and_audited(
    control: Control, user: TestUser
) -> None:
    stranger = await control.user("eve")
    theirs, mine = await register(stranger), await register(user)
    fields = {"guid": theirs["guid"], "user_id": user.id, "token": mine["token"]}
    assert await _status(ScriptedDevice(control.url, **fields)) == 401
    await eventually(lambda: _refusals(user), lambda seen: ("device", theirs["guid"]) in seen)
    fields = {"guid": mine["guid"], "user_id": stranger.id, "token": mine["token"]}
    assert await _status(ScriptedDevice(control.url, **fields)) == 401
    await eventually(lambda: _refusals(user), lambda seen: ("user", stranger.id) in seen)


async def test_another_user_s_guid_cannot_be_registered(control: Control, user: TestUser) -> None:
    theirs = await register(await control.user("eve"))
    status, body = await user.call("POST", f"/users/{user.id}/devices", {"guid": theirs["guid"]})
    assert (status, body["error"]["code"]) == (409, "GUID_TAKEN")
    await eventually(
        lambda: _refusals(user, "rest"), lambda seen: ("device", theirs["guid"]) in seen
    )


@pytest.mark.proves("003-2-older-connection-is-kicked")
async def test_a_newer_connection_of_the_same_device_takes_over(user: TestUser) -> None:
    async with await new_device(user) as older:
        session_id = await user.session()
        async with older.again() as newer:
            assert await older.closed() == 1008
            await user.say(session_id, "who is there?")
            await newer.prompt("who is there?")
            assert older.received == []
            machines = (await user.ok("GET", "/machines"))["items"]
            assert [one["online"] for one in machines] == [True]


async def test_a_new_token_ends_the_line_of_the_old_one(user: TestUser) -> None:
    made = await register(user, agent_apps=["claude"])
    async with device_of(user, made) as old:
        fresh = await register(user, guid=made["guid"])
        assert fresh["machine_id"] == made["machine_id"]
        assert await old.closed() == 1008
        assert await _status(old.again()) == 401
    async with device_of(user, fresh) as device:
        await _is_served(user, device)
        assert device.of("session.prompt")[0]["payload"]["agent_app"] == "claude"


async def test_a_token_that_ends_in_the_middle_of_the_handshake_is_refused(
    control: LocalControl, user: TestUser
) -> None:
    made = await register(user)
    renewals = [made["guid"]]

    async def renew() -> None:
        while renewals:
            await register(user, guid=renewals.pop())

    # What comes behind the look at the token.
    with control.records.before("sessions.agent_config", renew):
        assert await _status(device_of(user, made)) == 401
    assert renewals == []


async def test_a_device_that_was_removed_stays_out_until_it_gets_a_new_token(
    user: TestUser,
) -> None:
    made = await register(user)
    async with device_of(user, made) as device:
        await user.ok("DELETE", f"/machines/{made['machine_id']}")
        assert await device.closed() == 4003
        assert await _status(device.again()) == 401
    fresh = await register(user, guid=made["guid"])
    session_id = await user.session(machine_id=made["machine_id"])
    async with device_of(user, fresh) as device:
        await user.say(session_id, "welcome back")
        await device.prompt("welcome back")


@pytest.mark.proves("notes-4-refusals-are-logged")
async def test_a_refusal_is_logged_with_its_reason_and_a_token_into_no_log(tmp_path: Path) -> None:
    async with ControlProcess(tmp_path / "data", log_level="debug") as control:
        user = await control.user()
        made = await register(user)
        async with device_of(user, made) as device:
            await _is_served(user, device)
        wrong = "dev_wrong-0123456789-secret"
        assert await _status(ScriptedDevice(control.url, token=wrong)) == 401
        fields = {"guid": made["guid"], "user_id": user.id}
        assert await _status(ScriptedDevice(control.url, token=wrong, **fields)) == 401
        fields = {"guid": "other", "user_id": user.id}
        assert await _status(ScriptedDevice(control.url, token=made["token"], **fields)) == 401
        assert await _status(ScriptedDevice(control.url, token=wrong, user_id="u", path=AGP)) == 400
        assert await _status(ScriptedDevice(control.url, guid="g\n" * 999, path=AGP)) == 400
    refused = [one for one in control.log.splitlines() if "device refused" in one]
    assert len(refused) == 5
    reasons = ("not known", "not known", "another device's", "guid is missing", "more than 128")
    for line, reason in zip(refused, reasons, strict=True):
        assert reason in line
        assert len(line) < 1000
    assert wrong not in control.log
    assert made["token"] not in control.log


@pytest.mark.proves("003-2-token-optional-where-open")
async def test_where_it_is_open_guid_and_user_id_are_enough_and_make_a_device_known(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", open_agp=True) as control:
        user, stranger = await control.user(), await control.user("eve")
        async with ScriptedDevice(control.url, guid="device_001", user_id=user.id) as device:
            await _is_served(user, device)
        async with device.again() as returned:
            await _is_served(user, returned)
            assert len((await user.ok("GET", "/machines"))["items"]) == 1
        # A name alone is no proof: another user's device is not taken.
        taken = ScriptedDevice(control.url, guid="device_001", user_id=stranger.id)
        assert await _status(taken) == 401
        admin = TestUser(control, "", "test-admin-token-0123456789")
        await eventually(lambda: _refusals(admin), lambda seen: ("device", "device_001") in seen)
        nobody = ScriptedDevice(control.url, guid="device_002", user_id="nobody")
        assert await _status(nobody) == 401
        assert await _status(ScriptedDevice(control.url, guid="d", path="/ws/agp")) == 400
