"""How every runtime ends: a turn once, whatever ends it; a session without a trace."""

from tests.runtimes.absent import Promise
from tests.runtimes.marks import promises
from tests.runtimes.stage import Playing, Stage
from tests.support import pids
from tests.support.matrix.story import Fail, Hold, Run, Say
from tests.support.model_server import Gate
from tests.support.node import children_of
from tests.support.runtimes.driver import SESSION


class Ending:
    @promises(Promise.CANCEL_TEXT)
    async def test_a_turn_cancelled_in_its_text_ends_once_and_the_session_goes_on(
        self, stage: Stage
    ) -> None:
        gate = Gate()
        async with stage.session() as talk:
            turn = await talk.begin(Say("I was about to "), Hold(gate), Say("finish."))
            await turn.until_said("I was about to ")
            await talk.cancel()
            end = await turn.end()
            assert (end["type"], end.get("cancelled")) == ("execution_complete", True)
            if stage.runtime.hangs_up:
                await turn.requests[0].disconnected.wait()
            again = await talk.play(Say("As you like."))
            assert await again.answer() == "As you like."
            assert len(talk.ends(turn.turn_id)) == 1
            is_known = turn.prompt in str(again.requests[0].messages)
            assert is_known != stage.runtime.forgets_cancelled
            gate.open()

    @promises(Promise.CANCEL_TOOL)
    async def test_a_turn_cancelled_in_a_tool_ends_once_with_all_that_the_tool_started(
        self, stage: Stage
    ) -> None:
        file = stage.node.workspace / "sleeper.pid"
        async with stage.session() as talk:
            turn = await talk.begin(
                Run("tail -f /dev/null & echo $! > sleeper.pid; wait", ""), Say("Up.")
            )
            await turn.until("tool_call_start")
            [sleeper] = await pids.pids_in(file, 1)
            await talk.cancel()
            end = await turn.end()
            assert (end["type"], end.get("cancelled")) == ("execution_complete", True)
            await pids.until_gone(sleeper)
            again = await talk.play(Say("Awake."))
            assert await again.answer() == "Awake."
            assert len(talk.ends(turn.turn_id)) == 1

    @promises(Promise.ERROR)
    async def test_a_failure_of_the_model_is_told_with_its_reason_and_the_session_goes_on(
        self, stage: Stage
    ) -> None:
        async with stage.session() as talk:
            turn = await talk.begin(Fail("the disk of the model is full"))
            end = await turn.end()
            assert end["type"] == "execution_error"
            assert stage.runtime.told("the disk of the model is full") in end["error"]
            assert end["code"]
            again = await talk.play(Say("Better now."))
            assert await again.answer() == "Better now."
            assert len(talk.ends(turn.turn_id)) == 1

    @promises(Promise.CRASH)
    async def test_a_process_killed_in_its_text_is_the_turns_one_end(self, stage: Stage) -> None:
        """The next message works, and it knows what was said before."""
        gate = Gate()
        async with stage.session() as talk:
            before = await talk.play(Say("Remember the milk."))
            assert await before.answer() == "Remember the milk."
            turn = await talk.begin(Say("I am "), Hold(gate), Say("alive."))
            await turn.until_said("I am ")
            await _crash(stage, SESSION, turn)
            again = await talk.play(Say("Here again."))
            assert await again.answer() == "Here again."
            assert "Remember the milk." in str(again.requests[0].messages)
            gate.open()
            assert len(talk.ends(turn.turn_id)) == 1
            assert talk.reader.ids == list(range(1, len(talk.reader.ids) + 1))

    @promises(Promise.CRASH)
    async def test_a_program_killed_in_a_tool_is_the_turns_one_end_and_takes_all_along(
        self, stage: Stage, victim: str
    ) -> None:
        """The same, and what the tool had started is gone."""
        file = stage.node.workspace / f"{victim.replace(' ', '-')}.pid"
        async with stage.session() as talk:
            before = await talk.play(Say("Remember the bread."))
            assert await before.answer() == "Remember the bread."
            turn = await talk.begin(
                Say("Let me see. "),
                Run(f"tail -f /dev/null & echo $! > {file.name}; wait", ""),
                Say("Up."),
            )
            await turn.until("tool_call_start")
            [sleeper] = await pids.pids_in(file, 1)
            await _crash(stage, victim, turn)
            await pids.until_gone(sleeper)
            again = await talk.play(Say("Once more."))
            assert await again.answer() == "Once more."
            assert "Remember the bread." in str(again.requests[0].messages)
            assert len(talk.ends(turn.turn_id)) == 1
            assert talk.reader.ids == list(range(1, len(talk.reader.ids) + 1))

    @promises(Promise.STOP)
    async def test_a_session_closed_in_a_turn_ends_it_once_and_leaves_no_process(
        self, stage: Stage
    ) -> None:
        gate = Gate()
        async with stage.session() as talk:
            turn = await talk.begin(Say("Not yet "), Hold(gate), Say("done."))
            await turn.until_said("Not yet ")
            running = stage.processes()
            assert running
            await talk.close()
            end = await turn.end()
            assert end["type"] == "execution_error"
            await pids.until_gone(*(one.pid for one in running))
            assert len(talk.ends(turn.turn_id)) == 1
            gate.open()


async def _crash(stage: Stage, victim: str, turn: Playing) -> None:
    process = stage.runtime.victim(victim, stage.node)
    family = [process, *children_of(process, recursive=True)]
    process.kill()
    end = await turn.end()
    assert end["type"] == "execution_error"
    assert end["code"] in ("SESSION_CRASHED", "RUNTIME_CRASHED")
    await pids.until_gone(*(one.pid for one in family))
