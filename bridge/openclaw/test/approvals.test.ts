import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Approvals, type Asking } from "../src/approvals.ts";
import type { Json } from "../src/json.ts";
import { FakeGateway } from "./fakes.ts";

let approvals: Approvals;
let gateway: FakeGateway;
let shown: Json[];
let audited: Json[];
let calls: Record<string, Json>;

beforeEach(() => {
  approvals = new Approvals();
  gateway = new FakeGateway();
  shown = [];
  audited = [];
  calls = {};
});

afterEach(() => approvals.withdraw("over"));

function asking(timeoutSeconds = 60): Asking {
  return {
    emit: (type, fields) => void shown.push({ type, ...fields }),
    audit: (event, details) => void audited.push({ event, ...details }),
    timeoutSeconds,
    inputOf: (id) => calls[id],
  };
}

function asks(id: string, command: string, timeoutSeconds?: number, envKeys?: string[]): void {
  const request = { command, cwd: "/work", toolCallId: "c", agentId: "s-1", envKeys };
  approvals.take("exec.approval.requested", { id, request }, gateway, asking(timeoutSeconds));
}

async function decided(count = 1): Promise<Json[]> {
  while (gateway.of("exec.approval.resolve").length < count) await new Promise(setImmediate);
  return gateway.of("exec.approval.resolve");
}

test("a command is shown whole to a person, whose yes allows it once", async () => {
  asks("q", "rm -rf build");
  assert.deepEqual(shown, [
    {
      type: "approval_request",
      request_id: "q",
      kind: "approve",
      tool_name: "exec",
      tool_input: { command: "rm -rf build", cwd: "/work" },
      tool_call_id: "c",
      message: "May I run this command?",
      timeout_seconds: 60,
    },
  ]);
  approvals.answer({ request_id: "q", confirmed: true });
  assert.deepEqual(await decided(), [{ id: "q", decision: "allow-once" }]);
  asks("r", "rm -rf build");
  assert.equal(shown.length, 2);
});

test("the variables of a command are shown with it, and a yes holds for no others", async () => {
  calls = { c: { command: "make", env: { CC: "evil" } } };
  asks("q", "make", 60, ["CC"]);
  assert.deepEqual(shown[0]?.["tool_input"], { command: "make", cwd: "/work", env: { CC: "evil" } });
  approvals.answer({ request_id: "q", confirmed: true, scope: "always" });
  await decided();
  calls = { c: { command: "make", env: { CC: "other" } } };
  asks("r", "make", 60, ["CC"]);
  assert.equal(shown.length, 2);
  approvals.withdraw("cancelled");
});

test("a command with variables that are not known is denied", async () => {
  asks("q", "make", 60, ["CC"]);
  assert.deepEqual(await decided(), [{ id: "q", decision: "deny" }]);
  assert.deepEqual(shown, []);
});

test("a no denies it, and the audit log learns of it", async () => {
  asks("q", "ls");
  approvals.answer({ request_id: "q", confirmed: false, answer: "not now" });
  assert.deepEqual(await decided(), [{ id: "q", decision: "deny" }]);
  assert.deepEqual(audited[0]?.["confirmed"], false);
  assert.deepEqual(audited[0]?.["answer"], "not now");
});

test("who allowed a command for longer is not asked for the same one again", async () => {
  for (const scope of ["session", "always"]) {
    const command = `make ${scope}`;
    asks("q", command);
    approvals.answer({ request_id: "q", confirmed: true, scope });
    await decided();
    const before = shown.length;
    asks("r", command);
    await decided(2);
    assert.equal(shown.length, before);
    asks("s", `${command} --more`);
    assert.equal(shown.length, before + 1);
    approvals.withdraw("cancelled");
    gateway = new FakeGateway();
  }
});

test("a command that nobody could be shown whole is denied", async () => {
  asks("q", "x".repeat(300_000));
  assert.deepEqual(await decided(), [{ id: "q", decision: "deny" }]);
  assert.deepEqual(shown, []);
});

test("a question that nobody answers in time is a no", async () => {
  asks("q", "ls", 0.01);
  assert.deepEqual(await decided(), [{ id: "q", decision: "deny" }]);
  assert.deepEqual(shown[1], {
    type: "approval_resolved",
    request_id: "q",
    confirmed: false,
    reason: "timeout",
  });
});

test("questions of a turn that is over are withdrawn", async () => {
  asks("q", "ls");
  approvals.withdraw("cancelled");
  assert.deepEqual(await decided(), [{ id: "q", decision: "deny" }]);
  assert.equal(shown[1]?.["reason"], "cancelled");
  approvals.answer({ request_id: "q", confirmed: true }); // too late
  assert.equal((await decided()).length, 1);
});

test("an answer that is none, or to nothing, changes nothing", () => {
  asks("q", "ls");
  approvals.answer({ request_id: "nobody", confirmed: true });
  approvals.answer({ request_id: "q", confirmed: "yes" });
  assert.equal(gateway.of("exec.approval.resolve").length, 0);
  approvals.withdraw("cancelled");
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

test("a tool of ours is asked about like a command, and for longer only with the same input", async () => {
  const first = approvals.allows("mcp__shop__buy", { n: 1 }, asking());
  assert.deepEqual([shown[0]?.["tool_name"], shown[0]?.["tool_input"]], ["mcp__shop__buy", { n: 1 }]);
  approvals.answer({ request_id: shown[0]?.["request_id"], confirmed: true, scope: "session" });
  assert.equal(await first, true);
  assert.equal(await approvals.allows("mcp__shop__buy", { n: 1 }, asking()), true);
  assert.equal(shown.length, 1);
  const other = approvals.allows("mcp__shop__buy", { n: 2 }, asking());
  approvals.withdraw("cancelled");
  assert.equal(await other, false);
  assert.equal(await approvals.allows("x", { long: "x".repeat(300_000) }, asking()), false);
});

test("other events are no questions", () => {
  assert.equal(approvals.take("tick", {}, gateway, asking()), false);
});
