"""A line that lives longer than the token that opened it: the machine has the next one in time."""

from typing import Any

import jwt
import pytest

from tests.support.clock import FakeClock
from tests.support.control import Control, TestUser
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.control.edges.semibot.host import VmHost

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


HALF_S = limits.VM_TOKEN_LIFE_S / 2


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows with every sweep of the control plane."""
    seen: list[None] = []
    sweep = VmHost.sweep

    def counted(host: VmHost) -> None:
        sweep(host)
        seen.append(None)

    monkeypatch.setattr(VmHost, "sweep", counted)
    return seen


async def swept(sweeps: list[None], user: TestUser, vm: ScriptedVm) -> None:
    """A whole sweep has been made since the call, and the VM has what was sent to it."""
    before = len(sweeps)

    async def count() -> int:
        return len(sweeps)

    await eventually(count, lambda now: now > before)
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
    control: Control, clock: FakeClock, sweeps: list[None], capability: str
) -> None:
    user = await control.user()
    async with await user.vm(capability) as vm:
        clock.advance(HALF_S - 60)
        await swept(sweeps, user, vm)
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
    control: Control, clock: FakeClock, sweeps: list[None]
) -> None:
    user = await control.user()
    async with await user.vm("seq") as vm:
        for number in (1, 2, 3):
            clock.advance(HALF_S + 1)
            await next_token(vm, number)
            await swept(sweeps, user, vm)
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
    control: Control, clock: FakeClock, sweeps: list[None]
) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        clock.advance(2 * limits.VM_TOKEN_LIFE_S)
        await swept(sweeps, user, vm)
        assert vm.of_type("token") == []


async def test_many_lines_are_served_little_by_little_and_all(
    control: Control, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "VM_TOKENS_RENEWED_PER_S", 1)
    user = await control.user()
    vms = [await user.vm("seq") for _ in range(3)]
    clock.advance(HALF_S + 1)
    tokens = [(await next_token(vm, 1))["token"] for vm in vms]
    assert len(set(tokens)) == 3
    for vm in vms:
        await vm.leave()
