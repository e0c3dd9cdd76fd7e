import assert from "node:assert/strict";
import { test } from "node:test";

import { keepPictures, picturesOf } from "../src/pages/chat/transcript/sentPictures.ts";

test("the pictures of the newest messages are kept, and the others given back", () => {
  const released: string[] = [];
  URL.revokeObjectURL = (address) => void released.push(address);
  for (let number = 1; number <= 21; number += 1) keepPictures(`m${number}`, [{ name: "a.png", address: `blob:${number}` }]);
  assert.deepEqual(released, ["blob:1"]);
  assert.deepEqual(picturesOf("m1"), []);
  assert.deepEqual(picturesOf("m21"), [{ name: "a.png", address: "blob:21" }]);
  assert.deepEqual(picturesOf(null), []);
});
