import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { takeFiles } from "../src/attachments.ts";

const HELLO = Buffer.from("hello").toString("base64");
let workspace = "";

beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), "work-"));
});

test("an image goes to the model and not into the workspace", async () => {
  const given = [{ name: "a.png", mime: "image/png", base64: `data:image/png;base64,${HELLO}` }];
  const { images, notes } = await takeFiles(given, workspace);
  assert.deepEqual(images, [
    { type: "image", mimeType: "image/png", fileName: "a.png", content: HELLO },
  ]);
  assert.equal(notes, "");
  assert.deepEqual(await readdir(workspace), []);
});

test("any other file lies in the workspace, and the model is told where", async () => {
  const given = [
    { name: "note.txt", mime: "text/plain", base64: HELLO },
    { name: "note.txt", mime: "text/plain", base64: HELLO },
  ];
  const { images, notes } = await takeFiles(given, workspace);
  assert.deepEqual(images, []);
  assert.match(notes, /attachments\/note\.txt \(5 bytes\)\n- attachments\/2-note\.txt/);
  const folder = join(workspace, "attachments");
  assert.deepEqual((await readdir(folder)).sort(), ["2-note.txt", "note.txt"]);
  assert.equal(await readFile(join(folder, "note.txt"), "utf8"), "hello");
});

test("names that lead elsewhere lose what leads there", async () => {
  const names = ["../../evil", "/etc/passwd", "..", "a\0b", "", "C:\\x\\y.txt", ".hidden"];
  await takeFiles(names.map((name) => ({ name, base64: HELLO })), workspace);
  const found = await readdir(join(workspace, "attachments"));
  assert.deepEqual(found.sort(), ["2-file", "a_b", "evil", "file", "hidden", "passwd", "y.txt"]);
});

test("what is no file is named and harms nobody", async () => {
  const { images, notes } = await takeFiles([{ name: "c", base64: "%%%" }, "d", null], workspace);
  assert.deepEqual(images, []);
  assert.match(notes, /- c could not be kept\n- file could not be kept/);
  assert.deepEqual(await takeFiles("files", workspace), { images: [], notes: "" });
});

test("a folder that leads out of the workspace is not written to", async () => {
  const outside = await mkdtemp(join(tmpdir(), "out-"));
  await symlink(outside, join(workspace, "attachments"));
  const { notes } = await takeFiles([{ name: "x", base64: HELLO }], workspace);
  assert.match(notes, /could not be kept/);
  assert.deepEqual(await readdir(outside), []);
});

test("more files than a message may have, or larger ones, are not kept", async () => {
  const many = Array.from({ length: 30 }, () => ({ name: "x", mime: "image/png", base64: HELLO }));
  assert.equal((await takeFiles(many, workspace)).images.length, 20);
  const large = [{ name: "x", mime: "image/png", base64: "a".repeat(9 * 1024 * 1024) }];
  assert.equal((await takeFiles(large, workspace)).images.length, 0);
});
