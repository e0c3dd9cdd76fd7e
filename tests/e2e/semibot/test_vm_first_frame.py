"""The first frame of a line and its answer: `auth` in time, `init` with sealed keys (000 §9)."""

import asyncio
import base64
import hashlib
import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.admission import Json, again_url, claims_of, first_url, verdict
from tests.support.control import ADMIN, ControlProcess, TestUser, running
from tests.support.eventually import WAIT_S
from tests.support.raw_ws import CONTINUATION, PING, TEXT, RawWs, encode_frame, raw_line
from trunkline import limits
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest.mark.proves("000-1-user-id-required")
async def test_without_a_user_id_there_is_no_websocket(user: TestUser) -> None:
    for query in ("", "?user_id=", "?ticket=abc", "?USER_ID=1"):
        line = await RawWs(user.ws_url + query).connect()
        assert line.status == 400
        assert json.loads(line.body)["error"]["code"] == "INVALID_REQUEST"


@pytest.mark.parametrize(
    "first",
    [
        b'{"type": "heartbeat", "active_sessions": []}',
        b'{"type": "resume", "pending_ids": []}',
        b'{"type": "from_the_future"}',
        b'{"type": "auth"}',
        b'{"type": "auth", "token": 1}',
        b"not json",
        b"",
    ],
)
@pytest.mark.proves("000-9-first-frame-must-be-auth")
async def test_the_first_frame_must_be_auth(user: TestUser, first: bytes) -> None:
    async with await RawWs(again_url(user)).connect() as line:
        await line.text(first)
        assert await line.closed() == 4001


@pytest.mark.proves("000-9-first-frame-must-be-auth")
async def test_auth_must_come_in_time_and_pings_buy_none(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", tuning=Tuning(auth_timeout_s=0.1)) as control:
        user = await control.user()
        async with await RawWs(again_url(user)).connect() as line, asyncio.timeout(WAIT_S):
            while not line.ended:
                seen = len(line.frames)
                await line.frame(PING, b"wait")
                await line.until(lambda seen=seen: len(line.frames) > seen or line.ended, "pong")  # type: ignore[misc]
            assert await line.closed() == 4001


async def test_a_line_that_was_let_in_outlives_the_time_for_auth(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", tuning=Tuning(auth_timeout_s=2.0)) as control:
        user = await control.user()
        async with await raw_line(user) as line, await RawWs(again_url(user)).connect() as silent:
            assert await silent.closed() == 4001
            await line.frame(PING, b"alive")
            await line.pong(b"alive")


async def test_what_comes_right_behind_auth_waits_for_the_verdict_and_is_then_handled(
    user: TestUser,
) -> None:
    async with await user.vm() as old:
        session_id = await user.session()
    auth = encode_frame(TEXT, json.dumps({"type": "auth", "token": old.token}).encode())
    events = [
        json.dumps({"type": "sse_event", "session_id": session_id, "data": f'{{"n":{number}}}'})
        for number in range(limits.AUTH_QUEUE_MAX)
    ]
    behind = b"".join(encode_frame(TEXT, event.encode()) for event in events)
    # All of it in one packet, together with the upgrade request.
    async with await RawWs(again_url(user)).connect(behind=auth + behind) as line:
        await line.expect("init")
        async with user.reader(session_id) as reader:
            await reader.until(lambda one: one.last_id == len(events))
            assert [event.json["n"] for event in reader.events] == list(range(len(events)))


async def test_a_second_auth_changes_nothing_and_the_line_lives_on(user: TestUser) -> None:
    async with await user.vm() as vm:
        for token in (vm.token, "forged"):
            await vm.send({"type": "auth", "token": token})
            error = await vm.expect("error")
            assert error["error"]["code"] == "ALREADY_AUTHENTICATED"
            vm.received.clear()
        session_id = await user.session()
        await vm.text(session_id, "still here")
        async with user.reader(session_id) as reader:
            await reader.until_text("still here")


@pytest.mark.parametrize("pieces", [1, 4])
async def test_a_first_message_may_be_large_but_not_huge_whole_or_in_pieces(
    user: TestUser, pieces: int
) -> None:
    vm = await user.schedule()
    for extra, verdict_code in ((0, 0), (1, 1009)):
        auth = json.dumps({"type": "auth", "token": vm["token"], "pad": ""}).encode()
        padding = limits.AUTH_FRAME_BYTES_MAX - len(auth) + extra
        whole = auth.replace(b'"pad": ""', b'"pad": "' + b"x" * padding + b'"')
        size = len(whole) // pieces + 1
        parts = [whole[start : start + size] for start in range(0, len(whole), size)]
        async with await RawWs(again_url(user)).connect() as line:
            for number, part in enumerate(parts):
                opcode = CONTINUATION if number else TEXT
                await line.frame(opcode, part, fin=number == len(parts) - 1)
            if verdict_code:
                assert await line.closed() == verdict_code
            else:
                await line.expect("init")


async def test_a_line_that_is_known_may_send_more_than_a_first_frame(
    user: TestUser, line: RawWs
) -> None:
    session_id = await user.session()
    text = "x" * (2 * limits.AUTH_FRAME_BYTES_MAX)
    await line.event(session_id, text)
    async with user.reader(session_id) as reader:
        await reader.until_text(text)


SECRET = "sk-ant-this-must-never-be-seen-in-clear"


def opened(key: Json, token: str) -> str:
    """The recipe of the field notes, independent of ours."""
    assert key.keys() == {"alg", "iv", "tag", "ciphertext"}
    assert key["alg"] == "aes-256-gcm"
    iv, tag, sealed = (base64.b64decode(key[name]) for name in ("iv", "tag", "ciphertext"))
    box = AESGCM(hashlib.sha256(b"semibot:init:" + token.encode()).digest())
    return box.decrypt(iv, sealed + tag, b"semibot:init:api_keys").decode()


@pytest.mark.proves("000-5.1-init-fields", "000-9-api-keys-encrypted", "000-9-api-keys-shared")
async def test_init_carries_the_users_keys_encrypted_for_this_token(user: TestUser) -> None:
    await user.ok("PUT", f"/users/{user.id}/credentials/anthropic", {"api_key": SECRET})
    body = {"api_key": "sk-two", "base_url": "https://models.example/v1"}
    await user.ok("PUT", f"/users/{user.id}/credentials/openai", body)
    vm = await user.schedule()
    async with await RawWs(again_url(user)).connect() as line:
        data = (await line.authenticate(vm["token"]))["data"]
        assert data["user_id"] == user.id
        assert data["org_id"] == claims_of(vm["token"])["org_id"]
        assert opened(data["api_keys"]["anthropic"], vm["token"]) == SECRET
        assert opened(data["api_keys"]["openai"], vm["token"]) == "sk-two"
        assert data["llm_config"]["providers"] == {
            "openai": {"base_url": "https://models.example/v1"}
        }
        with pytest.raises(InvalidTag):
            opened(data["api_keys"]["anthropic"], (await user.schedule())["token"])


async def test_init_of_a_user_without_keys_has_none_and_no_addition_that_was_not_asked_for(
    user: TestUser,
) -> None:
    vm = await user.schedule(dialect="documented")
    async with await RawWs(again_url(user)).connect() as line:
        init = await line.authenticate(vm["token"])
        assert init["data"].keys() == {"user_id", "org_id", "api_keys"}
        assert init["data"]["api_keys"] == {}


async def test_init_names_the_capabilities_in_force(user: TestUser) -> None:
    vm = await user.schedule()
    async with await RawWs(again_url(user)).connect() as line:
        init = await line.authenticate(vm["token"], "seq", "batch", "telepathy", "seq")
        assert init["data"]["capabilities"] == ["batch", "seq"]
        assert init["data"]["acked"] == {}


@pytest.mark.proves("000-9-api-keys-encrypted")
async def test_no_secret_is_ever_in_clear_on_the_wire_on_disk_or_in_the_logs(
    tmp_path: Path,
) -> None:
    async with ControlProcess(tmp_path / "data", log_level="debug") as process:
        user = await process.user()
        await user.ok("PUT", f"/users/{user.id}/credentials/anthropic", {"api_key": SECRET})
        vm = await user.schedule()
        async with await RawWs(first_url(user, vm["ticket"])).connect() as line:
            init = await line.authenticate(vm["token"])
            assert opened(init["data"]["api_keys"]["anthropic"], vm["token"]) == SECRET
            await user.session()
            await line.expect("start_session")
            wire = b"".join(frame.payload for frame in line.frames)
        assert await verdict(first_url(user, vm["ticket"]), vm["token"]) == 4001
        listed = await user.ok("GET", f"/users/{user.id}/credentials")
        assert SECRET not in json.dumps(listed)
    assert SECRET.encode() not in wire
    secrets = [SECRET, vm["token"], vm["ticket"], user.token, ADMIN]
    files = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
    assert {"trunkline.db", "log.db"} <= {file.name for file in files}
    for file in files:
        content = file.read_bytes()
        for secret in secrets:
            assert secret.encode() not in content, (file.name, secret[:10])
            assert base64.b64encode(secret.encode())[:-4] not in content, file.name
    assert "line is live" in process.log
    for secret in secrets:
        assert secret not in process.log
