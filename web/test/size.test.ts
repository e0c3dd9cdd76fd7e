// What a browser loads before it shows anything stays small: the entry, the page that was asked for,
// what both import, and their style, as they are packed for browsers.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";

type Chunk = { file: string; imports?: string[]; css?: string[]; isEntry?: boolean };

const BUDGET_BYTES = 220_000;

const packed = (file: string): number => statSync(existsSync(`${file}.br`) ? `${file}.br` : file).size;

for (const page of ["home.tsx", "welcome/index.tsx", "chat/index.tsx", "groups/group.tsx"]) {
  test(`the first load of ${page} fits its budget`, () => {
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
    take(`src/pages/${page}`);
    const sizes = [...files].map((file) => [file, packed(`dist/${file}`)] as const);
    const total = sizes.reduce((sum, [, size]) => sum + size, 0);
    assert.ok(files.size > 5, "the entry, the page and their parts are there");
    assert.ok(total <= BUDGET_BYTES, `${total} bytes: ${JSON.stringify(sizes)}`);
  });
}
