"""What every runtime keeps: a session goes on after a restart, elsewhere, and beside others."""

from pathlib import Path

from tests.runtimes.absent import Promise
from tests.runtimes.marks import promises
from tests.runtimes.stage import Stage, second_machine
from tests.support.eventually import eventually
from tests.support.matrix.story import Hold, Say
from tests.support.model_server import Gate
from tests.support.runtimes.driver import SESSION
from tests.support.runtimes.semigraph import SemiGraph


class Lasting:
    @promises(Promise.MIXED)
    async def test_a_crash_in_another_runtime_of_the_machine_is_none_of_its_business(
        self, stage: Stage
    ) -> None:
        gate = Gate()
        semigraph = SemiGraph()
        async with stage.session(runtime=semigraph) as other:
            await other.play(Say("I come first."))
            doomed = semigraph.victim(SESSION, stage.node)
            async with stage.session() as talk:
                turn = await talk.begin(Say("I go "), Hold(gate), Say("on."))
                ending = await other.begin(Say("I am "), Hold(gate), Say("doomed."))
                await turn.until_said("I go ")
                await ending.until_said("I am ")
                doomed.kill()
                assert (await ending.end())["code"] == "SESSION_CRASHED"
                gate.open()
                assert await turn.answer() == "I go on."
                assert await (await other.play(Say("Back."))).answer() == "Back."

    @promises(Promise.RESTART)
    async def test_a_session_goes_on_after_a_restart_of_its_machine(self, stage: Stage) -> None:
        async with stage.session() as talk:
            await talk.play(Say("Your cat is called Zorro."))
            assert await stage.node.stop() == 0
            await stage.node.start()
            again = await talk.play(Say("Zorro."))
            assert await again.answer() == "Zorro."
            assert "Your cat is called Zorro." in str(again.requests[0].messages)

    @promises(Promise.SNAPSHOT)
    async def test_a_session_goes_on_where_it_was_never_before(
        self, stage: Stage, tmp_path: Path
    ) -> None:
        async with stage.session() as talk:
            before = await talk.play(Say("Your dog is called Argos."))
            await before.answer()

            async def saved() -> object:
                return await stage.control.core.services.snapshots.latest(talk.id)

            await eventually(saved)
            elsewhere = await second_machine(stage, tmp_path / "elsewhere")
            try:
                place = {"machine_id": elsewhere.machine_id}
                await stage.user.ok("PATCH", f"/sessions/{talk.id}", place)
                again = await talk.play(Say("Argos."))
                assert await again.answer() == "Argos."
                assert "Your dog is called Argos." in str(again.requests[0].messages)
            finally:
                assert await elsewhere.stop() == 0
