import assert from "node:assert/strict";
import { test } from "node:test";
import { daysFrom, firstDay, parts, perDay, totalOf, type Sum } from "../src/pages/operate/usage/figures.ts";

const NOON = Date.UTC(2026, 2, 1, 12);

function sum(key: string | null, day: string | null, calls: number, cost: number | null = null): Sum {
  const priced = cost === null ? null : { amount: cost, currency: "USD" };
  return { key, day, calls, tokens_in: calls * 10, tokens_out: calls, cost: priced, unpriced_calls: cost === null ? calls : 0 };
}

test("a span has every day of it, today too", () => {
  const since = firstDay(NOON, 3);
  assert.deepEqual(daysFrom(since, NOON), ["2026-02-27", "2026-02-28", "2026-03-01"]);
  assert.deepEqual(daysFrom(firstDay(NOON, 1), NOON), ["2026-03-01"]);
});

test("parts are the largest keys by day, and the small ones are one", () => {
  const days = ["2026-02-28", "2026-03-01"];
  const sums = [..."abcdefgh"].map((key, at) => sum(key, "2026-03-01", at + 1));
  const made = parts([...sums, sum("h", "2026-02-28", 5), sum("h", "1999-01-01", 99)], days, "calls", 2);
  assert.deepEqual(made, [
    { key: "h", rest: false, values: [5, 8] },
    { key: "g", rest: false, values: [0, 7] },
    { key: null, rest: true, values: [0, 21] },
  ]);
});

test("one key too many is no rest: it would take the same room", () => {
  const made = parts([sum("a", "2026-03-01", 1), sum(null, "2026-03-01", 2)], ["2026-03-01"], "tokens", 1);
  assert.deepEqual(made.map((part) => [part.key, part.rest]), [[null, false], ["a", false]]);
});

test("totals add what is priced and count what is not", () => {
  const total = totalOf([sum("a", null, 2, 0.5), sum("b", null, 3), sum("c", null, 1, 0.25)]);
  assert.deepEqual(total, { calls: 6, tokensIn: 60, tokensOut: 6, cost: 0.75, currency: "USD", unpriced: 3 });
  assert.equal(totalOf([]).currency, null);
});

test("days come newest first with what all keys had", () => {
  const days = perDay([sum("a", "2026-02-28", 1), sum("a", "2026-03-01", 2), sum("b", "2026-03-01", 3)]);
  assert.deepEqual(days.map((one) => [one.day, one.calls]), [["2026-03-01", 5], ["2026-02-28", 1]]);
});
