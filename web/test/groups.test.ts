// Whom a message calls, and a group's conversation by person.
import assert from "node:assert/strict";
import { test } from "node:test";
import { columnOf, everybodyIn, speakingIn } from "../src/pages/groups/byPerson.ts";
import { completed, completionAt } from "../src/pages/chat/composer/completion.ts";
import type { Lane, Row, Turn } from "../src/session/model.ts";

const OFFERED = {
  commands: [],
  mentions: ["Malice", "alice", "小明"].map((name) => ({ name, description: "" })),
};

function offeredAt(text: string, cursor = text.length): string {
  const found = completionAt(text, cursor, OFFERED);
  return found === null ? "" : found.options.map((option) => option.name).join(" ");
}

test("an @ offers persons, and not inside an address", () => {
  const cases: [string, string][] = [
    ["@", "@Malice @alice @小明"],
    ["look, @AL", "@alice @Malice"],
    ["请@小", "@小明"],
    ["＠小", "@小明"],
    ["(@ma", "@Malice"],
    ["ann@al", ""],
    ["ann.@al", ""],
    ["@@al", ""],
    ["@al ", ""],
    ["@al.", ""],
    ["@nobody", ""],
  ];
  for (const [text, names] of cases) assert.equal(offeredAt(text), names, text);
  assert.equal(offeredAt("to @al and more", 6), "@alice @Malice");
});

test("a chosen name takes the place of what was typed of it", () => {
  const found = completionAt("to ＠al now", 6, OFFERED);
  const option = found?.options[0];
  assert.ok(found && option);
  assert.deepEqual(completed("to ＠al now", found, option), { text: "to @alice now", cursor: 10 });
});

const ALICE = { id: "a", name: "alice" };
const BOB = { id: "b", name: "bob" };

function row(kind: string, person: typeof ALICE | null, more = {}): Row {
  return { key: `${kind}-${person?.id ?? ""}`, kind, person, ...more } as unknown as Row;
}

function lane(person: typeof ALICE, state: Lane["state"], by: string | null = null): Lane {
  const rows = [row("block", person)];
  return { key: person.id, person, ask: 1, by, state, error: null, usage: null, rows };
}

function turn(state: Turn["state"], lanes: Lane[], ending: string | null = null): Turn {
  const spoken = lanes.flatMap((one) => [row("speaker", one.person, { lane: one.key }), ...one.rows]);
  const ended = ending === null ? [] : [row("end", null, { state: ending })];
  return { key: "t", id: "t", state, startedTs: 0, lanes, rows: [row("user", null), ...spoken, ...ended] };
}

const kinds = (rows: Row[]) => rows.map((one) => one.key).join(" ");

test("a column has what its person was asked and said, and nothing of others", () => {
  const turns = [
    turn("completed", [lane(ALICE, "completed"), lane(BOB, "failed")], "completed"),
    turn("completed", [lane(BOB, "completed", "alice")], "completed"),
    turn("cancelled", [lane(ALICE, "cancelled")], "cancelled"),
    turn("running", []),
  ];
  assert.equal(kinds(columnOf(turns, "a")), "user- block-a user- speaker-a block-a end- user-");
  assert.equal(kinds(columnOf(turns, "b")), "user- speaker-b block-b user- speaker-b block-b user-");
});

test("who has left the group is still in its conversation, and only open turns have speakers", () => {
  const turns = [
    turn("completed", [lane(BOB, "speaking")]),
    turn("running", [lane(ALICE, "speaking"), lane(BOB, "completed")]),
  ];
  assert.deepEqual(everybodyIn(turns, [ALICE]), [ALICE, BOB]);
  assert.deepEqual(speakingIn(turns), ["alice"]);
});
