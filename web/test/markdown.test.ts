import assert from "node:assert/strict";
import { test } from "node:test";

import { decoded } from "../src/markdown/entities.ts";
import { Highlighter, type Job, type WorkerLike } from "../src/markdown/highlighter.ts";
import { filePath, safeLink, safePicture } from "../src/markdown/links.ts";

test("a link leads to the web or to a mailbox, or it is text", () => {
  for (const good of ["https://example.com/a?b=c#d", "http://x", "mailto:a@b.c", "HTTPS://X"]) {
    assert.equal(safeLink(good), good);
  }
  const bad = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", " javascript:x", "\u0001javascript:x",
    "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//host/x", "a/b", "", "blob:https://x/y",
  ];
  for (const one of bad) assert.equal(safeLink(one), null, one);
});

test("a picture is in the text or a file of the session", () => {
  assert.equal(safePicture("data:image/png;base64,AAAA", null), "data:image/png;base64,AAAA");
  assert.equal(safePicture("./out/a%20b.png", "s/1"), "/api/v1/sessions/s%2F1/files/out/a%20b.png");
  const bad = ["https://evil.example/?q=secret", "data:image/svg+xml;base64,AA", "../x.png", "/etc/x.png", "a/%2e%2e/x", "%zz", "#x", "a\\..\\b"];
  for (const one of bad) assert.equal(safePicture(one, "s"), null, one);
  assert.equal(safePicture("a.png", null), null);
  assert.equal(filePath("a/./b?x"), "a/b");
});

test("character references are the characters", () => {
  assert.equal(decoded("a &amp; b &lt;c&gt; &#20013;&#x6587; &nope; &#0; &#xD800;"), "a & b <c> 中文 &nope; \ufffd \ufffd");
});

class Fake implements WorkerLike {
  onmessage: WorkerLike["onmessage"] = null;
  onerror: WorkerLike["onerror"] = null;
  isEnded = false;
  private readonly answer: (job: Job, worker: Fake) => void;

  constructor(answer: (job: Job, worker: Fake) => void) {
    this.answer = answer;
  }

  postMessage(job: Job): void {
    queueMicrotask(() => this.answer(job, this));
  }

  terminate(): void {
    this.isEnded = true;
  }
}

test("colours are asked for once and kept", async () => {
  let jobs = 0;
  const highlighter = new Highlighter(
    () => new Fake((job, worker) => worker.onmessage?.({ data: { id: job.id, colours: [1, ++jobs] } })),
  );
  const [one, two] = await Promise.all([highlighter.highlight("x", "py"), highlighter.highlight("x", "py")]);
  assert.deepEqual([one, two, highlighter.known("x", "py")], [[1, 1], [1, 1], [1, 1]]);
  assert.equal(await highlighter.highlight("x".repeat(100_000), "py"), null);
});

test("a worker that fails, never answers or cannot start leaves plain text, and the next one is tried", async () => {
  const made: Fake[] = [];
  const answers: ((job: Job, worker: Fake) => void)[] = [
    (_, worker) => worker.onerror?.(new Error("broken")),
    () => undefined,
    (job, worker) => worker.onmessage?.({ data: { id: job.id, colours: [2, 1] } }),
  ];
  const highlighter = new Highlighter(() => {
    const worker = new Fake(answers[made.length] ?? (() => undefined));
    made.push(worker);
    return worker;
  }, 20);
  const found = await Promise.all(["a", "b", "c"].map((text) => highlighter.highlight(text, "py")));
  assert.deepEqual(found, [null, null, [2, 1]]);
  assert.deepEqual(made.map((worker) => worker.isEnded), [true, true, false]);

  const never = new Highlighter(() => {
    throw new TypeError("no workers here");
  });
  const all = await Promise.all(["a", "b", "c", "d"].map((text) => never.highlight(text, "py")));
  assert.deepEqual(all, [null, null, null, null]);
});
