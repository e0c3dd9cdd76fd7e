"""Found open: a machine's token that had leaked could only be ended together with the machine."""

from pathlib import Path

import pytest

from tests.support.agp import ScriptedDevice, register
from tests.support.clock import FakeClock
from tests.support.control import TestUser, running
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import ScriptedAgent, auth, new_agent
from trunkline import limits
from trunkline.control.clock import now_ms
from trunkline.control.errors import Unauthorized


async def close_code(user: TestUser, token: str, ticket: str | None = None) -> int | None:
    """Of a line with these credentials; None if it is let in."""
    vm = await ScriptedVm(user.ws_url, user.id, token, ticket).connect()
    await vm.send({"type": "auth", "token": token})
    try:
        await vm.expect("init")
    except AssertionError:
        return vm.close_code
    finally:
        await vm.leave()
    return None


async def test_a_leaked_token_ends_with_its_line_and_the_machine_goes_on_with_a_new_one(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user, other = await control.user("ann"), await control.user("eve")
        scheduled = await user.schedule()
        machine = scheduled["vm_id"]
        unused = await user.ok("POST", f"/machines/{machine}/token")
        vm = await ScriptedVm(
            scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"]
        ).connect()
        await vm.authenticate()
        session = await user.session()
        assert (await other.call("POST", f"/machines/{machine}/revoke-token"))[0] == 404
        for _ in range(2):  # twice is like once
            await user.ok("POST", f"/machines/{machine}/revoke-token")
        assert await vm.closed() == 4001
        await vm.leave()
        assert await close_code(user, scheduled["token"]) == 4001
        assert await close_code(user, unused["token"], unused["ticket"]) == 4001
        renewed = await user.ok("POST", f"/machines/{machine}/token")
        assert await close_code(user, renewed["token"], unused["ticket"]) == 4001
        back = ScriptedVm(user.ws_url, user.id, renewed["token"], renewed["ticket"])
        async with back:
            await back.authenticate()
            assert (await user.ok("GET", f"/machines/{machine}"))["state"] == "online"
            await user.say(session, "are you there?")
            await back.expect("user_message")


async def test_a_token_that_a_line_was_given_later_ends_with_the_one_before_it(
    tmp_path: Path,
) -> None:
    clock = FakeClock(now_ms())
    async with running(tmp_path / "data", clock=clock) as control:
        user = await control.user()
        vm = await user.vm("seq")
        clock.advance(limits.VM_TOKEN_LIFE_S / 2 + 1)
        control.sweep()
        renewed = (await vm.expect("token"))["data"]["token"]
        (machine,) = (await user.ok("GET", "/machines"))["items"]
        await user.ok("POST", f"/machines/{machine['id']}/revoke-token")
        assert await vm.closed() == 4001
        await vm.leave()
        assert await close_code(user, renewed) == 4001


async def test_a_devices_token_and_an_agents_secret_end_without_their_machine(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        device = await user.ok("POST", f"/users/{user.id}/devices", {"guid": "phone"})
        agent = await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"name": "laptop"})
        for machine in (device["machine_id"], agent["id"]):
            await user.ok("POST", f"/machines/{machine}/revoke-token")
        secrets = control.core.machine_secrets
        with pytest.raises(Unauthorized):
            await secrets.by_token(device["token"])
        assert await secrets.by_agent_secret(agent["secret"]) is None
        again = await user.ok("POST", f"/users/{user.id}/devices", {"guid": "phone"})
        assert again["machine_id"] == device["machine_id"]
        assert (await secrets.by_token(again["token"])).machine_id == device["machine_id"]
        renewed = await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"id": agent["id"]})
        assert renewed["id"] == agent["id"]
        known = await secrets.by_agent_secret(renewed["secret"])
        assert known is not None
        assert known.machine_id == agent["id"]
        stranger = await control.user("eve")
        body = {"id": agent["id"]}
        status, _ = await stranger.call("POST", f"/users/{stranger.id}/yeaft-agents", body)
        assert status == 404


@pytest.mark.parametrize("kind", ["device", "agent"])
async def test_the_line_of_a_device_or_an_agent_ends_with_what_has_let_it_in(
    tmp_path: Path, kind: str
) -> None:
    """docs/protocols/agp.md and yeaft.md, close codes: 1008 is of who is no longer let in."""
    async with running(tmp_path / "data") as control:
        user = await control.user()
        line: ScriptedDevice | ScriptedAgent
        if kind == "device":
            made = await register(user)
            machine, line = made["machine_id"], ScriptedDevice(control.url, token=made["token"])
        else:
            line = await new_agent(user)
            machine = line.id
        async with line:
            assert (await user.ok("GET", f"/machines/{machine}"))["online"] is True
            await user.ok("POST", f"/machines/{machine}/revoke-token")
            assert await line.closed() == 1008
        assert (await user.ok("GET", f"/machines/{machine}"))["online"] is False


async def test_an_execution_plane_is_not_let_in_with_a_token_that_ends_during_its_handshake(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        made = await user.schedule()
        machine = f"/machines/{made['vm_id']}"
        ends = ["revoked"]

        async def revoke() -> None:
            if ends:
                ends.pop()
                await user.ok("POST", f"{machine}/revoke-token")

        # What comes behind the look at the token.
        with control.records.before("credentials", revoke):
            assert await close_code(user, made["token"]) == 4001
        assert ends == []
        assert (await user.ok("GET", machine))["online"] is False


@pytest.mark.parametrize("machine", ["nonsense", "01a1dd16-7fed-7860-a4ee-8e35ee94311f"])
async def test_a_machine_that_is_not_there_is_not_found(tmp_path: Path, machine: str) -> None:
    async with running(tmp_path / "data") as control:
        assert (await control.call("POST", f"/machines/{machine}/revoke-token"))[0] == 404


@pytest.mark.parametrize("end", ["revoked", "replaced", "terminated", "of the user"])
async def test_an_agent_is_not_let_in_with_what_ends_during_its_handshake(
    tmp_path: Path, end: str
) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        made = await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"name": "laptop"})
        secret = made["secret"]
        if end == "of the user":
            secret = await control.core.user_secrets.show(user.id)
        ends = [end]

        async def step() -> None:
            match ends and ends.pop():
                case "revoked":
                    await user.ok("POST", f"/machines/{made['id']}/revoke-token")
                case "replaced":
                    await user.ok("POST", f"/users/{user.id}/yeaft-agents", {"id": made["id"]})
                case "terminated":
                    await user.ok("DELETE", f"/machines/{made['id']}")
                case "of the user":
                    await control.core.user_secrets.renew(user.id)

        # What comes behind the look at the secret.
        with control.records.before("SELECT users.name", step):
            line = await ScriptedAgent(control.url, made["id"], secret).connect()
            await line.send(auth(await line.expect("auth_required"), secret))
            assert await line.closed() == 1008
        await line.leave()
        assert ends == []
        machines = (await user.ok("GET", "/machines"))["items"]
        assert [one for one in machines if one["online"]] == []
