import assert from "node:assert/strict";
import { test } from "node:test";

import { Kept } from "../src/session/kept.ts";

test("who goes back to what was left first finds it open; what was left longest ago is closed", async () => {
  const closed: string[] = [];
  const kept = new Kept(2, (id) => ({ id }), ({ id }) => closed.push(id));
  let stop = kept.read("a");
  const first = kept.get("a");
  // As React does: the next one is taken to be drawn, the last one is left, the next one is read.
  const go = async (id: string) => {
    const drawn = kept.get(id);
    stop();
    stop = kept.read(id);
    await null;
    assert.equal(kept.get(id), drawn);
    assert.ok(!closed.includes(id), id);
  };
  await go("b");
  await go("c");
  await go("a");
  assert.equal(kept.get("a"), first);
  assert.deepEqual(closed, []);
  await go("d");
  assert.deepEqual(closed, ["b"]);
});
