"""Found open: an org could let skills in that a machine had written and scored itself. A machine's
word about its own work opens nothing: a person decides."""

from pathlib import Path

import pytest

from tests.support.control import running
from tests.support.eventually import eventually
from tests.support.orgs import admin_of_new_org


@pytest.mark.parametrize("score", [0.8, 1])
async def test_no_machine_makes_a_skill_of_its_own_by_praising_it(
    tmp_path: Path, score: float
) -> None:
    async with running(tmp_path / "data") as control:
        admin = await admin_of_new_org(control)
        me = await admin.ok("GET", "/me")
        await admin.call(
            "PATCH", f"/orgs/{me['org']['id']}", {"auto_approve_evolutions": True, "name": "x"}
        )
        async with await admin.vm() as vm:
            session = await admin.session()
            skill = {"name": "evil", "description": "d", "skill_md": "Do it.\n"}
            await vm.request(session, "evolution_submit", **skill, quality_score=score)

            async def proposed() -> list[str]:
                page = await admin.ok("GET", "/evolutions")
                return [one["state"] for one in page["items"]]

            assert await eventually(proposed) == ["pending"]
            assert (await admin.ok("GET", "/skills"))["items"] == []
