// One stream for all tabs of a browser: who holds it, what the others get, and what happens when it
// breaks, is silent, or its tab goes away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Tabs, type Channel, type Locks } from "../src/live/tabs.ts";
import { Desk } from "../src/live/desk.ts";
import { Browser, settle, World } from "./browserWorld.ts";
import { below, seeded } from "./random.ts";

const upto = (end: number, start = 1) => Array.from({ length: end - start + 1 }, (_, at) => start + at);

async function twoTabs() {
  const world = new World();
  world.say("a", 3);
  const browser = new Browser(world);
  const first = browser.open();
  await settle();
  const second = browser.open();
  await settle();
  return { world, browser, first, second };
}

test("two tabs share one stream, each with what it lacks", async () => {
  const { world, first, second } = await twoTabs();
  const near = first.follow("a", 2);
  await settle();
  const far = second.follow("a", 0);
  await settle();
  world.say("a", 2);
  await settle();
  assert.equal(world.streams.length, 1);
  assert.deepEqual([near.ids, far.ids], [upto(5, 3), upto(5)]);
  assert.deepEqual([first.line, second.line], ["live", "live"]);
  near.leave();
  await settle();
  assert.ok(world.streams[0]?.follows.has("a"));
  far.leave();
  await settle();
  assert.equal(world.streams[0]?.follows.size, 0);
});

test("when the tab with the stream is closed, another goes on from where each was", async () => {
  const { world, first, second } = await twoTabs();
  const seen = second.follow("a", 0);
  await settle();
  first.close();
  world.say("a", 2);
  await settle();
  world.say("a", 1);
  await settle();
  assert.deepEqual(seen.ids, upto(6));
  assert.equal(seen.resyncs, 0);
  assert.equal(second.line, "live");
  assert.ok(second.news.some((news) => news.kind === "connected"));
});

test("a tab that holds the stream and does not answer loses it, and takes it back as any other", async () => {
  const { world, first, second } = await twoTabs();
  const frozen = first.follow("a", 0);
  await settle();
  first.isFrozen = true;
  const seen = second.follow("a", 0);
  second.tabs.nudge();
  await world.pass(9_000);
  assert.equal(second.line, "live");
  assert.deepEqual(seen.ids, upto(3));
  first.isFrozen = false;
  first.tabs.nudge();
  await settle();
  world.say("a");
  await settle();
  assert.equal(world.streams.length, 1);
  assert.deepEqual(frozen.ids, upto(4));
});

test("a break is bridged from the position, and a server that is away is tried again", async () => {
  const { world, first, second } = await twoTabs();
  const seen = second.follow("a", 0);
  await settle();
  world.isUp = false;
  world.streams[0]?.end();
  await settle();
  assert.equal(first.line, "connecting");
  await world.pass(2_000);
  assert.deepEqual([first.line, second.line], ["offline", "offline"]);
  world.say("a", 2);
  world.isUp = true;
  first.tabs.nudge();
  await settle();
  assert.deepEqual([first.line, second.line], ["live", "live"]);
  assert.deepEqual(seen.ids, upto(5));
});

test("a line without a heartbeat is dead; a tab that is looked at again does not wait to find out", async () => {
  const { world, first } = await twoTabs();
  const before = world.streams[0];
  for (let beat = 0; beat < 5; beat++) {
    world.beat();
    await world.pass(15_000);
  }
  assert.equal(world.streams[0], before);
  await world.pass(40_000);
  assert.notEqual(world.streams[0], before);
  const after = world.streams[0];
  world.now += 21_000; // a phone's sleep: no timer runs
  first.tabs.nudge();
  await world.pass(1_000);
  assert.notEqual(world.streams[0], after);
  assert.equal(first.line, "live");
});

test("a login that has ended is not asked about again until somebody looks", async () => {
  const { world, first, second } = await twoTabs();
  world.status = 401;
  world.streams[0]?.end();
  await world.pass(2_000);
  assert.deepEqual([first.line, second.line], ["stranger", "stranger"]);
  const asked = world.asked.length;
  await world.pass(50_000);
  assert.equal(world.asked.length, asked);
  world.status = 200;
  second.tabs.nudge();
  await settle();
  assert.equal(first.line, "live");
});

test("a session that is gone is told, and not asked for again", async () => {
  const { world, first } = await twoTabs();
  first.follow("nowhere", 0);
  await settle();
  world.streams[0]?.end();
  await world.pass(1_000);
  assert.deepEqual(
    world.asked.filter((one) => one.includes("nowhere")),
    [],
  );
});

test("a tab that was closed without a word is forgotten", async () => {
  const { world, second } = await twoTabs();
  second.follow("a", 0);
  await settle();
  second.isFrozen = true;
  for (let minute = 0; minute < 4; minute++) {
    world.beat();
    await world.pass(30_000);
    world.beat();
    await world.pass(30_000);
  }
  assert.equal(world.streams[0]?.follows.size, 0);
});

test("where tabs cannot share, each has its own stream", async () => {
  const channel: Channel = { say: () => undefined, listen: () => undefined };
  let asked = 0;
  const forbidden: Locks = {
    hold: async () => {
      assert.ok(++asked < 10, "asked for ever");
      throw new Error("forbidden");
    },
  };
  for (const [way, locks] of [[null, null], [channel, forbidden]] as const) {
    const world = new World();
    const lines: string[] = [];
    for (const id of ["one", "two"]) {
      const tabs = new Tabs(id, world.around, { onLine: (line) => lines.push(line), onNews: () => undefined }, way, locks);
      tabs.start(new Desk(() => tabs.changed(), world.around.after));
    }
    await settle();
    assert.equal(world.streams.length, 2);
    assert.deepEqual(lines.filter((line) => line === "live").length, 2);
  }
});

test("whatever breaks, closes and opens, each tab gets every event once and in order", async () => {
  let told = 0;
  for (let seed = 1; seed <= 40; seed++) {
    const random = seeded(seed);
    const world = new World();
    world.say("a", 1);
    const browser = new Browser(world);
    const open = [browser.open()];
    const seen = open.map((tab) => tab.follow("a", 0));
    for (let step = 0; step < 40; step++) {
      const chance = random();
      if (chance < 0.5) world.say("a", 1 + below(random, 3));
      else if (chance < 0.6) world.streams[0]?.end();
      else if (chance < 0.7) world.isUp = !world.isUp;
      else if (chance < 0.8) await world.pass(1_000 * below(random, 20));
      else if (chance < 0.9 && open.length < 5) {
        const tab = browser.open();
        open.push(tab);
        seen.push(tab.follow("a", 0));
      } else if (open.length > 1) {
        const at = below(random, open.length);
        open.splice(at, 1)[0]?.close();
        seen.splice(at, 1);
      }
      if (random() < 0.5) await settle();
    }
    world.isUp = true;
    await settle();
    for (const tab of open) tab.tabs.nudge();
    for (let beat = 0; beat < 4; beat++) {
      world.beat();
      await world.pass(5_000);
    }
    world.say("a");
    await settle();
    const all = upto(world.logs.get("a")?.length as number);
    for (const { ids, resyncs } of seen) {
      // One that waited in vain for a replay while the line was down was told to read by itself.
      if (resyncs > 0) assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b), `seed ${seed}`);
      else assert.deepEqual(ids, all, `seed ${seed}`);
      assert.equal(ids.at(-1), all.length, `seed ${seed}`);
      told += resyncs;
    }
    assert.equal(world.streams.length, 1, `seed ${seed}`);
  }
  assert.ok(told < 10, `${told} had to read by themselves`);
});
