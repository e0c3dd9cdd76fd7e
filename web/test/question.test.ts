import assert from "node:assert/strict";
import { test } from "node:test";
import { deadlineOf, isCut, kindOf, messageOf, optionsOf, partsOf, speakerOf, translated } from "../src/approvals/question.ts";
import { changes, counted, unified } from "../src/approvals/lines.ts";
import { settle, settledOf } from "../src/approvals/settled.ts";

const asked = (tool_name: string, tool_input: unknown) => partsOf({ tool_name, tool_input });

test("a command is shown whole, and so is everything beside it", () => {
  const long = "x".repeat(200_000);
  const parts = asked("bash", { command: `echo ${long}\nls`, cwd: "/srv", env: { A: "1", B: "2" } });
  assert.deepEqual(
    parts.map((part) => [part.kind, part.of]),
    [["command", "command"], ["value", "cwd"], ["text", "env"]],
  );
  assert.equal(parts[0]!.kind === "command" && parts[0]!.text, `echo ${long}\nls`);
});

test("edits of every runtime become diffs, and what else they say stays", () => {
  const ours = asked("edit_file", { path: "a.py", old_text: "a\nb\n", new_text: "a\nc\n", replace_all: true });
  assert.deepEqual(ours, [
    {
      kind: "diff",
      of: "new_text",
      path: "a.py",
      isWhole: false,
      runs: [
        { kind: "same", lines: ["a"] },
        { kind: "removed", lines: ["b"] },
        { kind: "added", lines: ["c"] },
      ],
    },
    { kind: "value", of: "replace_all", text: "true" },
  ]);
  const claude = asked("MultiEdit", {
    file_path: "b",
    edits: [
      { old_string: "1", new_string: "2", replace_all: false },
      { old_string: "3", new_string: "4" },
    ],
  });
  assert.deepEqual(
    claude.map((part) => [part.kind, part.of, part.kind === "diff" && part.path]),
    [["diff", "edits[0]", "b"], ["value", "edits[0].replace_all", false], ["diff", "edits[1]", "b"]],
  );
  const acp = asked("edit", {
    title: "Change c",
    diffs: [
      { path: "c", old_text: null, new_text: "n" },
      { path: "d", old_text: "o", new_text: "n" },
    ],
  });
  assert.deepEqual(
    acp.map((part) => [part.of, part.kind === "diff" && part.isWhole]),
    [["diffs[0]", true], ["diffs[1]", false], ["title", false]],
  );
  const file = asked("write_file", { path: "e", content: "one\ntwo" });
  assert.deepEqual(file, [
    { kind: "diff", of: "content", path: "e", isWhole: true, runs: [{ kind: "added", lines: ["one", "two"] }] },
  ]);
  assert.equal(asked("apply_patch", { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b" })[0]!.kind, "diff");
});

test("what no form is known for is shown as JSON", () => {
  const parts = asked("mcp__mail__send", { to: ["a", "b"], body: "one\ntwo", nothing: null });
  assert.deepEqual(
    parts.map((part) => [part.kind, part.of]),
    [["text", "to"], ["text", "body"], ["value", "nothing"]],
  );
  assert.deepEqual(partsOf({ tool_name: "x", args: "plain" }), [{ kind: "value", of: "args", text: "plain" }]);
  assert.deepEqual(asked("edit_file", { path: "a", edits: [{ strange: 1 }] }).map((part) => part.of), ["path", "edits"]);
});

test("a question in words is shown once", () => {
  const event = { kind: "select", message: "Which?", options: ["a", "b"], tool_name: "ask_user" };
  const given = { question: "Which?", options: ["a", "b"], why: "to go on" };
  assert.deepEqual(partsOf({ ...event, tool_input: given }), [{ kind: "value", of: "why", text: "to go on" }]);
});

test("characters that hide or turn round others are written out", () => {
  const [part] = asked("bash", { command: "rm \u202e/ # \u200bsafe\r\u0007" });
  assert.equal(part!.kind === "command" && part!.text, "rm ⟨U+202E⟩/ # ⟨U+200B⟩safe⟨U+000D⟩⟨U+0007⟩");
  assert.equal(messageOf({ message: "May I?\u2066" }), "May I?⟨U+2066⟩");
});

test("what a question is, who asks it and until when", () => {
  assert.deepEqual([{ kind: "input" }, { options: ["a"] }, {}, { kind: "odd" }].map(kindOf), [
    "input",
    "select",
    "approve",
    "approve",
  ]);
  assert.deepEqual(optionsOf({ options: ["a", { label: "b" }, { value: 3 }] }), ["a", "b", "3"]);
  assert.equal(speakerOf({ person: { id: "1", name: "Ann" } }), "Ann");
  const base = { sessionId: "s", requestId: "r", resolution: null, event: { timeout_seconds: 60 } };
  assert.equal(deadlineOf({ ...base, askedAt: 1000 }), 61_000);
  assert.equal(deadlineOf({ ...base, askedAt: null }), null);
  assert.deepEqual([{ truncated: true }, { message: "语".repeat(90_000) }, {}].map(isCut), [true, true, false]);
});

test("changes put together are both texts again", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  const text = () => Array.from({ length: random(12) }, () => "abcd"[random(4)]).join("\n");
  for (let round = 0; round < 2_000; round++) {
    const [before, after] = [text(), text()];
    const runs = changes(before, after);
    const side = (other: string) => runs.flatMap((run) => (run.kind === other ? [] : run.lines)).join("\n");
    assert.equal(side("added"), before);
    assert.equal(side("removed"), after);
  }
  assert.deepEqual(counted(changes("a\nb\nc", "a\nc\nd")), { added: 1, removed: 1 });
  assert.deepEqual(unified("@@ -1 +1 @@\n-a\n+b\n c").map((run) => run.kind), ["place", "removed", "added", "same"]);
});

test("an answered question is over, also by a slow clock, until it is asked anew", () => {
  const asked = { sessionId: "s", requestId: "q", askedAt: Date.now() + 60_000 };
  settle(asked, { how: "yes" });
  settle(asked, { how: "elsewhere" });
  assert.equal(settledOf(asked)?.how, "yes");
  const anew = { ...asked, askedAt: asked.askedAt + 1 };
  assert.equal(settledOf(anew), null);
  settle(anew, { how: "no" });
  assert.equal(settledOf(anew)?.how, "no");
});

test("the usual question is asked in the reader's language, with what was added to it", () => {
  const mayUse = (tool: string) => `可以使用 ${tool} 吗？`;
  assert.equal(translated("May I use bash?\nIt leaves the folder.", mayUse), "可以使用 bash 吗？\nIt leaves the folder.");
  assert.equal(translated("Which colour? May I use red?", mayUse), "Which colour? May I use red?");
});
