import assert from "node:assert/strict";
import { test } from "node:test";
import { keepUnsent, unsentOf } from "../src/pages/chat/composer/unsent.ts";
import { completed, completionAt } from "../src/pages/chat/composer/completion.ts";

const offered = {
  commands: [
    { name: "compact", description: "" },
    { name: "review", description: "" },
  ],
  mentions: [
    { name: "Mei", description: "" },
    { name: "小明", description: "" },
    { name: "all", description: "" },
  ],
};

const cases: [string, number | null, string[] | null][] = [
  ["/", null, ["/compact", "/review"]],
  ["/re", null, ["/review"]],
  ["/compact", null, null], // it is written already: Enter sends it
  ["/none", null, null],
  ["say /re", null, null],
  ["/review now", null, null],
  ["hello @m", null, ["@Mei"]],
  ["你好，@小", null, ["@小明"]],
  ["mail@me", null, null],
  ["@Mei and @", null, ["@Mei", "@小明", "@all"]],
  ["@m behind", 2, ["@Mei", "@小明"].slice(0, 1)],
  ["", null, null],
];

test("commands are completed at the beginning, persons behind an @", () => {
  for (const [text, cursor, expected] of cases) {
    const found = completionAt(text, cursor ?? text.length, offered);
    assert.deepEqual(found?.options.map((option) => option.name) ?? null, expected, text);
  }
});

test("what is completed stands in its place, with one space behind it", () => {
  const text = "ask @m about it";
  const found = completionAt(text, 6, offered);
  assert.ok(found?.options[0]);
  assert.deepEqual(completed(text, found, found.options[0]), { text: "ask @Mei about it", cursor: 9 });
});

test("what one tab could not send stays when another tab sends something", () => {
  const message = (id: string) => ({ id, text: id, files: [], whenBusy: "queue" as const });
  const ids = () => unsentOf("s").map((one) => one.id);
  keepUnsent("s", [message("a")], new Set(["a"]));
  const other = new Set(["b"]);
  keepUnsent("s", [message("b")], other);
  assert.deepEqual(ids(), ["a", "b"]);
  keepUnsent("s", [], other);
  assert.deepEqual(ids(), ["a"]);
  keepUnsent("s", [], new Set(["a"]));
  assert.deepEqual(ids(), []);
});
