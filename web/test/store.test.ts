import assert from "node:assert/strict";
import { test } from "node:test";

import type { Event } from "../src/session/event.ts";
import { readBack, type Entry, type Reader } from "../src/session/history.ts";
import { Reducer } from "../src/session/reduce.ts";
import { SessionStore, type Follow, type Line } from "../src/session/store.ts";
import { randomLog } from "./log.ts";
import { below, seeded, type Random } from "./random.ts";

/** A log that grows, with a line that repeats, loses, mixes up and breaks. */
class World {
  readonly log: Event[];
  length = 0;
  private readonly random: Random;
  private sinks: Parameters<Follow>[0][] = [];

  constructor(log: Event[], random: Random) {
    this.log = log;
    this.random = random;
  }

  private entries(from: number, to: number): Entry[] {
    return this.log.slice(from, to).map((event, index) => ({ id: from + index + 1, event }));
  }

  private async maybeFail(): Promise<void> {
    for (let turns = below(this.random, 4); turns > 0; turns -= 1) await null;
    if (this.random() < 0.1) throw new Error("the line broke");
  }

  readonly reader: Reader = {
    after: async (id, limit) => {
      await this.maybeFail();
      const end = Math.min(this.length, id + Math.min(limit, 1 + below(this.random, 40)));
      return { entries: this.entries(id, end), more: end < this.length, isLost: false };
    },
    before: async (id, limit) => {
      await this.maybeFail();
      const end = id === null ? this.length : id - 1;
      return this.entries(Math.max(0, end - Math.min(limit, 1 + below(this.random, 60))), end);
    },
  };

  readonly follow: Follow = (sink) => {
    this.sinks.push(sink);
    return () => (this.sinks = this.sinks.filter((one) => one !== sink));
  };

  line(id: number): Line {
    return { id, line: JSON.stringify(this.log[id - 1]) };
  }

  /** The log goes on by some events, and each reader hears of them, more or less. */
  grow(): void {
    const from = this.length;
    this.length = Math.min(this.log.length, from + 1 + below(this.random, 30));
    const ids = Array.from({ length: this.length - from }, (_, index) => from + index + 1);
    for (const sink of this.sinks) this.tell(sink, ids);
  }

  private tell(sink: Parameters<Follow>[0], ids: number[]): void {
    const luck = this.random();
    if (luck < 0.1) return sink.onResync();
    let told = [...ids];
    if (luck < 0.3) told = told.filter(() => this.random() < 0.7);
    if (luck > 0.8) told = told.concat(told.filter(() => this.random() < 0.5));
    if (luck > 0.9) told.sort(() => this.random() - 0.5);
    if (luck > 0.4 && luck < 0.6) {
      const first = Math.min(sink.position() + 1, this.length);
      told = Array.from({ length: this.length - first + 1 }, (_, index) => first + index);
    }
    sink.onEvents(told.map((id) => this.line(id)));
  }

  resync(): void {
    for (const sink of this.sinks) sink.onResync();
  }

  store(): SessionStore {
    const store = new SessionStore({
      reader: this.reader,
      follow: this.follow,
      schedule: (flush) => void Promise.resolve().then(flush),
      wait: async () => {},
    });
    return store;
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let turns = 0; turns < 100_000; turns += 1) {
    if (isSo()) return;
    await null;
  }
  assert.fail("it never came to that");
}

async function opened(world: World): Promise<SessionStore> {
  const store = world.store();
  do await store.open();
  while (store.view().phase === "failed");
  return store;
}

const shown = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("any mixture of replay and live events, lost and doubled, gives the same view", async () => {
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = seeded(seed);
    const log = randomLog(random, 1 + below(random, 8));
    const whole = new Reducer();
    log.forEach((event, index) => whole.apply(index + 1, event));
    const wanted = whole.view();

    const world = new World(log, random);
    world.length = below(random, log.length);
    let store = await opened(world);
    while (world.length < log.length) {
      world.grow();
      for (let turns = below(random, 20); turns > 0; turns -= 1) await null;
      if (random() < 0.1) void store.loadOlder();
      if (random() < 0.1) {
        store.close();
        store = await opened(world);
      }
    }
    world.resync();
    await until(() => store.view().lastId === log.length);
    while (store.view().older !== "end") {
      await store.loadOlder();
      await until(() => store.view().older !== "loading");
    }
    await until(() => store.view().rows.length === wanted.rows.length);
    const view = store.view();
    assert.deepEqual(shown(view.turns), shown(wanted.turns), `seed ${seed}`);
    assert.deepEqual(shown(view.rows), shown(wanted.rows), `seed ${seed}`);
    assert.deepEqual(shown(view.questions), shown(wanted.questions), `seed ${seed}`);
    assert.deepEqual(view.status, wanted.status, `seed ${seed}`);
    assert.equal(new Set(view.rows.map((row) => row.key)).size, view.rows.length, "keys are unique");
  }
});

test("rows that did not change are the very same after new events", async () => {
  const log = randomLog(seeded(7), 5);
  const world = new World(log, () => 0.99);
  world.length = log.length - 3;
  const store = await opened(world);
  const before = store.view().rows;
  store.accept([world.line(log.length - 2)]);
  await until(() => store.view().lastId === log.length - 2);
  const same = store.view().rows.filter((row) => before.includes(row));
  assert.ok(same.length >= before.length - 2);
});

test("an event that came too early is shown when those before it were read", async () => {
  const log = randomLog(seeded(3), 2);
  const world = new World(log, () => 0.99);
  const store = await opened(world);
  world.length = 6;
  store.accept([world.line(6), world.line(4)]);
  assert.equal(store.view().lastId, 0);
  await until(() => store.view().lastId === 6);
});

test("a log that was restored behind what is shown is shown anew", async () => {
  let log: Entry[] = said(1, "lost");
  let sink: Parameters<Follow>[0] | null = null;
  const store = new SessionStore({
    reader: {
      after: async (id) => {
        const entries = log.filter((entry) => entry.id > id);
        return { entries, more: false, isLost: !log.some((entry) => entry.id === id || entry.id === id + 1) };
      },
      before: async (id) => log.filter((entry) => entry.id < (id ?? Infinity)),
    },
    follow: (one) => {
      sink = one;
      return () => (sink = null);
    },
    schedule: (flush) => flush(),
    wait: async () => undefined,
  });
  await store.open();
  assert.equal(store.view().lastId, 2);
  log = said(1001, "new"); // all before was cut off
  (sink as Parameters<Follow>[0] | null)?.onResync();
  for (let turns = 0; turns < 50 && store.view().lastId !== 1002; turns += 1) await null;
  assert.equal(store.view().lastId, 1002);
  assert.ok(!JSON.stringify(store.view().rows).includes("lost"));
  store.close();
});

/** Two events of a turn. */
function said(id: number, text: string): Entry[] {
  const turn = { turn_id: `t${id}` };
  return [
    { id, event: { type: "user_message", content: text, ...turn } },
    { id: id + 1, event: { type: "execution_complete", content: text, ...turn } },
  ];
}

test("offline the newest turns are shown when what is before them cannot be read", async () => {
  const log = [...said(1, "first"), ...said(3, "second")];
  const reader: Reader = {
    after: async () => ({ entries: [], more: false, isLost: false }),
    before: async (id) => {
      if (id !== null) throw new Error("not kept");
      return log.slice(1);
    },
  };
  const read = await readBack(reader, null);
  assert.deepEqual([read.entries.map((entry) => entry.id), read.isFirst], [[3, 4], false]);
  await assert.rejects(readBack({ ...reader, before: async () => Promise.reject(new Error("away")) }, null));
  const half: Reader = { ...reader, before: async (id) => (id === null ? log.slice(3) : reader.before(id, 1)) };
  await assert.rejects(readBack(half, null), "half a turn is not shown as a whole one");
});
