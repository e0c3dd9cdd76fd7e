import assert from "node:assert/strict";
import { test } from "node:test";
import { Translator } from "../src/event-translator.ts";
import type { Json } from "../src/json.ts";

const names = {
  skillAt: (path: string) => (path === "/skills/pdf/SKILL.md" ? "pdf" : undefined),
  toolName: (name: string) => name.replace(/^s-1__/, ""),
};

function translated(...events: [string, Json][]): Json[] {
  const translator = new Translator(names);
  return events.flatMap(([stream, data]) => translator.translate({ stream, data }));
}

test("text that grows becomes chunks of what is new", () => {
  const events = translated(
    ["assistant", { itemId: "a", text: "Hel", delta: "Hel" }],
    ["assistant", { itemId: "a", text: "Hello you", delta: "lo you" }],
    ["assistant", { itemId: "a", text: "Hello you", delta: "" }],
  );
  assert.deepEqual(events, [
    { type: "text_chunk", content: "Hel" },
    { type: "text_chunk", content: "lo you" },
  ]);
});

test("what is said before a tool and after it is told apart, and shown once", () => {
  const events = translated(
    ["item", { kind: "preamble", itemId: "p", progressText: "Working." }],
    ["assistant", { itemId: "x", text: "Working." }],
    ["assistant", { itemId: "b", text: "Done." }],
  );
  assert.deepEqual(
    events.map((event) => event["content"]),
    ["Working.", "\n\nDone."],
  );
});

test("a tool is shown with its input, its output while it runs and its result", () => {
  const events = translated(
    ["tool", { phase: "start", name: "exec", toolCallId: "c", args: { command: "ls" } }],
    ["tool", { phase: "update", toolCallId: "c", partialResult: { content: [{ type: "text", text: "a\n" }] } }],
    ["tool", { phase: "update", toolCallId: "c", partialResult: { content: [{ type: "text", text: "a\nb\n" }] } }],
    [
      "tool",
      {
        phase: "result",
        name: "exec",
        toolCallId: "c",
        isError: true,
        result: { content: [{ type: "text", text: "a\nb\n" }], details: { exitCode: 2, timedOut: true } },
      },
    ],
  );
  assert.deepEqual(events, [
    { type: "tool_call_start", tool_name: "exec", tool_input: { command: "ls" }, tool_call_id: "c" },
    { type: "tool_call_progress", tool_name: "exec", content: "a\n", tool_call_id: "c" },
    { type: "tool_call_progress", tool_name: "exec", content: "b\n", tool_call_id: "c" },
    {
      type: "tool_call_complete",
      tool_name: "exec",
      tool_input: { command: "ls" },
      result: "a\nb\n",
      is_error: true,
      tool_call_id: "c",
      details: { exit_code: 2, timed_out: true },
    },
  ]);
});

test("reading a skill's guide is a skill call inside the tool call", () => {
  const events = translated(
    ["tool", { phase: "start", name: "read", toolCallId: "c", args: { path: "/skills/pdf/SKILL.md" } }],
    ["tool", { phase: "result", name: "read", toolCallId: "c", result: { content: [{ type: "text", text: "Do." }] } }],
  );
  assert.deepEqual(
    events.map((event) => event["type"]),
    ["tool_call_start", "skill_call_start", "skill_call_complete", "tool_call_complete"],
  );
  assert.deepEqual(events[1], {
    type: "skill_call_start",
    skill_name: "pdf",
    arguments: { path: "/skills/pdf/SKILL.md" },
    tool_call_id: "c",
  });
  assert.equal(events[2]?.["result"], "Do.");
});

test("a tool of ours has its plain name", () => {
  const [event] = translated(["tool", { phase: "start", name: "s-1__recall", toolCallId: "c" }]);
  assert.equal(event?.["tool_name"], "recall");
});

test("thinking has the stage openclaw", () => {
  const events = translated(
    ["thinking", { text: "I won" }],
    ["thinking", { text: "I wonder" }],
  );
  assert.deepEqual(events, [
    { type: "thinking", content: "I won", stage: "openclaw" },
    { type: "thinking", content: "der", stage: "openclaw" },
  ]);
});

test("the first end of a run counts, a second one after an abort does not", () => {
  const translator = new Translator(names);
  translator.translate({ stream: "lifecycle", data: { phase: "end", aborted: true } });
  translator.translate({ stream: "lifecycle", data: { phase: "error", error: "late" } });
  assert.deepEqual(translator.end, { aborted: true });
});

test("an error of a run keeps its words", () => {
  const translator = new Translator(names);
  translator.translate({ stream: "lifecycle", data: { phase: "error", error: "no credit" } });
  assert.deepEqual(translator.end, { aborted: false, error: "no credit" });
});

test("what is not known, or not shaped as it should be, is left out", () => {
  const events = translated(
    ["dance", { text: "x" }],
    ["usage", { outputTokens: 4 }],
    ["assistant", { text: 7 } as Json],
    ["item", { kind: "tool", title: "x" }],
    ["tool", { phase: "sleep" }],
    ["tool", { phase: "update", toolCallId: "nobody" }],
  );
  assert.deepEqual(events, []);
  assert.deepEqual(new Translator(names).translate({ stream: "assistant", data: null }), []);
});
