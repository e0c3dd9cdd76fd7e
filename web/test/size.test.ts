// What a browser loads before it shows anything stays small: the entry, what it imports, its style.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

type Chunk = { file: string; imports?: string[]; css?: string[]; isEntry?: boolean };

const BUDGET_BYTES = 220_000;

test("the first load fits its budget", () => {
  const manifest = JSON.parse(readFileSync("manifest.json", "utf8")) as Record<string, Chunk>;
  const files = new Set(["index.html", "theme.js"]);
  const take = (name: string): void => {
    const chunk = manifest[name];
    assert.ok(chunk, name);
    if (files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) take(imported);
  };
  for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) take(name);
  const sizes = [...files].map((file) => [file, gzipSync(readFileSync(`dist/${file}`)).length] as const);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  assert.ok(files.size > 3, "the entry and its parts are there");
  assert.ok(total <= BUDGET_BYTES, `${total} bytes: ${JSON.stringify(sizes)}`);
});
