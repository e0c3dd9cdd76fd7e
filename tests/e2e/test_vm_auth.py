"""How a VM gets in, stays in and is put out: tickets, tokens, silence, floods (000 §8, §9)."""

import asyncio
import base64
import hashlib
import hmac
import json
import sqlite3
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import jwt
import pytest
import pytest_asyncio
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from tests.support.control import ADMIN, Control, ControlProcess, TestUser, running
from tests.support.raw_ws import PING, TEXT, RawWs, encode_frame, raw_line
from trunkline import limits
from trunkline.control import server
from trunkline.control.records.credentials import Credentials, Revealed

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("control") / "data"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(data: Path) -> AsyncIterator[Control]:
    async with running(data, rate_limit_per_minute=0) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def user(control: Control) -> TestUser:
    return await control.user()


@pytest.fixture
def signing_key(control: Control, data: Path) -> RSAPrivateKey:
    """The control plane's own key: what a forger does not have."""
    key = load_pem_private_key((data / "keys" / "signing.pem").read_bytes(), password=None)
    assert isinstance(key, RSAPrivateKey)
    return key


def claims_of(token: str) -> Json:
    claims: Json = jwt.decode(token, options={"verify_signature": False})
    return claims


def first_url(user: TestUser, ticket: str) -> str:
    return f"{user.ws_url}?user_id={user.id}&ticket={ticket}"


def again_url(user: TestUser) -> str:
    return f"{user.ws_url}?user_id={user.id}"


async def verdict(url: str, token: str) -> int:
    """The close code for that token at that URL; 0 when it is let in."""
    async with await RawWs(url).connect() as line:
        await line.send({"type": "auth", "token": token})
        await line.until(lambda: bool(line.messages) or line.ended, "verdict")
        return await line.closed() if line.ended else 0


# --- Tickets -------------------------------------------------------------------------------------


@pytest.mark.proves(
    "000-1-first-connection-address",
    "000-1-reconnection-address",
    "000-9-ticket-once",
    "000-9-reconnection-by-token-alone",
)
async def test_a_ticket_lets_a_new_vm_in_once_and_a_reconnect_needs_none(user: TestUser) -> None:
    vm = await user.schedule()
    assert await verdict(first_url(user, vm["ticket"]), vm["token"]) == 0
    assert await verdict(first_url(user, vm["ticket"]), vm["token"]) == 4001
    assert await verdict(again_url(user), vm["token"]) == 0


@pytest.mark.proves("000-9-ticket-once")
async def test_of_a_hundred_connections_with_one_ticket_one_gets_in(user: TestUser) -> None:
    vm = await user.schedule()
    url = first_url(user, vm["ticket"])
    lines = [RawWs(url) for _ in range(100)]
    await asyncio.gather(*(line.connect() for line in lines))
    await asyncio.gather(*(line.send({"type": "auth", "token": vm["token"]}) for line in lines))
    for line in lines:
        await line.until(lambda line=line: bool(line.frames) or line.ended, "verdict")  # type: ignore[misc]
    winners = [line for line in lines if line.messages]
    losers = [line for line in lines if not line.messages]
    assert len(winners) == 1
    assert {await line.closed() for line in losers} == {4001}
    session_id = await user.session()
    await winners[0].expect("start_session", lambda one: one["data"]["session_id"] == session_id)
    for line in lines:
        await line.__aexit__(None, None, None)


@pytest.mark.proves("000-9-ticket-30s", "000-1-token-alone-suffices")
async def test_a_ticket_lives_thirty_seconds(user: TestUser, data: Path) -> None:
    asked_at = time.time()
    vm = await user.schedule()
    assert asked_at + 29.9 < vm["expires_at"] / 1000 < time.time() + 30.1
    hashed = hashlib.sha256(vm["ticket"].encode()).hexdigest()
    with sqlite3.connect(data / "trunkline.db") as database:
        aged = database.execute(
            "update tickets set expires_at = expires_at - 30100 where hash = ?", [hashed]
        )
        assert aged.rowcount == 1
    database.close()
    assert await verdict(first_url(user, vm["ticket"]), vm["token"]) == 4001
    assert await verdict(again_url(user), vm["token"]) == 0


@pytest.mark.proves("000-9-ticket-issued-at-scheduling")
async def test_a_ticket_is_bound_to_its_user(control: Control, user: TestUser) -> None:
    other = await control.user("eve")
    mine, theirs = await user.schedule(), await other.schedule()
    assert await verdict(first_url(other, mine["ticket"]), theirs["token"]) == 4001
    assert await verdict(first_url(user, mine["ticket"]), mine["token"]) == 0


@pytest.mark.parametrize("ticket", ["wrong", "", "%00", "x" * 5000, "%F0%9F%98%80"])
async def test_a_ticket_that_was_never_issued_is_refused(user: TestUser, ticket: str) -> None:
    vm = await user.schedule()
    assert await verdict(first_url(user, ticket), vm["token"]) == 4001


@pytest.mark.proves("000-1-ticket-authenticates-nobody")
async def test_a_refused_token_does_not_use_the_ticket_up(user: TestUser) -> None:
    vm = await user.schedule()
    assert await verdict(first_url(user, vm["ticket"]), "forged") == 4001
    assert await verdict(first_url(user, vm["ticket"]), vm["token"]) == 0


# --- Tokens --------------------------------------------------------------------------------------


@pytest.mark.proves("000-9-token-issued-at-scheduling", "000-9-token-signed-rs256")
async def test_a_token_has_both_spellings_and_lives_twelve_hours(
    user: TestUser, signing_key: RSAPrivateKey
) -> None:
    vm = await user.schedule()
    assert jwt.get_unverified_header(vm["token"])["alg"] == "RS256"
    claims = jwt.decode(
        vm["token"], signing_key.public_key(), algorithms=["RS256"], audience="trunkline:vm"
    )
    assert claims["user_id"] == claims["userId"] == user.id
    assert claims["org_id"] == claims["orgId"]
    assert claims["vm_id"] == vm["vm_id"]
    assert claims["exp"] - claims["iat"] == 12 * 3600


async def test_the_private_keys_are_readable_by_their_owner_only(
    control: Control, data: Path
) -> None:
    files = list((data / "keys").iterdir())
    assert {file.name for file in files} == {"signing.pem", "sealing.key"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((data / "keys").stat().st_mode) == 0o700


def by_hand(header: Json, claims: Json, secret: bytes | None) -> str:
    """A token that a library would refuse to make."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    signed = f"{part(json.dumps(header).encode())}.{part(json.dumps(claims).encode())}"
    signature = b"" if secret is None else hmac.digest(secret, signed.encode(), "sha256")
    return f"{signed}.{part(signature)}"


def public_pem(key: RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.proves("000-9-token-is-checked", "000-8-close-4001")
async def test_forged_tokens_are_refused_with_4001(
    user: TestUser, signing_key: RSAPrivateKey
) -> None:
    vm = await user.schedule()
    good = vm["token"]
    claims = claims_of(good)
    stranger = generate_private_key(public_exponent=65537, key_size=2048)
    pem = public_pem(signing_key)
    der = signing_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    head, body, signature = good.split(".")
    embedded = {"kty": "oct", "k": base64.urlsafe_b64encode(b"secret").decode()}
    forged = {
        "empty": "",
        "no token": "not a token",
        "an admin's bearer token": ADMIN,
        "the user's bearer token": user.token,
        "another key": jwt.encode(claims, stranger, algorithm="RS256"),
        "another RSA scheme": jwt.encode(claims, signing_key, algorithm="PS256"),
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "signature of another token": f"{head}.{body[:-2]}xx.{signature}",
        "alg none": by_hand({"alg": "none", "typ": "JWT"}, claims, None),
        "alg None": by_hand({"alg": "None", "typ": "JWT"}, claims, None),
        "alg missing": by_hand({"typ": "JWT"}, claims, None),
        "public key as secret": by_hand({"alg": "HS256", "typ": "JWT"}, claims, pem),
        "public key as secret, stripped": by_hand({"alg": "HS256"}, claims, pem.strip()),
        "public key as secret, DER": by_hand({"alg": "HS256"}, claims, der),
        "key in the header": by_hand({"alg": "HS256", "jwk": embedded}, claims, b"secret"),
        "key file in the header": by_hand({"alg": "HS256", "kid": "/dev/null"}, claims, b""),
    }
    for name, token in forged.items():
        assert await verdict(again_url(user), token) == 4001, name
    assert await verdict(again_url(user), good) == 0


@pytest.mark.proves("000-9-token-is-checked")
async def test_tokens_of_our_own_key_with_wrong_claims_are_refused_with_4001(
    user: TestUser, signing_key: RSAPrivateKey
) -> None:
    claims = claims_of((await user.schedule())["token"])
    now = int(time.time())
    changed: dict[str, Json] = {
        "expired": {"iat": now - 50_000, "exp": now - 1},
        "not valid yet": {"nbf": now + 3600},
        "another issuer": {"iss": "elsewhere"},
        "another audience": {"aud": "trunkline:web"},
        "expiry is text": {"exp": "tomorrow"},
        "user is a number": {"user_id": 1},
        "vm is a list": {"vm_id": ["a"]},
        **{f"no {name}": {name: None} for name in ("exp", "iat", "iss", "aud")},
        **{f"no {name}": {name: None} for name in ("user_id", "org_id", "vm_id")},
    }
    for name, change in changed.items():
        wrong = {key: value for key, value in (claims | change).items() if value is not None}
        token = jwt.encode(wrong, signing_key, algorithm="RS256")
        assert await verdict(again_url(user), token) == 4001, name


@pytest.mark.proves("000-1-token-must-be-the-users")
async def test_another_users_token_is_refused_with_4001(control: Control, user: TestUser) -> None:
    other = await control.user("eve")
    theirs = await other.schedule()
    await user.schedule()
    assert await verdict(again_url(user), theirs["token"]) == 4001


@pytest.mark.proves("000-8-close-4004")
async def test_an_unknown_user_is_refused_with_4004(control: Control, user: TestUser) -> None:
    token = (await user.schedule())["token"]
    for name in (str(uuid4()), "nobody", "..%2f..%2fetc%2fpasswd", "%00", "x" * 3000, "' or 1=1--"):
        url = f"{user.ws_url}?user_id={name.replace(' ', '%20')}"
        assert await verdict(url, token) == 4004, name


@pytest.mark.proves("000-8-close-4004")
async def test_a_user_who_was_removed_is_refused_with_4004(control: Control) -> None:
    gone = await control.user("gone")
    token = (await gone.schedule())["token"]
    await control.ok("DELETE", f"/users/{gone.id}")
    assert await verdict(again_url(gone), token) == 4004


async def test_a_forged_token_does_not_tell_which_users_exist(user: TestUser) -> None:
    for name in (user.id, str(uuid4())):
        assert await verdict(f"{user.ws_url}?user_id={name}", "forged") == 4001


@pytest.mark.proves("000-1-active-vm-required")
async def test_a_terminated_vm_is_put_out_and_kept_out_with_4003(user: TestUser) -> None:
    vm = await user.vm()
    machine = claims_of(vm.token)["vm_id"]
    await user.ok("DELETE", f"/machines/{machine}")
    assert await vm.closed() == 4003
    await vm.leave()
    assert await verdict(again_url(user), vm.token) == 4003
    assert (await user.ok("GET", f"/machines/{machine}"))["state"] == "terminated"


async def test_a_vm_terminated_while_it_is_let_in_is_refused_and_stays_terminated(
    user: TestUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()
    reveal = Credentials.reveal

    async def slow(self: Credentials, user_id: str) -> list[Revealed]:
        reached.set()
        await go_on.wait()
        return await reveal(self, user_id)

    monkeypatch.setattr(Credentials, "reveal", slow)
    vm = await user.schedule()
    deciding = asyncio.create_task(verdict(again_url(user), vm["token"]))
    await reached.wait()
    await user.ok("DELETE", f"/machines/{vm['vm_id']}")
    go_on.set()
    assert await deciding == 4003
    machine = await user.ok("GET", f"/machines/{vm['vm_id']}")
    assert (machine["state"], machine["online"]) == ("terminated", False)


async def test_a_fault_of_the_control_plane_closes_with_4500(
    user: TestUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Credentials, user_id: str) -> list[Revealed]:
        raise OSError("the disk is on fire")

    vm = await user.schedule()
    with monkeypatch.context() as patch:
        patch.setattr(Credentials, "reveal", broken)
        assert await verdict(again_url(user), vm["token"]) == 4500
    assert await verdict(again_url(user), vm["token"]) == 0


async def test_lines_are_closed_with_1001_when_the_control_plane_goes_down(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as leaving:
        user = await leaving.user()
        vm = await user.vm()
        waiting = await RawWs(again_url(user)).connect()
    assert await vm.closed() == 1001
    assert await waiting.closed() == 1001
    await vm.leave()


async def test_a_vm_that_did_not_come_in_time_has_failed_and_is_kept_out_with_4003(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", vm_connect_timeout_s=0.01) as late:
        user = await late.user()
        vm = await user.schedule()
        async with asyncio.timeout(10):
            while (await user.ok("GET", f"/machines/{vm['vm_id']}"))["state"] != "failed":
                pass
        assert await verdict(first_url(user, vm["ticket"]), vm["token"]) == 4003


async def test_another_users_vm_and_one_that_never_was_are_refused_with_4003(
    control: Control, user: TestUser, signing_key: RSAPrivateKey
) -> None:
    claims = claims_of((await user.schedule())["token"])
    theirs = await (await control.user("eve")).schedule()
    for vm_id in (theirs["vm_id"], str(uuid4()), "../" * 10):
        token = jwt.encode(claims | {"vm_id": vm_id}, signing_key, algorithm="RS256")
        assert await verdict(again_url(user), token) == 4003


# --- The first frame -----------------------------------------------------------------------------


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
    user: TestUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AUTH_TIMEOUT_S", 0.1)
    async with await RawWs(again_url(user)).connect() as line:
        while not line.ended:
            seen = len(line.frames)
            await line.frame(PING, b"wait")
            await line.until(lambda seen=seen: len(line.frames) > seen or line.ended, "pong")  # type: ignore[misc]
        assert await line.closed() == 4001


async def test_a_line_that_was_let_in_outlives_the_time_for_auth(
    user: TestUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AUTH_TIMEOUT_S", 0.5)
    async with await RawWs(again_url(user)).connect() as silent, await raw_line(user) as line:
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


async def test_too_much_behind_auth_is_refused_with_4001(user: TestUser) -> None:
    vm = await user.schedule()
    auth = encode_frame(TEXT, json.dumps({"type": "auth", "token": vm["token"]}).encode())
    beats = encode_frame(TEXT, b'{"type": "heartbeat"}') * (limits.AUTH_QUEUE_MAX + 1)
    async with await RawWs(again_url(user)).connect() as line:
        await line.raw(auth + beats)
        assert await line.closed() == 4001
        assert line.messages == []


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


# --- init ----------------------------------------------------------------------------------------

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
    vm = await user.schedule()
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
    process = ControlProcess(tmp_path / "data", TRUNKLINE_LOG_LEVEL="debug")
    await process.start()
    try:
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
    finally:
        await process.terminate()
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


# --- Two lines of one VM -------------------------------------------------------------------------


async def test_a_newer_line_replaces_the_older_and_nothing_of_the_old_one_is_delivered_late(
    user: TestUser,
) -> None:
    vm = await user.schedule()
    old = await RawWs(first_url(user, vm["ticket"])).connect()
    new = await RawWs(again_url(user)).connect()
    async with old, new:
        await old.authenticate(vm["token"])
        session_id = await user.session()
        await old.expect("start_session")
        await old.event(session_id, "from the old line")
        async with user.reader(session_id) as reader:
            await reader.until_text("from the old line")
            old.stop_reading()  # it has not heard of its end
            await new.authenticate(vm["token"])
            await old.event(session_id, "too late")
            await old.send({"type": "heartbeat", "active_sessions": []})
            await new.event(session_id, "from the new line")
            await reader.until_text("from the new line")
            await user.say(session_id, "to whom?")
            told = await new.expect("user_message")
            assert told["data"]["message"] == "to whom?"
            await new.event(session_id, "last")
            await reader.until_text("last")
            assert reader.texts() == ["from the old line", "from the new line", "last"]
            statuses = [one for one in reader.events if "session_status" in one.data]
            assert statuses == []  # the machine was online all the time
        old.go_on_reading()
        assert await old.closed() == 1008
        assert [one["type"] for one in old.messages] == ["init", "start_session"]


async def test_of_many_lines_of_one_vm_at_once_one_stays(user: TestUser) -> None:
    vm = await user.schedule()
    session_id = await user.session(machine_id=vm["vm_id"])
    lines = [RawWs(again_url(user)) for _ in range(20)]
    await asyncio.gather(*(line.connect() for line in lines))
    await asyncio.gather(*(line.authenticate(vm["token"]) for line in lines))
    await user.say(session_id, "who is left?")

    def told() -> list[RawWs]:
        return [
            line for line in lines if any(one["type"] == "user_message" for one in line.messages)
        ]

    for line in lines:
        await line.until(lambda line=line: line.ended or line in told(), "its fate")  # type: ignore[misc]
    assert len(told()) == 1
    assert {await line.closed() for line in lines if line not in told()} == {1008}
    await told()[0].__aexit__(None, None, None)


# --- Silence -------------------------------------------------------------------------------------


@pytest.mark.proves("000-8-close-4008")
async def test_a_silent_line_is_closed_with_4008_and_its_readers_are_told_while_pings_keep_one_up(
    user: TestUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SWEEP_EVERY_S", 0.02)
    async with await raw_line(user) as silent, await raw_line(user) as pinging:
        session_id = await user.session()  # on the newest machine, which is the pinging one
        machines = await user.ok("GET", "/machines")
        quiet_id = min(machine["id"] for machine in machines["items"])
        quiet = await user.session(machine_id=quiet_id)
        async with user.reader(quiet) as reader:
            monkeypatch.setattr(limits, "HEARTBEAT_SILENCE_S", 1.0)
            number = 0
            while not silent.ended:
                await pinging.frame(PING, str(number).encode())
                await pinging.pong(str(number).encode())
                number += 1
            assert await silent.closed() == 4008
            status = await reader.until_type("session_status")
            assert (status["machine"], status["machine_id"]) == ("offline", quiet_id)
        monkeypatch.undo()
        await pinging.event(session_id, "alive")
        async with user.reader(session_id) as reader:
            await reader.until_text("alive")
        online = {one["id"]: one["online"] for one in (await user.ok("GET", "/machines"))["items"]}
        assert online == {quiet_id: False, max(online): True}


async def test_readers_are_told_when_the_machine_comes_back(user: TestUser) -> None:
    vm = await user.vm()
    session_id = await user.session()
    async with user.reader(session_id) as reader:
        await vm.drop()
        await reader.until(lambda one: len(one.events) == 1)
        async with user.again(vm):
            await reader.until(lambda one: len(one.events) == 2)
            assert [one.json["machine"] for one in reader.events] == ["offline", "online"]


# --- Floods --------------------------------------------------------------------------------------

BEAT = encode_frame(TEXT, b'{"type": "heartbeat", "active_sessions": []}')


@pytest.mark.proves("000-9-rate-1000-a-minute", "000-8-close-4029")
async def test_the_thousand_and_first_message_in_a_minute_is_closed_with_4029(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as limited:
        user = await limited.user()
        async with await raw_line(user) as line, await raw_line(user) as other:
            await line.raw(BEAT * 999)  # `auth` was the first
            await line.frame(PING, b"full")
            await line.pong(b"full")
            await line.raw(BEAT)
            assert await line.closed() == 4029
            await other.frame(PING, b"each line has its own count")
            await other.pong(b"each line has its own count")


async def test_a_batch_counts_as_one_message(tmp_path: Path) -> None:
    async with running(tmp_path / "data", rate_limit_per_minute=5) as limited:
        user = await limited.user()
        async with await raw_line(user, "batch") as line:
            session_id = await user.session()
            event = {"session_id": session_id, "data": '{"type":"text_chunk","content":"x"}'}
            for _ in range(3):
                await line.send({"type": "batch", "events": [event] * 500})
            await line.event(session_id, "the fifth message")
            async with user.reader(session_id, last_event_id=1500) as reader:
                await reader.until_text("the fifth message")
            await line.send({"type": "heartbeat"})
            assert await line.closed() == 4029


async def test_a_rate_limit_of_zero_is_none(user: TestUser) -> None:
    async with await raw_line(user) as line:
        session_id = await user.session()
        await line.raw(BEAT * 3000)
        await line.event(session_id, "after the flood")
        async with user.reader(session_id) as reader:
            await reader.until_text("after the flood")


async def test_a_batch_needs_the_capability_and_has_a_bound(
    user: TestUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BATCH_EVENTS_MAX", 10)
    async with await raw_line(user) as plain, await raw_line(user, "batch") as batching:
        session_id = await user.session()
        event = {"session_id": session_id, "data": "{}"}
        await plain.send({"type": "batch", "events": [event]})
        assert (await plain.expect("error"))["error"]["code"] == "CAPABILITY_MISSING"
        await batching.send({"type": "batch", "events": [event] * 11})
        assert (await batching.expect("error"))["error"]["code"] == "TOO_LARGE"
        await batching.send({"type": "batch", "events": [event] * 10})
        await batching.event(session_id, "last")
        async with user.reader(session_id) as reader:
            await reader.until_text("last")
            assert reader.last_id == 11
