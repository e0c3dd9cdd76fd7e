// The stream of a browser: each event once and in order, one stream for all tabs, taken over when its
// tab is gone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Board, type Step } from "../src/live/board.ts";
import { Desk } from "../src/live/desk.ts";
import { Gate } from "../src/live/gate.ts";
import { patched } from "../src/live/patched.ts";
import type { LiveEvent } from "../src/live/types.ts";
import { dataOf } from "../src/worker/data.ts";
import { isAway, wayOf } from "../src/worker/rules.ts";
import { seeded } from "./random.ts";

const line = (id: number): LiveEvent => ({ id, line: `${id}` });

test("any interleaving of replays and live events is handed over once and in order", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const next = seeded(seed);
    const start = Math.floor(next() * 5);
    const gate = new Gate(start);
    const got: number[] = [];
    let newest = start;
    while (newest < 60) {
      // Live, or a replay from anywhere behind, as after a break or for another tab.
      const from = next() < 0.5 ? newest : Math.max(0, newest - Math.floor(next() * 10));
      newest = Math.max(newest, from + Math.floor(next() * 6));
      const events = Array.from({ length: newest - from }, (_, at) => line(from + 1 + at));
      const order = next() < 0.3 ? [events.slice(3), events.slice(0, 3)] : [events];
      for (const some of order) got.push(...gate.take(some).map((event) => event.id));
      assert.equal(gate.isWaiting, false);
    }
    assert.deepEqual(got, Array.from({ length: newest - start }, (_, at) => start + 1 + at), `seed ${seed}`);
  }
  const gate = new Gate(3);
  assert.deepEqual(gate.take([line(6), line(8), line(10)]), []);
  assert.deepEqual(gate.take([line(5), line(4)]), [4, 5, 6].map(line), "in any order");
  assert.deepEqual(gate.release(), [8, 10].map(line));
  assert.deepEqual([gate.take([line(9), line(11)]), gate.isWaiting], [[line(11)], false]);
});

const want = (sessionId: string, position: number, turn = 1) => ({ sessionId, position, turn });
const followStep = (sessionId: string, after: number): Step => ({ do: "follow", sessionId, after });
const leaveStep = (sessionId: string): Step => ({ do: "leave", sessionId });

test("one stream follows what any tab follows, and only that", () => {
  const board = new Board();
  assert.deepEqual(board.take("one", [want("a", 5)]), [followStep("a", 5)]);
  for (const id of [6, 7, 8, 9]) board.heard("a", id);
  assert.deepEqual(board.take("two", [want("a", 9), want("b", 0)]), [followStep("b", 0)]);
  assert.deepEqual(board.take("two", [want("a", 9), want("b", 0)]), [], "said again");
  assert.ok(board.isWantedBeside("one", "a") && !board.isWantedBeside("two", "b"));
  assert.deepEqual(board.take("three", [want("a", 7)]), [followStep("a", 7)], "who is behind gets a replay");
  assert.deepEqual(board.take("three", [want("a", 7)]), []);
  assert.deepEqual(board.take("three", [want("a", 2, 2)]), [followStep("a", 2)], "begun anew");
  assert.deepEqual(board.gone("three"), []);
  assert.deepEqual(board.take("two", []), [leaveStep("b")]);
  assert.deepEqual(board.gone("one"), [leaveStep("a")]);
  assert.deepEqual([...board.positions], []);
});

test("a stream that is opened again goes on where it was, and leaves out what is gone", () => {
  const board = new Board();
  board.take("one", [want("a", 5), want("b", 1)]);
  board.skipped("a", 12);
  board.heard("a", 99);
  board.heard("x", 3);
  board.refuse("b");
  assert.deepEqual([...board.positions], [["a", 12]]);
  assert.deepEqual(board.take("one", [want("a", 12), want("b", 1)]), [], "not asked for again and again");
  assert.deepEqual(board.take("one", [want("a", 12), want("b", 1, 2)]), [followStep("b", 1)]);
});

test("more sessions than a stream may follow wait for room", () => {
  const board = new Board();
  const many = Array.from({ length: 60 }, (_, at) => want(`s${at}`, 0));
  assert.equal(board.take("one", many).length, 50);
  assert.equal(board.positions.size, 50);
  const steps = board.take("one", many.slice(20));
  assert.equal(steps.filter((step) => step.do === "leave").length, 20);
  assert.equal(steps.filter((step) => step.do === "follow").length, 10);
});

test("each follower of a tab gets what it lacks", () => {
  const changes: number[] = [];
  const due: (() => void)[] = [];
  const desk = new Desk(
    () => changes.push(1),
    (_ms, call) => {
      due.push(call);
      return () => due.splice(due.indexOf(call), 1);
    },
  );
  const got: Record<string, number[]> = { near: [], far: [] };
  let resyncs = 0;
  const sink = (name: "near" | "far", position: number) => ({
    position: () => position,
    onEvents: (events: LiveEvent[]) => got[name]?.push(...events.map((event) => event.id)),
    onResync: () => (resyncs += 1),
  });
  const leaveNear = desk.follow("s", sink("near", 4));
  const leaveFar = desk.follow("s", sink("far", 1));
  assert.equal(desk.wants()[0]?.position, 1);
  desk.events("s", [2, 3, 4, 5].map(line));
  desk.events("s", [4, 5, 6].map(line));
  assert.deepEqual(got, { near: [5, 6], far: [2, 3, 4, 5, 6] });
  desk.events("s", [8].map(line));
  desk.events("s", [7].map(line));
  assert.deepEqual([got.near?.at(-1), resyncs, due.length], [8, 0, 0], "the replay came in time");
  desk.events("s", [10].map(line));
  for (const call of [...due]) call();
  assert.deepEqual([got.near?.at(-1), resyncs], [10, 2], "it did not: the follower reads it itself");
  desk.resync("s", 10);
  assert.equal(resyncs, 2, "nothing is missing up to there");
  desk.resync("s", 20);
  assert.equal(resyncs, 4);
  assert.equal(desk.wants()[0]?.position, 10);
  leaveFar();
  leaveFar();
  leaveNear();
  assert.deepEqual(desk.wants(), []);
  assert.equal(changes.length, 3);
});

test("a record is changed in the lists that have it", () => {
  const page = { items: [{ id: "a", n: 1 }, { id: "b", n: 1 }], next_cursor: null };
  const b = { id: "b", n: 2 };
  assert.deepEqual(patched(page, b), { items: [{ id: "a", n: 1 }, b], next_cursor: null });
  assert.equal(patched(page, { id: "c" }), page);
  const pages = { pages: [page, { items: [] }], pageParams: [] };
  assert.deepEqual((patched(pages, b) as typeof pages).pages[0]?.items[1], b);
  assert.equal(patched(pages, { id: "c" }), pages);
  for (const strange of [undefined, null, 5, {}, { items: 5 }]) assert.equal(patched(strange, b), strange);
});

test("the worker serves the page and what was read, and leaves the rest alone", () => {
  const cases: [string, string, string][] = [
    ["navigate", "/chat/abc", "document"],
    ["navigate", "/", "document"],
    ["navigate", "/docs", "leave"],
    ["navigate", "/api/v1/sessions/x/export", "leave"],
    ["cors", "/assets/index-abc.js", "asset"],
    ["cors", "/theme.js", "asset"],
    ["cors", "/api/v1/stream", "leave"],
    ["cors", "/api/v1/sessions/x/stream", "leave"],
    ["cors", "/api/v1/sessions?limit=50", "data"],
    ["cors", "/api/v1/sessions/x/events?before=9", "data"],
    ["cors", "/api/v1/usage?group_by=model", "data"],
    ["cors", "/api/v1/skills", "data"],
    ["cors", "/api/v1/welcome", "data"],
    ["cors", "/api/v1/models", "data"],
    ["cors", "/api/v1/rules?limit=50", "data"],
    ["cors", "/api/v1/machines/x", "data"],
    ["cors", "/api/v1/sessions/x/files", "leave"],
    ["cors", "/api/v1/sessions/search?q=x", "leave"],
    ["cors", "/api/v1/rules/trial", "leave"],
    ["cors", "/api/v1/users", "leave"],
    ["cors", "/api/v1/users/x/tokens", "leave"],
    ["cors", "/api/v1/audit", "leave"],
    ["cors", "/sw.js", "leave"],
    ["cors", "/api/v1/sessions/x/events?before=9&limit=1000", "data"],
    ["cors", "/api/v1/sessions/x/events?after=9&limit=1000", "leave"],
    ["navigate", "/login?code=x", "login"],
  ];
  const origin = "https://agents.example";
  for (const [mode, path, way] of cases) {
    const asked = { method: "GET", mode, url: origin + path, hasRange: false };
    assert.equal(wayOf(asked, origin), way, path);
    assert.equal(wayOf({ ...asked, method: "POST" }, origin), "leave");
    assert.equal(wayOf({ ...asked, url: `https://evil.example${path}` }, origin), "leave");
  }
  assert.ok(isAway(502) && !isAway(500) && !isAway(200));
});

test("what is kept is looked up when it is wanted, not before: it may have become somebody else's", async () => {
  let isOfAnother = false;
  const kept = async () => (isOfAnother ? undefined : new Response("of the one before"));
  let hang: () => void = () => {};
  const wait = () => new Promise<void>((resolve) => (hang = resolve));
  let arrive: (answer: Response) => void = () => {};
  const { shown } = dataOf({ ask: () => new Promise((resolve) => (arrive = resolve)), kept, wait });
  isOfAnother = true;
  hang();
  arrive(new Response("of the one who asked"));
  assert.equal(await (await shown).text(), "of the one who asked");
});

test("what was read before is shown when the server is away, and when its line hangs", async () => {
  const kept = async () => new Response("kept");
  const ended = async () => undefined;
  const never = () => new Promise<never>(() => {});
  const said = async (around: Parameters<typeof dataOf>[0]) => {
    const { shown, answer } = dataOf(around);
    return [await (await shown).text(), (await answer)?.response.status ?? null];
  };
  const fresh = async () => new Response("fresh");
  const away = async () => new Response("away", { status: 503 });
  const cut = () => Promise.reject(new Error("cut"));
  const nothing = async () => undefined;
  assert.deepEqual(await said({ ask: fresh, kept, wait: never }), ["fresh", 200]);
  assert.deepEqual(await said({ ask: cut, kept, wait: never }), ["kept", null]);
  assert.deepEqual(await said({ ask: away, kept, wait: never }), ["kept", null]);
  assert.deepEqual(await said({ ask: away, kept: nothing, wait: never }), ["away", null]);
  assert.equal((await dataOf({ ask: cut, kept: nothing, wait: never }).shown).type, "error");

  let arrive: (answer: Response) => void = () => {};
  const late = () => new Promise<Response>((resolve) => (arrive = resolve));
  const hanging = dataOf({ ask: late, kept, wait: ended });
  assert.equal(await (await hanging.shown).text(), "kept");
  arrive(new Response("late"));
  const answer = await hanging.answer;
  assert.equal(await answer?.response.text(), "late", "it is kept for the next time");
  assert.ok(answer?.isLate, "and the page is told if it is other than what was shown");
  const first = dataOf({ ask: late, kept: nothing, wait: ended });
  arrive(new Response("slow"));
  assert.equal(await (await first.shown).text(), "slow", "with nothing kept it is waited for");
  assert.equal((await first.answer)?.isLate, false);
  assert.equal((await dataOf({ ask: fresh, kept, wait: never }).answer)?.isLate, false);
});
