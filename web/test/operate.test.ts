import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, EVERYTHING } from "../src/pages/operate/audit/filter.ts";
import { bytes, duration, money } from "../src/ui/numbers.ts";

test("a filter asks for what was filled in, and nothing else", () => {
  assert.deepEqual(asked(EVERYTHING), {});
  const filled = { ...EVERYTHING, q: " key ", user: "u", event: "token. ", source: "machine" };
  assert.deepEqual(asked(filled), { q: "key", user_id: "u", event: "token.", source: "machine" });
  assert.deepEqual(asked({ ...EVERYTHING, q: "x", source: "nobody", from: "soon", to: "1-2-3" }), {});
});

test("the last day of a span counts as a whole", () => {
  const { since, until } = asked({ ...EVERYTHING, from: "2026-03-01", to: "2026-03-01" });
  assert.equal(since, new Date(2026, 2, 1).getTime());
  assert.equal(until, new Date(2026, 2, 2).getTime());
  assert.deepEqual(asked({ ...EVERYTHING, to: "1900-01-01" }), {});
});

test("figures read as people write them", () => {
  assert.equal(money(12.345, "USD", "en"), "$12.35");
  assert.equal(money(0.0042, "USD", "en"), "$0.0042");
  assert.equal(money(0, "USD", "en"), "$0.00");
  assert.equal(money(2, "credits", "en"), "2.00 credits");
  assert.equal(bytes(0, "en"), "0 bytes");
  assert.equal(bytes(44_000_000_000, "en"), "44 GB");
  assert.equal(bytes(1_500_000, "en"), "1.5 MB");
});

test("a duration has its two largest units", () => {
  const cases: [number, string][] = [
    [-3, "0ms"],
    [350.4, "350ms"],
    [2_440, "2.4s"],
    [20_000, "20s"],
    [90_000, "1m 30s"],
    [3_600_000, "1h 0m"],
    [200_000_000, "2d 7h"],
  ];
  for (const [ms, told] of cases) assert.equal(duration(ms, "en"), told);
});
