"""A line that lives longer than the token that opened it: the machine has the next one in time."""

from typing import Any

import jwt
import pytest

from tests.support.clock import FakeClock
from tests.support.control import Control, LocalControl, TestUser
from tests.support.vm import ScriptedVm
from trunkline import limits

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


HALF_S = limits.VM_TOKEN_LIFE_S / 2


async def swept(control: LocalControl, user: TestUser, vm: ScriptedVm) -> None:
    """A sweep has been made since the call, and the VM has what was sent to it."""
    control.sweep()
    session = await user.session()
    await vm.expect("start_session", lambda one: one["data"]["session_id"] == session)


async def next_token(vm: ScriptedVm, number: int) -> dict[str, Any]:
    await vm.expect("token", lambda _one: len(vm.of_type("token")) >= number)
    return dict(vm.of_type("token")[number - 1]["data"])


async def shown(user: TestUser, token: str) -> int | None:
    """The close code of a line with this token; None if it is let in."""
    vm = await ScriptedVm(user.ws_url, user.id, token).connect()
    await vm.send({"type": "auth", "token": token, "capabilities": ["seq"]})
    try:
        await vm.expect("init")
    except AssertionError:
        return vm.close_code
    finally:
        await vm.leave()
    return None


@pytest.mark.parametrize("capability", ["seq", "batch"])
async def test_a_machine_gets_its_next_token_in_the_middle_of_the_life_of_this_one(
    control: LocalControl, clock: FakeClock, capability: str
) -> None:
    user = await control.user()
    async with await user.vm(capability) as vm:
        clock.advance(HALF_S - 60)
        await swept(control, user, vm)
        assert vm.of_type("token") == []
        clock.advance(61)
        renewed = await next_token(vm, 1)
        assert renewed["expires_at"] // 1000 == clock() // 1000 + limits.VM_TOKEN_LIFE_S
        old, new = (
            jwt.decode(one, options={"verify_signature": False})
            for one in (vm.token, renewed["token"])
        )
        changed = {name for name in old if old[name] != new[name]}
        assert changed == {"iat", "exp"}
        assert new["exp"] * 1000 == renewed["expires_at"]


async def test_each_token_is_renewed_once_for_as_long_as_the_line_lives(
    control: LocalControl, clock: FakeClock
) -> None:
    user = await control.user()
    async with await user.vm("seq") as vm:
        for number in (1, 2, 3):
            clock.advance(HALF_S + 1)
            await next_token(vm, number)
            await swept(control, user, vm)
            assert len(vm.of_type("token")) == number


async def test_the_new_token_opens_a_line_when_the_first_one_does_not_any_more(
    control: Control, clock: FakeClock
) -> None:
    user = await control.user()
    vm = await user.vm("seq")
    clock.advance(HALF_S + 1)
    renewed = await next_token(vm, 1)
    assert await shown(user, vm.token) is None  # a line that lives is no reason to lose the old one
    clock.advance(HALF_S)
    assert await shown(user, vm.token) == 4001
    assert await shown(user, renewed["token"]) is None
    await vm.leave()


async def test_a_machine_without_capabilities_is_told_only_what_the_document_knows(
    control: LocalControl, clock: FakeClock
) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        clock.advance(2 * limits.VM_TOKEN_LIFE_S)
        await swept(control, user, vm)
        assert vm.of_type("token") == []


async def test_many_lines_are_served_little_by_little_and_all(
    control: Control, clock: FakeClock
) -> None:
    count = limits.VM_TOKENS_RENEWED_PER_S + 1
    owners = [await control.user() for _ in range(2)]  # one may not have so many
    vms = [await owners[number % 2].vm("seq") for number in range(count)]
    clock.advance(HALF_S + 1)
    tokens = [(await next_token(vm, 1))["token"] for vm in vms]
    assert len(set(tokens)) == count
    for vm in vms:
        await vm.leave()
