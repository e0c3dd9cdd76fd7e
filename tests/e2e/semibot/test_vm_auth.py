"""How a VM gets in: one-time tickets and signed tokens, and every way to forge them (000 §9)."""

import asyncio
import base64
import hashlib
import hmac
import json
import sqlite3
import stat
import time
from functools import partial
from pathlib import Path
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from tests.support.admission import Json, again_url, claims_of, first_url, verdict
from tests.support.control import ADMIN, Control, LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.raw_ws import RawWs
from trunkline import limits

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest.fixture
def signing_key(control: Control, data: Path) -> RSAPrivateKey:
    """The control plane's own key: what a forger does not have."""
    key = load_pem_private_key((data / "keys" / "signing.pem").read_bytes(), password=None)
    assert isinstance(key, RSAPrivateKey)
    return key


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


@pytest.mark.parametrize("ticket", ["wrong", "%20", "%00", "x" * 5000, "%F0%9F%98%80"])
async def test_a_ticket_that_was_never_issued_is_refused(user: TestUser, ticket: str) -> None:
    vm = await user.schedule()
    assert await verdict(first_url(user, ticket), vm["token"]) == 4001


@pytest.mark.proves("000-1-ticket-authenticates-nobody")
async def test_a_refused_token_does_not_use_the_ticket_up(user: TestUser) -> None:
    vm = await user.schedule()
    assert await verdict(first_url(user, vm["ticket"]), "forged") == 4001
    assert await verdict(first_url(user, vm["ticket"]), vm["token"]) == 0


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
    assert {file.name for file in files} == {"signing.pem", "sealing.key", "vapid.pem"}
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
        "too long": {"padding": "x" * limits.VM_TOKEN_CHARS_MAX},
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
    control: LocalControl, user: TestUser
) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        reached.set()
        await go_on.wait()

    vm = await user.schedule()
    with control.records.before("credentials", slow):
        deciding = asyncio.create_task(verdict(again_url(user), vm["token"]))
        await reached.wait()
        await user.ok("DELETE", f"/machines/{vm['vm_id']}")
        go_on.set()
        assert await deciding == 4003
    machine = await user.ok("GET", f"/machines/{vm['vm_id']}")
    assert (machine["state"], machine["online"]) == ("terminated", False)


async def test_a_vm_that_did_not_come_in_time_is_let_in_with_its_token_all_the_same(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", vm_connect_timeout_s=0.01) as late:
        user = await late.user()
        vms = [await user.schedule() for _ in range(3)]

        async def state(vm: Json) -> str:
            return str((await user.ok("GET", f"/machines/{vm['vm_id']}"))["state"])

        for vm in vms:
            await eventually(partial(state, vm), lambda seen: seen == "failed")
        come, revoked, ended = vms
        # One whose token was revoked, or that was given up, does not come late: it does not come.
        await user.ok("POST", f"/machines/{revoked['vm_id']}/revoke-token")
        await user.ok("DELETE", f"/machines/{ended['vm_id']}")
        assert await verdict(again_url(user), revoked["token"]) == 4001
        assert await verdict(again_url(user), ended["token"]) == 4003
        assert [await state(vm) for vm in vms] == ["failed", "failed", "terminated"]
        # Its place may be another's by now.
        others = [await user.schedule(connect_within_s=3600) for _ in range(20)]
        assert await verdict(again_url(user), come["token"]) == 4003
        await user.ok("DELETE", f"/machines/{others[0]['vm_id']}")
        assert await verdict(first_url(user, come["ticket"]), come["token"]) == 0


async def test_another_users_vm_and_one_that_never_was_are_refused_with_4003(
    control: Control, user: TestUser, signing_key: RSAPrivateKey
) -> None:
    claims = claims_of((await user.schedule())["token"])
    theirs = await (await control.user("eve")).schedule()
    for vm_id in (theirs["vm_id"], str(uuid4()), "../" * 10):
        token = jwt.encode(claims | {"vm_id": vm_id}, signing_key, algorithm="RS256")
        assert await verdict(again_url(user), token) == 4003
