"""`trunkline session adopt` where there are several machines: whose are asked, and which fail."""

import asyncio

import pytest

from tests.support.asked_vm import FOREIGN, AskedVm
from tests.support.control import LocalControl, TestUser
from tests.support.orgs import admin_of_new_org
from trunkline.cli.adopting import adopt
from trunkline.cli.output import Rows
from trunkline.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def listed(user: TestUser) -> Rows:
    async with Client(user.control.url, user.token) as client:
        found = await adopt(client)
        assert isinstance(found, Rows)
        return found


async def test_an_administrator_who_names_no_machine_asks_nobody_elses(
    control: LocalControl,
) -> None:
    admin = await admin_of_new_org(control, "olga")
    org = (await admin.ok("GET", "/me"))["org"]["id"]
    own, theirs = await AskedVm.of(admin), await AskedVm.of(await control.user("ann", org_id=org))
    async with own.vm, theirs.vm:
        asking = asyncio.create_task(listed(admin))
        await own.answer({"sessions": [FOREIGN]})
        assert [one["machine_id"] for one in (await asking).items] == [own.id]
        assert [one for one in theirs.vm.received if one["type"] == "query"] == []


async def test_a_machine_that_fails_hides_no_other(
    user: TestUser, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = await AskedVm.of(user), await AskedVm.of(user)
    async with good.vm, bad.vm:
        asking = asyncio.create_task(listed(user))
        await bad.answer(error={"code": "FAULT", "message": "the disk"})
        await good.answer({"sessions": [FOREIGN]})
        assert [one["id"] for one in (await asking).items] == [FOREIGN["id"]]
        told = capsys.readouterr().err
        assert bad.id in told
        assert "the disk" in told
