import assert from "node:assert/strict";
import { test } from "node:test";

import type { Event } from "../src/session/event.ts";
import type { EndRow, Row, ToolRow, View } from "../src/session/model.ts";
import { Reducer } from "../src/session/reduce.ts";

const T = { turn_id: "t" };
const ASK = { type: "user_message", content: "do it", ts: 1000, ...T };
const DONE = { type: "execution_complete", content: "", ts: 3500, ...T };
const say = (content: string): Event => ({ type: "text_chunk", content, ...T });
const question = { type: "approval_request", request_id: "q", kind: "approve", message: "rm?", ...T };
const answered = { type: "approval_resolved", request_id: "q", confirmed: true, answered_by: "me", ...T };

function viewOf(...events: Event[]): View {
  const reducer = new Reducer();
  events.forEach((event, index) => reducer.apply(index + 1, event));
  return reducer.view();
}

/** Each row in a word or two. */
function told(rows: readonly Row[]): string[] {
  return rows.map((row) => {
    switch (row.kind) {
      case "user":
        return `user ${row.content}${row.steer ? ` (${row.steer})` : ""}`;
      case "block":
        return `${row.isOpen ? "open" : "block"} ${row.raw.trim()}`;
      case "thinking":
        return `thinking ${row.stage} ${row.text}`;
      case "tool":
        return `tool ${row.name} ${row.state}`;
      case "plan":
        return `plan ${row.tasks.map((task) => `${task.title}=${task.status}`).join()}`;
      case "file":
        return `file ${row.file.path}`;
      case "question":
        return `question ${row.resolution === null ? "open" : row.resolution.confirmed ? "yes" : "no"}`;
      case "notice":
        return `notice ${row.code} ${row.text}`.trim();
      case "speaker":
        return `speaker ${row.person?.name} ${row.state}`;
      case "end":
        return `end ${row.state}${row.code ? ` ${row.code}` : ""}`;
    }
  });
}

const tool = (fields: object): Event => ({ type: "tool_call_start", tool_name: "bash", tool_call_id: "c", ...T, ...fields });
const of = (name: string, ask: number) => ({ ...T, person: { id: name, name }, group: { ask } });

const CASES: [string, Event[], string[]][] = [
  ["pieces of text are blocks", [ASK, say("# A\n"), say("b"), DONE], ["user do it", "block # A", "block b", "end completed"]],
  ["an answer that was missed is shown", [ASK, { ...DONE, content: "all of it" }], ["user do it", "block all of it", "end completed"]],
  ["the end of an answer that was missed is shown", [ASK, say("all "), { ...DONE, content: "all of it" }], ["user do it", "block all of it", "end completed"]],
  ["an answer in other words is not said twice", [ASK, say("all of it"), { ...DONE, content: "Summary" }], ["user do it", "block all of it", "end completed"]],
  [
    "where events were lost, the whole answer counts",
    [ASK, say("al it"), { type: "session_status", machine: "online", lost_events: 2 }, { ...DONE, content: "all of it" }],
    ["user do it", "block all of it", "notice lost 2", "end completed"],
  ],
  ["a tool cuts what is said", [ASK, say("a"), tool({}), say("b")], ["user do it", "block a", "tool bash running", "open b"]],
  ["what runs at the end was stopped", [ASK, tool({}), { ...DONE, cancelled: true }], ["user do it", "tool bash stopped", "end cancelled"]],
  [
    "a call that is denied has not failed",
    [ASK, tool({}), { type: "tool_call_complete", tool_call_id: "c", tool_name: "bash", is_error: true, denied: true, ...T }],
    ["user do it", "tool bash denied"],
  ],
  [
    "a command that fails has failed",
    [ASK, tool({}), { type: "tool_call_complete", tool_call_id: "c", tool_name: "bash", is_error: false, details: { exit_code: 2 }, ...T }],
    ["user do it", "tool bash failed"],
  ],
  ["a turn ends once", [ASK, DONE, { type: "execution_error", error: "x", code: "LATE", ...T }], ["user do it", "end completed"]],
  ["an answered question is not opened again", [ASK, question, answered, question], ["user do it", "question yes"]],
  ["a question that is asked again is one question", [ASK, question, { ...question, timeout_seconds: 5 }], ["user do it", "question open"]],
  ["the end of a turn denies what is open", [ASK, question, DONE], ["user do it", "question no", "end completed"]],
  ["a question of a turn that is over is closed", [ASK, DONE, question], ["user do it", "end completed", "question no"]],
  [
    "a word in between reaches its turn",
    [ASK, { type: "user_message", content: "and", steers: "t", message_id: "m", ...T }, { type: "steer_taken", message_id: "m", ...T }],
    ["user do it", "user and (taken)"],
  ],
  [
    "one that comes too late opens a turn",
    [ASK, { type: "user_message", content: "and", steers: "t", message_id: "m", ...T }, DONE, { type: "steer_missed", message_id: "m", steers: "t", turn_id: "m" }],
    ["user do it", "end completed", "user and"],
  ],
  [
    "one to a turn that is stopped reaches nobody",
    [ASK, { type: "user_message", content: "and", steers: "t", message_id: "m", ...T }, { ...DONE, cancelled: true }],
    ["user do it", "user and (dropped)", "end cancelled"],
  ],
  [
    "a call that ends because its turn is stopped has not failed",
    [ASK, tool({}), { type: "tool_call_complete", tool_call_id: "c", tool_name: "bash", is_error: true, result: "cancelled", ...T }, { ...DONE, cancelled: true }],
    ["user do it", "tool bash stopped", "end cancelled"],
  ],
  [
    "nor has one that ends because its session is",
    [ASK, tool({}), { type: "tool_call_complete", tool_call_id: "c", tool_name: "bash", is_error: true, result: "cancelled", ...T }, { type: "execution_error", error: "stopped", code: "SESSION_STOPPED", ...T }],
    ["user do it", "tool bash stopped", "end failed SESSION_STOPPED"],
  ],
  [
    "a plan stays where it is",
    [ASK, { type: "plan", plan: { tasks: [{ title: "x", status: "pending" }] }, ...T }, say("a"), { type: "plan", plan: { tasks: [{ title: "x", status: "completed" }] }, ...T }],
    ["user do it", "plan x=completed", "open a"],
  ],
  [
    "a plan that is taken back has nothing left to show",
    [ASK, { type: "plan", plan: { tasks: [{ title: "x", status: "pending" }] }, ...T }, { type: "plan", plan: { tasks: [] }, ...T }],
    ["user do it", "plan "],
  ],
  [
    "persons who speak at once are kept apart",
    [ASK, { type: "person_start", ...of("ann", 1) }, { type: "person_start", ...of("bob", 2) }, { ...say("A"), ...of("ann", 1) }, { ...say("B"), ...of("bob", 2) }, { ...say("a"), ...of("ann", 1) }, { type: "person_complete", content: "Aa!", ...of("ann", 1) }],
    ["user do it", "speaker ann completed", "block Aa!", "speaker bob speaking", "open B"],
  ],
  ["what only another protocol understands is not shown", [ASK, { type: "foreign", protocol: "yeaft", name: "x", ...T }], ["user do it"]],
  ["a shorter memory is told", [ASK, { type: "context_compacted", how: "summary", ...T }], ["user do it", "notice compacted"]],
  ["that a session starts is not kept", [ASK, { type: "session_status", machine: "online", message: "starting" }], ["user do it"]],
  ["who made it is", [ASK, { type: "session_status", machine: "online", created_by: "u", message: "made by u" }], ["user do it", "notice message made by u"]],
  ["a message that waits is told", [ASK, { type: "session_status", machine: "offline", held: true }], ["user do it", "notice held"]],
  [
    "thoughts of a model are joined, its states are lines",
    [ASK, ...["a", "b"].map((content) => ({ type: "thinking", stage: "reasoning", content, ...T })), ...["c", "d"].map((content) => ({ type: "thinking", stage: "model", content, ...T }))],
    ["user do it", "thinking reasoning ab", "thinking model c\nd"],
  ],
  ["what is not known is passed over", [ASK, { type: "something_new", content: 1, ...T }, { type: "text_chunk", content: 5, ...T }], ["user do it"]],
];

for (const [name, events, wanted] of CASES) {
  test(name, () => assert.deepEqual(told(viewOf(...events).rows), wanted));
}

test("what a sub-agent does stands under the call that gave it its task", () => {
  const sub = { ...T, agent: "helper", parent_tool_call_id: "c" };
  const inner = { type: "tool_call_start", tool_name: "glob", tool_call_id: "d", ...sub };
  const view = viewOf(ASK, tool({ tool_name: "delegate" }), { ...say("hm"), ...sub }, inner, {
    ...say("deep"),
    ...sub,
    parent_tool_call_id: "d",
  });
  const call = view.rows[1] as ToolRow;
  assert.equal(call.agent, "helper");
  assert.deepEqual(told(call.rows), ["block hm", "tool glob running"]);
  assert.deepEqual(told((call.rows[1] as ToolRow).rows), ["open deep"]);
});

test("a turn's end says what it took and which files have changed", () => {
  const change = (path: string, additions: number): Event => ({
    type: "file_changed", path, change: "modified", diff: `+${additions}`, additions, deletions: 1, tool_call_id: "c", ...T,
  });
  const usage = { type: "usage", calls: 2, tokens_in: 10, tokens_out: 3, cost: { amount: 0.5, currency: "EUR" }, models: { m: {} }, ...T };
  const view = viewOf(ASK, tool({}), { type: "file_created", path: "a", size: 9, tool_call_id: "c", ...T }, change("a", 2), change("b", 1), change("a", 3), usage, DONE);
  const end = view.rows.at(-1) as EndRow;
  assert.equal(end.durationMs, 2500);
  assert.deepEqual(end.usage, { calls: 2, tokensIn: 10, tokensOut: 3, cost: { amount: 0.5, currency: "EUR" }, models: ["m"] });
  assert.deepEqual(end.files, [
    { path: "a", change: "created", diff: "+2\n+3", additions: 5, deletions: 2, size: 9 },
    { path: "b", change: "modified", diff: "+1", additions: 1, deletions: 1, size: null },
  ]);
  assert.equal((view.rows[1] as ToolRow).files.length, 2);
});

test("what is known of a session beside its words", () => {
  const status = viewOf(
    { type: "session_status", machine: "online", machine_id: "m", commands: [{ name: "plan", description: "d" }, { name: 1 }] },
    { type: "session_status", machine: "online", resume: { command: "x" } },
    { type: "session_status", machine: "degraded", works: ["a"], degraded: ["b"] },
  ).status;
  assert.deepEqual(status.commands, [{ name: "plan", description: "d" }]);
  assert.deepEqual(status.resume, { command: "x" });
  assert.deepEqual([status.machine, status.machineId, status.works, status.degraded], ["degraded", "m", ["a"], ["b"]]);
});
