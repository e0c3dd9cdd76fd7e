import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { isComposing } from "../src/ui/composing.ts";

test("keys of an input method are told from those of the page, in every browser", () => {
  assert.ok(isComposing({ isComposing: true, keyCode: 13 }), "while it composes");
  assert.ok(isComposing({ isComposing: false, keyCode: 229 }), "the last Enter, in Safari");
  assert.ok(!isComposing({ isComposing: false, keyCode: 13 }));
});

test("every place that listens to keys asks the same question", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((one) => /\.tsx?$/.test(one));
  const own = files.filter((one) => /[.?]isComposing\b|keyCode/.test(readFileSync(`src/${one}`, "utf8")));
  assert.deepEqual(own, ["ui/composing.ts"]);
});
