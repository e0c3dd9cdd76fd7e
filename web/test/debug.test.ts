// What the debug view shows of a session's events: which of them, in which forms, each once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Counter, jsonLines, laidOut, matches, merged, textsOf, typesOf, type DebugEvent } from "../src/pages/debug/columns.ts";

const said = (text: string) => ({ text, size: text.length, is_cut: false });

function event(id: number, type: string, text: string): DebugEvent {
  const one = said(text);
  return {
    id,
    type,
    ts: id,
    raw: null,
    log: one,
    sse: one,
    myagent: [said("mine"), said("yours")],
    yeaft: [],
    yeaft_deployed: [],
  } as unknown as DebugEvent;
}

test("events are found by type, id, and text in a form that is shown", () => {
  const one = event(7, "text_chunk", "Hello");
  const columns = ["log", "myagent"] as const;
  const fits = (type: string, text: string, shown: readonly ("log" | "myagent")[] = columns) =>
    matches(one, { type, text, columns: shown });
  assert.ok(fits("", ""));
  assert.ok(fits("text_chunk", " hELLO "));
  assert.ok(fits("", "YOURS"));
  assert.ok(fits("", "7"));
  assert.ok(!fits("usage", ""));
  assert.ok(!fits("", "yours", ["log"]));
  assert.deepEqual(textsOf(one, "raw"), []);
  assert.equal(textsOf(one, "myagent").length, 2);
  assert.deepEqual(typesOf([one, event(8, "usage", ""), one]), ["text_chunk", "usage"]);
});

test("pages that overlap are one list, and what was read last counts", () => {
  const list = merged([event(2, "a", "old"), event(3, "a", "x")], [event(1, "a", ""), event(2, "a", "new")], 10);
  assert.deepEqual(list.map((one) => one.id), [1, 2, 3]);
  assert.equal(list[1]?.log.text, "new");
  assert.deepEqual(merged(list, [], 2).map((one) => one.id), [2, 3]);
});

test("what is downloaded is one JSON object a line, whatever is in it", () => {
  const lines = jsonLines([event(1, "a", 'two\n"lines"\u2028'), event(2, "b", "")], ["log"]);
  const read = lines.trimEnd().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(read.map((one) => Object.keys(one)), [["id", "type", "ts", "log"], ["id", "type", "ts", "log"]]);
  assert.equal(jsonLines([], ["log"]), "");
});

test("JSON is laid out, and nothing else is touched", () => {
  assert.equal(laidOut('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  for (const text of ["id: 1\ndata: {}\n\n", "{no JSON", "", "5"]) assert.equal(laidOut(text), text);
});

test("the counter counts all, and the rate of the last second", () => {
  const counter = new Counter();
  counter.add(3, 30, 1_000);
  counter.add(2, 20, 1_900);
  assert.equal(counter.rate(1_950), 5);
  assert.equal(counter.rate(2_100), 2);
  assert.equal(counter.rate(9_000), 0);
  assert.deepEqual([counter.frames, counter.bytes], [5, 50]);
});
