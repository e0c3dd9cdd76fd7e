import assert from "node:assert/strict";
import { test } from "node:test";

import { outputBefore } from "../src/pages/chat/transcript/calls.ts";
import type { CallState } from "../src/session/model.ts";

const LINES = "line 1\nline 2\n";

const CASES: [string, CallState, unknown, string][] = [
  ["a call that runs shows what comes", "running", null, LINES],
  ["a call that is done shows its result", "done", "2 lines", ""],
  ["one whose result is empty shows what came", "done", "", LINES],
  ["one that was stopped shows how far it came", "stopped", null, LINES],
  ["one that was cut off shows that, too, before its reason", "failed", "The machine was restarted.", LINES],
  ["one that failed and repeats it all does not show it twice", "failed", "line 1\nline 2\n[exit code 3]", ""],
  ["nor when the result has colours", "failed", "line 1\n\u001b[31mline 2\u001b[0m", ""],
];

for (const [name, state, result, wanted] of CASES) {
  test(name, () => assert.equal(outputBefore({ state, output: LINES, result }), wanted));
}
