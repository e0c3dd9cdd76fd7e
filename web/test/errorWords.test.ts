import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { CODES_IN_CHINESE, inChinese } from "../src/ui/errorWords.ts";

const DOCUMENTED = readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");

test("every code that has Chinese words is one of the server's", () => {
  assert.deepEqual(CODES_IN_CHINESE.filter((code) => !DOCUMENTED.includes(`\`${code}\``)), []);
});

const CASES: [string, string, string][] = [
  ["NAME_TAKEN", "there is a person of this name", "名称已被使用，请换一个（there is a person of this name）。"],
  ["SESSION_CLOSED", "", "会话已关闭，请新建一个。"],
  ["SOMETHING_NEW", "as the server says", "as the server says"],
];

for (const [code, message, wanted] of CASES) {
  test(`${code} with ${message === "" ? "no words" : "words"} of its own`, () => assert.equal(inChinese(code, message), wanted));
}
