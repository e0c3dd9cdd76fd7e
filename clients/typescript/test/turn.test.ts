// Which events are a turn's own, also where a machine names none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TurnFailed } from "../src/errors.ts";
import { Turn } from "../src/turn.ts";

type Fields = Record<string, unknown>;

function answerOf(ahead: string[], ...events: Fields[]) {
  const turn = new Turn("mine", ahead);
  const own = events.filter((event, at) => turn.take({ id: at + 1, event: event as { type: string } }));
  return { own: own.length, text: turn.isOver ? turn.answer().text : null };
}

const said = (turn_id: string) => ({ type: "user_message", turn_id });
const text = (content: string, turn_id?: string) => ({ type: "text_chunk", content, turn_id });
const end = (content?: string, turn_id?: string) => ({ type: "execution_complete", content, turn_id });

test("a turn takes its own events and no other's end", () => {
  const cases: [string, string[], Fields[], { own: number; text: string | null }][] = [
    ["named", [], [said("mine"), text("a", "mine"), end("a", "mine")], { own: 3, text: "a" }],
    ["unnamed", [], [said("mine"), text("a"), text("b"), end()], { own: 4, text: "ab" }],
    ["another's, named", [], [said("mine"), said("x"), end("x", "x"), end("mine", "mine")], { own: 2, text: "mine" }],
    ["one ahead, unnamed", ["x"], [said("mine"), text("x"), end("x"), text("m"), end("m")], { own: 3, text: "m" }],
    ["one that came before", [], [said("x"), said("mine"), end("x"), end("m")], { own: 2, text: "m" }],
    ["one ahead, named", ["x"], [said("mine"), end("x", "x"), end("m")], { own: 2, text: "m" }],
    ["a name that nobody knows", [], [said("mine"), end("m", "t1")], { own: 2, text: "m" }],
    ["steered", [], [said("mine"), { ...said("mine"), steers: "mine" }, end("m", "mine")], { own: 3, text: "m" }],
    ["what was before", [], [text("x"), end("x"), said("mine"), text("m"), end("m")], { own: 3, text: "m" }],
    ["not over", [], [said("mine"), text("a")], { own: 2, text: null }],
  ];
  for (const [name, ahead, events, wanted] of cases) assert.deepEqual(answerOf(ahead, ...events), wanted, name);
});

test("a turn that failed says why", () => {
  const failed = { type: "execution_error", error: "no key", code: "MODEL_KEY_MISSING" };
  assert.throws(() => answerOf([], said("mine"), failed), (error) => error instanceof TurnFailed && error.code === "MODEL_KEY_MISSING");
});
