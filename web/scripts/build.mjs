// Builds the page into `dist`, each file of it packed beforehand as browsers take it. The old page
// stands until the new one is whole: a server that runs serves one or the other.
import { createHash } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "vite";

const DRAFT = "dist.new";
const PACKED = /\.(?:js|css|html|svg|json|webmanifest|txt|wasm)$/;
const WORTH_PACKING_BYTES = 512;

await build({
  root: process.cwd(),
  logLevel: "warn",
  build: { outDir: DRAFT, emptyOutDir: true, manifest: true },
});
// For the test of its size and for the worker; nothing that is served.
await rename(join(DRAFT, ".vite", "manifest.json"), "manifest.json");
await rm(join(DRAFT, ".vite"), { recursive: true });
await buildWorker();

const found = await readdir(DRAFT, { recursive: true });
await Promise.all(found.filter((name) => PACKED.test(name)).map((name) => pack(join(DRAFT, name))));
await rm("dist", { recursive: true, force: true });
await rename(DRAFT, "dist");

async function pack(path) {
  const plain = await readFile(path);
  if (plain.length < WORTH_PACKING_BYTES) return;
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
  const forms = {
    ".gz": await promisify(gzip)(plain, { level: 9 }),
    ".br": await promisify(brotliCompress)(plain, { params }),
  };
  for (const [end, packed] of Object.entries(forms)) {
    if (packed.length < plain.length) await writeFile(path + end, packed);
  }
}

/** The service worker is one file at a fixed address; it knows what the page is made of. */
async function buildWorker() {
  const manifest = await readFile("manifest.json", "utf8");
  const index = await readFile(join(DRAFT, "index.html"));
  const name = createHash("sha256").update(manifest).update(index).digest("hex").slice(0, 16);
  await build({
    configFile: false,
    root: process.cwd(),
    logLevel: "warn",
    publicDir: false,
    define: { __ASSETS__: JSON.stringify(shellFiles(JSON.parse(manifest))), __BUILD__: JSON.stringify(name) },
    build: {
      outDir: DRAFT,
      emptyOutDir: false,
      target: "es2023",
      reportCompressedSize: false,
      rollupOptions: {
        input: "src/worker/sw.ts",
        output: { format: "iife", entryFileNames: "sw.js" },
      },
    },
  });
}

/** What every page needs, the pages, and the parts of them that are loaded when they are used. Colours of
 * code and such are kept when they were used. */
function shellFiles(manifest) {
  const files = new Set(["theme.js", "icon.svg", "icon-192.png", "manifest.webmanifest"]);
  const take = (name) => {
    const chunk = manifest[name];
    if (files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) take(imported);
  };
  for (const [name, chunk] of Object.entries(manifest)) {
    if (chunk.isEntry || (chunk.isDynamicEntry && /^src\/(?:pages|ui)\//.test(name))) take(name);
  }
  return [...files].map((file) => `/${file}`).sort();
}
