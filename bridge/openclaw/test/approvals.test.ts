import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Approvals, type Asking, type Verdict } from "../src/approvals.ts";
import type { Json } from "../src/json.ts";
import { FakeGateway } from "./fakes.ts";

let approvals: Approvals;
let gateway: FakeGateway;
let shown: Json[];
let audited: Json[];

beforeEach(() => {
  approvals = new Approvals();
  gateway = new FakeGateway();
  shown = [];
  audited = [];
});

afterEach(() => approvals.withdraw("over"));

function asking(timeoutSeconds = 60): Asking {
  return {
    emit: (type, fields) => void shown.push({ type, ...fields }),
    audit: (event, details) => void audited.push({ event, ...details }),
    timeoutSeconds,
  };
}

function asks(command: string, timeoutSeconds?: number): Promise<Verdict> {
  const call = { tool: "exec", input: { command }, toolCallId: "c", why: "", rule: "bash(make *)" };
  return approvals.allows(call, asking(timeoutSeconds));
}

function answer(fields: Json): void {
  approvals.answer({ request_id: shown.at(-1)?.["request_id"], ...fields });
}

test("a call is shown whole to a person, with what always means, and a yes allows it once", async () => {
  const asked = asks("rm -rf build");
  const { request_id, ...question } = shown[0] ?? {};
  assert.equal(typeof request_id, "string");
  assert.deepEqual(question, {
    type: "approval_request",
    kind: "approve",
    tool_name: "exec",
    tool_input: { command: "rm -rf build" },
    tool_call_id: "c",
    message: "May I use exec?",
    rule: "bash(make *)",
    timeout_seconds: 60,
  });
  answer({ confirmed: true });
  assert.deepEqual(await asked, { allowed: true, reason: "" });
  void asks("rm -rf build");
  assert.equal(shown.length, 2);
});

test("a no denies it with the person's words, and the audit log learns of it", async () => {
  const asked = asks("ls");
  answer({ confirmed: false, answer: "not now" });
  assert.deepEqual(await asked, { allowed: false, reason: "not now" });
  assert.deepEqual([audited[0]?.["confirmed"], audited[0]?.["answer"]], [false, "not now"]);
});

test("who allowed a call for the session is not asked for the same one again, not in a later process", async () => {
  let kept: string[] = [];
  approvals = new Approvals([], (grants) => (kept = grants));
  const first = asks("make it");
  answer({ confirmed: true, scope: "session" });
  await first;
  approvals = new Approvals(kept);
  assert.deepEqual(await asks("make it"), { allowed: true, reason: "" });
  assert.equal(shown.length, 1);
  void asks("make it --more");
  assert.equal(shown.length, 2);
});

test("what is allowed for good is told as its rule, and not remembered here; without one it is", async () => {
  const kept: string[][] = [];
  approvals = new Approvals([], (grants) => kept.push(grants));
  const first = asks("make it");
  answer({ confirmed: true, scope: "always" });
  assert.deepEqual(await first, { allowed: true, reason: "", rule: "bash(make *)" });
  assert.deepEqual(kept, []);
  const second = approvals.allows({ tool: "x", input: {}, toolCallId: "c", why: "" }, asking());
  answer({ confirmed: true, scope: "always" });
  assert.deepEqual(await second, { allowed: true, reason: "" });
  assert.equal(kept.length, 1);
});

test("a call that nobody could be shown whole is denied", async () => {
  assert.equal((await asks("x".repeat(300_000))).allowed, false);
  assert.deepEqual(shown, []);
});

test("a question that nobody answers in time is a no", async () => {
  assert.deepEqual(await asks("ls", 0.01), { allowed: false, reason: "Nobody answered in time." });
  assert.equal(shown[1]?.["reason"], "timeout");
});

test("questions of a turn that is over are withdrawn", async () => {
  const asked = asks("ls");
  approvals.withdraw("cancelled");
  assert.equal((await asked).allowed, false);
  assert.equal(shown[1]?.["reason"], "cancelled");
  answer({ confirmed: true }); // too late
});

test("an answer that is none, or to nothing, changes nothing", () => {
  void asks("ls");
  approvals.answer({ request_id: "nobody", confirmed: true });
  answer({ confirmed: "yes" });
  assert.equal(shown.length, 1);
});

test("OpenClaw's own question has its options, and gets the words of the answer", async () => {
  const questions = [{ questionId: "colour", question: "Which?", options: [{ label: "red" }, { label: "blue" }] }];
  approvals.take("question.requested", { id: "q", questions }, gateway, asking());
  assert.deepEqual([shown[0]?.["kind"], shown[0]?.["options"]], ["select", ["red", "blue"]]);
  approvals.answer({ request_id: "q", confirmed: true, answer: "blue" });
  while (gateway.of("question.resolve").length === 0) await new Promise(setImmediate);
  assert.deepEqual(gateway.of("question.resolve"), [
    { id: "q", answers: { answers: { colour: ["blue"] } } },
  ]);
});

test("other events are no questions", () => {
  assert.equal(approvals.take("tick", {}, gateway, asking()), false);
});
