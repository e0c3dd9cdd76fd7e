// Diffs as git, difflib and tools write them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOf, parseDiff } from "../src/ui/unified.ts";

const shown = (text: string) =>
  parseDiff(text).map((file) => ({
    name: nameOf(file),
    change: file.change,
    lines: file.hunks.flatMap((hunk) => hunk.lines.map((one) => [one.before, one.after, one.text])),
  }));

test("git's diff of several files", () => {
  const text = [
    "diff --git a/one.py b/one.py",
    "index 1..2 100644",
    "--- a/one.py",
    "+++ b/one.py",
    "@@ -3,2 +3,2 @@ def f():",
    " same",
    "--- a removed comment",
    "+++ an added one",
    "\\ No newline at end of file",
    "diff --git a/gone.txt b/gone.txt",
    "deleted file mode 100644",
    "--- a/gone.txt",
    "+++ /dev/null",
    "@@ -1 +0,0 @@",
    "-x",
    "diff --git a/old name b/new name",
    "similarity index 100%",
    "rename from old name",
    "rename to new name",
    "diff --git a/p.png b/p.png",
    "Binary files a/p.png and b/p.png differ",
    "",
  ].join("\n");
  assert.deepEqual(shown(text), [
    {
      name: "one.py",
      change: "changed",
      lines: [
        [3, 3, "same"],
        [4, null, "-- a removed comment"],
        [null, 4, "++ an added one"],
        [null, null, "No newline at end of file"],
      ],
    },
    { name: "gone.txt", change: "removed", lines: [[1, null, "x"]] },
    { name: "new name", change: "renamed", lines: [] },
    { name: "p.png", change: "changed", lines: [] },
  ]);
  assert.equal(parseDiff(text)[3]?.isBinary, true);
});

test("plain diffs: without git's head, without names, without hunks, with CRLF", () => {
  const plain = "--- /dev/null\n+++ b/a b\n@@ -0,0 +1,2 @@\n+1\r\n+\n--- x\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-1\n+2\n";
  assert.deepEqual(shown(plain), [
    { name: "a b", change: "added", lines: [[null, 1, "1"], [null, 2, ""]] },
    { name: "x", change: "changed", lines: [[1, null, "1"], [null, 1, "2"]] },
  ]);
  assert.deepEqual(shown("@@ -1 +1 @@\n-a\n+b\n"), [
    { name: "", change: "changed", lines: [[1, null, "a"], [null, 1, "b"]] },
  ]);
  assert.deepEqual(shown("-a\n+b\n c"), [
    { name: "", change: "changed", lines: [[1, null, "a"], [null, 1, "b"], [2, 2, "c"]] },
  ]);
});

test("what is no diff is empty", () => {
  for (const text of ["", "\n", "hello\nworld", "@@ nonsense @@"]) assert.deepEqual(shown(text), []);
});
