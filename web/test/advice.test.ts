import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { adviceOn, CODES_WITH_ADVICE } from "../src/pages/chat/transcript/advice.ts";

const page = readFileSync(new URL("../../docs/protocols/events.md", import.meta.url), "utf8");

/** The rows of the table of codes from machines: the codes, and what to do. */
function documented(): { codes: string[]; todo: string }[] {
  const [, table] = page.split("| `execution_error.code` | when | what to do |\n| --- | --- | --- |\n");
  assert.ok(table);
  const rows = table.slice(0, table.indexOf("\n\n")).split("\n");
  return rows.map((row) => {
    const cells = row.split(" | ");
    return { codes: [...(cells[0] ?? "").matchAll(/`([A-Z_]+)`/g)].map((found) => found[1] ?? ""), todo: cells.at(-1) ?? "" };
  });
}

test("whatever the documents say can be done about a failed turn is said on the page", () => {
  const rows = documented();
  assert.ok(rows.length > 20);
  for (const { codes, todo } of rows) {
    for (const code of codes) assert.equal(adviceOn(code) !== null, todo.replace("|", "").trim() !== "", code);
  }
});

test("advice is given on codes that there are", () => {
  for (const code of CODES_WITH_ADVICE) assert.ok(page.includes(`\`${code}\``), code);
  assert.equal(adviceOn("NEVER_HEARD_OF"), null);
});
