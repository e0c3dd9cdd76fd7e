// What is kept of a session that is followed, for when the server is away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keepForOffline } from "../src/session/offline.ts";
import type { StoreView } from "../src/session/store.ts";

class Followed {
  private listeners = new Set<() => void>();
  private now = { phase: "loading", lastId: 0, rows: [] } as unknown as StoreView;
  reads = 0;
  due: (() => void)[] = [];
  hide = () => {};
  answer: () => Promise<void> = async () => {};
  readonly stop = keepForOffline(
    {
      subscribe: (one) => {
        this.listeners.add(one);
        return () => this.listeners.delete(one);
      },
      view: () => this.now,
    },
    {
      read: () => {
        this.reads += 1;
        return this.answer();
      },
      after: (_ms, call) => {
        this.due.push(call);
        return () => (this.due = this.due.filter((one) => one !== call));
      },
      onHidden: (call) => {
        this.hide = call;
        return () => (this.hide = () => {});
      },
    },
  );

  /** It has events up to that one, and the last turn that ended did so with `end`. */
  shows(lastId: number, end: number): void {
    const rows = end === 0 ? [] : [{ kind: "end", eventId: end }];
    this.now = { phase: "ready", lastId, rows } as unknown as StoreView;
    for (const listener of this.listeners) listener();
  }

  settle(): void {
    for (const call of [...this.due]) call();
  }
}

test("a session is read once more when a turn has ended, and when the page is hidden", async () => {
  const one = new Followed();
  one.hide();
  one.shows(10, 8);
  one.settle();
  one.hide();
  assert.equal(one.reads, 0, "it was opened by reading");
  one.shows(14, 8);
  one.settle();
  assert.equal(one.reads, 0, "the turn runs");
  one.hide();
  one.hide();
  assert.equal(one.reads, 1);
  one.shows(15, 15);
  one.shows(17, 17);
  one.settle();
  assert.equal(one.reads, 2, "two turns together");
  one.answer = () => Promise.reject(new Error("away"));
  one.shows(20, 20);
  one.settle();
  await null;
  await null;
  one.answer = async () => {};
  one.hide();
  assert.equal(one.reads, 4, "what could not be read is tried again");
  one.shows(22, 22);
  one.stop();
  one.settle();
  one.hide();
  assert.equal(one.reads, 4);
});
