"""How a machine joins by a code: once, in time, and with nothing that somebody else could use."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.admission import again_url, claims_of, first_url, verdict
from tests.support.clock import FakeClock
from tests.support.control import LocalControl, TestUser, running
from trunkline import limits
from trunkline.control.clock import now_ms
from trunkline.control.errors import InvalidRequest

Json = dict[str, Any]

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]
REFUSED = (401, "JOIN_CODE_REFUSED", "this join code is not known, or was used already")
LIFE_S = limits.JOIN_CODE_LIFE_S


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock(now_ms())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def joinable(
    tmp_path_factory: pytest.TempPathFactory, clock: FakeClock
) -> AsyncIterator[LocalControl]:
    folder: Path = tmp_path_factory.mktemp("joining")
    async with running(folder / "data", clock=clock) as control:
        yield control


@pytest_asyncio.fixture(loop_scope="module")
async def owner(joinable: LocalControl, clock: FakeClock) -> AsyncIterator[TestUser]:
    """A user of the test's own; whoever failed before is forgotten."""
    clock.advance(3600)
    yield await joinable.user()


async def made(user: TestUser, **fields: Any) -> Json:
    answer: Json = await user.ok("POST", f"/users/{user.id}/join-codes", fields)
    return answer


async def join(control: LocalControl, code: Any, **fields: Any) -> tuple[int, Any]:
    return await control.call("POST", "/join", {"code": code, **fields}, token=None)


def refusal(answer: tuple[int, Any]) -> tuple[int, str, str]:
    status, body = answer
    return status, body["error"]["code"], body["error"]["message"]


async def test_a_code_becomes_a_machine_that_connects_with_its_own_token(
    joinable: LocalControl, owner: TestUser
) -> None:
    code = await made(owner)
    machine = f"/machines/{code['machine_id']}"
    assert (await owner.ok("GET", machine))["state"] == "pending"
    assert f"--join {code['code']} --url {joinable.url}" in code["command"]
    assert code["command_without_install"].endswith(code["command"])
    typed = code["code"].lower().replace("-", " ").replace("0", "o").replace("1", "l")
    status, got = await join(joinable, typed, name="laptop")
    assert status == 201
    assert (got["user_id"], got["machine_id"]) == (owner.id, code["machine_id"])
    assert claims_of(got["token"])["vm_id"] == code["machine_id"]
    assert await verdict(first_url(owner, got["ticket"]), got["token"]) == 0
    assert await verdict(again_url(owner), got["token"]) == 0
    assert (await owner.ok("GET", machine))["name"] == "laptop"
    entries = (await joinable.ok("GET", "/audit?limit=20"))["items"]
    assert {"machine.code_made", "machine.joined"} <= {one["event"] for one in entries}
    plain = code["code"].replace("-", "")
    shown = str(entries).replace("-", "")
    assert not any(secret in shown for secret in (plain, got["token"], got["secret"]))


async def test_a_code_works_once_also_for_many_at_the_same_moment(
    joinable: LocalControl, owner: TestUser
) -> None:
    code = (await made(owner, name="desk"))["code"]
    answers = await asyncio.gather(*(join(joinable, code) for _ in range(4)))
    assert sorted(status for status, _ in answers) == [201, 401, 401, 401]
    assert {refusal(one) for one in answers if one[0] != 201} == {REFUSED}
    assert refusal(await join(joinable, code)) == REFUSED


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"code": "0000-0000-0000"}, 401),
        ({"code": "' OR 1=1 --"}, 401),
        ({"code": "é☃\x1b"}, 401),
        ({"code": "x" * 65}, 400),
        ({"code": ""}, 400),
        ({"code": None}, 400),
        ({"code": ["A"]}, 400),
        ({}, 400),
        ({"code": "A", "name": "n" * 201}, 400),
        ({"code": "A", "machine_id": "mine"}, 400),
    ],
)
async def test_what_is_no_code_is_refused(
    joinable: LocalControl, owner: TestUser, sent: Json, status: int
) -> None:
    answer = await joinable.call("POST", "/join", sent, token=None)
    assert answer[0] == status, answer


async def test_the_end_of_a_code_is_told_from_a_wrong_one_and_takes_its_machine_along(
    joinable: LocalControl, owner: TestUser, clock: FakeClock
) -> None:
    new, old = await made(owner, name="new"), await owner.schedule(name="old")
    again = await made(owner, machine_id=old["vm_id"])
    clock.advance(LIFE_S + 1)
    for code in (new, again):
        assert refusal(await join(joinable, code["code"]))[:2] == (410, "JOIN_CODE_EXPIRED")
    await joinable.core.join_codes.tidy()
    gone = await owner.ok("GET", f"/machines/{new['machine_id']}")
    assert (gone["state"], gone["detail"]) == ("terminated", "its join code ended unused")
    assert (await owner.ok("GET", f"/machines/{old['vm_id']}"))["state"] != "terminated"
    clock.advance(24 * 3600)
    await joinable.core.join_codes.tidy()
    assert refusal(await join(joinable, new["code"])) == REFUSED  # nobody remembers it


async def test_whoever_guesses_waits_and_with_them_all_of_their_address(
    joinable: LocalControl, owner: TestUser, clock: FakeClock
) -> None:
    code = (await made(owner))["code"]
    statuses = [(await join(joinable, f"{number:012}"))[0] for number in range(7)]
    assert statuses == [401] * 5 + [429] * 2
    assert (await join(joinable, code))[0] == 429
    clock.advance(10)
    assert (await join(joinable, code))[0] == 201


async def test_a_machine_that_was_shut_out_is_told_why_and_holds_up_nobody_beside_it(
    joinable: LocalControl, owner: TestUser
) -> None:
    """It shows its secret every minute, for ever; others at its address join meanwhile."""
    code = (await made(owner))["code"]
    renewing = {"secret": "nd_revoked"}
    for _ in range(7):
        refused = await joinable.call("POST", "/join/renew", renewing, token=None)
        assert refusal(refused)[:2] == (401, "UNAUTHORIZED")
    assert (await join(joinable, code))[0] == 201


async def test_a_machine_that_was_away_for_long_fetches_a_token_until_it_is_not_wanted(
    joinable: LocalControl, owner: TestUser, clock: FakeClock
) -> None:
    code = await made(owner)
    _, got = await join(joinable, code["code"])
    clock.advance(limits.VM_TOKEN_LIFE_S + 1)
    assert await verdict(again_url(owner), got["token"]) == 4001

    async def renewed() -> tuple[int, Any]:
        return await joinable.call("POST", "/join/renew", {"secret": got["secret"]}, token=None)

    status, fresh = await renewed()
    assert (status, fresh["machine_id"]) == (201, code["machine_id"])
    assert await verdict(again_url(owner), fresh["token"]) == 0
    await owner.ok("POST", f"/machines/{code['machine_id']}/revoke-token")
    assert refusal(await renewed())[:2] == (401, "UNAUTHORIZED")
    assert await verdict(again_url(owner), fresh["token"]) == 4001
    # Let in again, it is the same machine, with another secret.
    _, again = await join(joinable, (await made(owner, machine_id=code["machine_id"]))["code"])
    assert again["machine_id"] == code["machine_id"]
    assert await verdict(again_url(owner), again["token"]) == 0
    assert (await renewed())[0] == 401
    got["secret"] = again["secret"]
    assert (await renewed())[0] == 201
    await owner.ok("DELETE", f"/machines/{code['machine_id']}")
    assert (await renewed())[0] == 401


async def test_a_code_is_for_ones_own_machines_and_there_are_not_many(
    joinable: LocalControl, owner: TestUser
) -> None:
    stranger = await joinable.user("eve")
    path = f"/users/{owner.id}/join-codes"
    assert (await stranger.call("POST", path))[0] == 404
    mine = (await owner.schedule())["vm_id"]
    hers = f"/users/{stranger.id}/join-codes"
    assert (await stranger.call("POST", hers, {"machine_id": mine}))[0] == 404
    device = await owner.ok("POST", f"/users/{owner.id}/devices", {"guid": f"phone-{owner.id}"})
    assert (await owner.call("POST", path, {"machine_id": device["machine_id"]}))[0] == 400
    first, second = [await made(owner, machine_id=mine) for _ in range(2)]
    assert refusal(await join(joinable, first["code"])) == REFUSED  # the newest counts
    await owner.ok("DELETE", f"/machines/{mine}")
    assert refusal(await join(joinable, second["code"])) == REFUSED
    assert (await owner.call("POST", path, {"machine_id": mine}))[0] == 409
    many = [await owner.call("POST", path) for _ in range(21)]
    made_now = [answer["machine_id"] for status, answer in many if status == 201]
    assert len(made_now) == limits.JOIN_CODES_PER_USER_MAX
    assert many[-1][0] == 429
    await owner.ok("DELETE", f"/machines/{made_now[0]}")  # as the refusal says
    assert (await owner.call("POST", path))[0] == 201


async def test_a_code_that_came_to_nothing_is_as_good_as_it_was(
    joinable: LocalControl, owner: TestUser
) -> None:
    """The process may die at any step, or the database: what was used up is what was given."""
    code = (await made(owner, name="desk"))["code"]
    with pytest.raises(InvalidRequest):
        await joinable.core.join_codes.redeem(code, None, base_url="no address")
    assert (await join(joinable, code))[0] == 201
