"""Found open: persons of a group ran dangerous tools unasked, because their sessions were made
without an agent. They confirm as agents do, and whoever makes one can say how."""

from pathlib import Path

from tests.support.control import running
from tests.support.group import ScriptedGroup


async def test_nobody_has_a_group_run_dangerous_tools_unasked(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        team = await ScriptedGroup.make(user, "alice", "bob")
        bob = team["bob"]
        await user.ok("PATCH", f"/persons/{bob.id}", {"confirm": "always"})
        await team.say("@all hello")
        for name, confirm in (("alice", "dangerous"), ("bob", "always")):
            start = await team[name].vm.expect("start_session")
            assert start["data"]["agent_config"]["confirm"] == confirm
            await team[name].answers("hi")
        # A person that is made more careful is so in the conversation that it sits in.
        alice = team["alice"]
        await user.ok("PATCH", f"/persons/{alice.id}", {"confirm": "always"})
        await team.say("@alice again")
        update = await alice.vm.expect("config_update")
        assert update["data"]["confirm"] == "always"
        status, _ = await user.call("PATCH", f"/persons/{alice.id}", {"confirm": "sometimes"})
        assert status == 400
        await team.leave()
