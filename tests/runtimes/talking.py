"""What every runtime does with words: it streams, remembers, sees, counts, and can be set anew."""

import base64

from tests.runtimes.absent import Promise
from tests.runtimes.marks import promises
from tests.runtimes.stage import Stage
from tests.support.eventually import eventually
from tests.support.matrix.story import Hold, Say
from tests.support.model_server import Gate, Turn

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


class Talking:
    @promises(Promise.STREAM)
    async def test_the_answer_is_read_while_the_model_still_speaks(self, stage: Stage) -> None:
        gate = Gate()
        async with stage.session({"system_prompt": "Always be kind to cats."}) as talk:
            turn = await talk.begin(Say("Good "), Hold(gate), Say("morning."))
            await turn.until_said("Good ")
            assert talk.ends(turn.turn_id) == []
            gate.open()
            assert await turn.answer() == "Good morning."
            assert turn.text() == "Good morning."
        [asked] = turn.requests
        assert stage.runtime.model in asked.model
        # Where a program has no place for it, it comes with the first message.
        assert "Always be kind to cats." in asked.system + str(asked.messages)

    @promises(Promise.TWO)
    async def test_two_sessions_speak_at_once_and_each_knows_what_was_said_in_it_alone(
        self, stage: Stage
    ) -> None:
        gates = Gate(), Gate()
        async with stage.session() as one, stage.session() as two:
            first = await one.begin(Say("One "), Hold(gates[0]), Say("of us."))
            second = await two.begin(Say("Two "), Hold(gates[1]), Say("of us."))
            await first.until_said("One ")
            await second.until_said("Two ")
            gates[1].open()
            assert await second.answer() == "Two of us."
            assert one.ends(first.turn_id) == []
            gates[0].open()
            assert await first.answer() == "One of us."
            for talk, own, foreign in ((one, "One", "Two"), (two, "Two", "One")):
                asked = (await talk.play(Say("As I said."))).requests[0]
                assert f"{own} of us." in str(asked.messages)
                assert f"{foreign} of us." not in str(asked.messages)

    @promises(Promise.IMAGE)
    async def test_an_image_of_the_person_reaches_the_model(self, stage: Stage) -> None:
        image = {"name": "dot.png", "mime": "image/png", "base64": base64.b64encode(PIXEL).decode()}
        async with stage.session() as talk:
            turn = await talk.play(Say("A dot."), metadata={"attachments": [image]})
            assert await turn.answer() == "A dot."
            asked = turn.requests[0]
            assert stage.runtime.has_image(asked, PIXEL, stage.node.workspace)

    @promises(Promise.USAGE)
    async def test_what_a_turn_cost_is_told_with_it_and_reported(self, stage: Stage) -> None:
        def costs(answers: list[Turn]) -> None:
            answers[0].tokens_in, answers[0].tokens_out = 123, 45

        async with stage.session() as talk:
            turn = await talk.begin(Say("Cheap."), turns=costs)
            await turn.end()
            [usage] = turn.of("usage")
            assert (usage["tokens_in"], usage["tokens_out"]) == (123, 45)
            kinds = [one["type"] for one in talk.of(turn.turn_id)]
            assert kinds[-2:] == ["usage", "execution_complete"]

            async def reported() -> list[tuple[int, int]]:
                rows = (await stage.user.ok("GET", "/usage?group_by=session"))["items"]
                of_it = [row for row in rows if row["key"] == talk.id]
                return [(row["tokens_in"], row["tokens_out"]) for row in of_it]

            await eventually(reported, lambda rows: rows == [(123, 45)])

    @promises(Promise.CONFIG)
    async def test_a_new_model_is_asked_from_the_next_message_on(self, stage: Stage) -> None:
        runtime = stage.runtime
        async with stage.session() as talk:
            before = await talk.play(Say("As before."))
            await stage.user.ok(
                "PATCH", f"/sessions/{talk.id}/config", {"model": runtime.other_model}
            )
            after = await talk.play(Say("As told."))
            assert await after.answer() == "As told."
            assert runtime.model in before.requests[0].model
            assert runtime.other_model in after.requests[0].model
            assert "As before." in str(after.requests[0].messages)
