// The service worker: an offline shell that shows the last state read-only.
import { dataOf, WAIT_MS } from "./data.ts";
import { DATA_CACHE, FRESHER, SHELL_CACHE_PREFIX } from "./names.ts";
import { isAway, wayOf } from "./rules.ts";
import "./push.ts";

declare const self: ServiceWorkerGlobalScope;
/** Put in by the build: what the page is made of, and a name that is new when that is. */
declare const __ASSETS__: readonly string[];
declare const __BUILD__: string;

const SHELL = SHELL_CACHE_PREFIX + __BUILD__;
const DOCUMENT = "/";
const DATA_ENTRIES_MAX = 200;
const DATA_CHARS_MAX = 4 * 1024 * 1024; // of one answer

self.addEventListener("install", (event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(SHELL);
      await cache.addAll([DOCUMENT, ...__ASSETS__].map((path) => new Request(path, { cache: "reload" })));
      await self.skipWaiting();
    })(),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      const old = (await caches.keys()).filter((one) => one.startsWith(SHELL_CACHE_PREFIX) && one !== SHELL);
      // A page that is open was made of the build before this one, and may yet want a part of it.
      await Promise.all(old.slice(0, -1).map((one) => caches.delete(one)));
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const asked = {
    method: request.method,
    mode: request.mode,
    url: request.url,
    hasRange: request.headers.has("Range"),
  };
  switch (wayOf(asked, self.location.origin)) {
    case "document":
      return event.respondWith(documentOf(request));
    case "asset":
      return event.respondWith(asset(request));
    case "data":
      return data(event);
    case "login":
      return event.waitUntil(forget());
  }
});

async function documentOf(request: Request): Promise<Response> {
  const kept = await (await caches.open(SHELL)).match(DOCUMENT);
  if (kept === undefined) return fetch(request);
  const answer = await Promise.race([fetch(request).catch(() => null), wait(WAIT_MS)]);
  return answer === null || isAway(answer.status) ? kept : answer;
}

async function asset(request: Request): Promise<Response> {
  const isHashed = new URL(request.url).pathname.startsWith("/assets/");
  const cache = await caches.open(SHELL);
  const kept = await (isHashed ? caches : cache).match(request);
  if (kept !== undefined) return kept;
  const answer = await fetch(request);
  if (answer.ok && isHashed) await cache.put(request, answer.clone());
  return answer;
}

function data(event: FetchEvent): void {
  const { request } = event;
  const asker = person;
  const { shown, answer } = dataOf({
    ask: () => fetch(request),
    kept: async () => (await caches.open(DATA_CACHE)).match(request.url),
    wait,
  });
  event.respondWith(shown);
  const keepIt = async () => {
    const given = await answer;
    if (given === null || asker !== person) return;
    const before = given.isLate ? await textKept(request.url) : undefined;
    await keep(request, given.response);
    if (!given.isLate || (await textKept(request.url)) === before) return;
    for (const page of await self.clients.matchAll()) page.postMessage(FRESHER);
  };
  event.waitUntil(keepIt());
}

function wait(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms));
}

/** Counts those who were logged in: an answer for the one before is not kept for the next. */
let person = 0;

async function forget(): Promise<void> {
  person += 1;
  await caches.delete(DATA_CACHE);
}

async function keep(request: Request, answer: Response): Promise<void> {
  if (answer.status === 401) return forget();
  let cache = await caches.open(DATA_CACHE);
  if (answer.status === 404) await cache.delete(request.url);
  if (!answer.ok) return;
  const body = await answer.text();
  if (body.length > DATA_CHARS_MAX) return;
  if (new URL(request.url).pathname === "/api/v1/me" && (await isOfAnother(request.url, body))) {
    await forget();
    cache = await caches.open(DATA_CACHE);
  }
  const headers = { "Content-Type": answer.headers.get("Content-Type") ?? "application/json" };
  await cache.delete(request.url); // the newest is the last: the oldest makes room
  await cache.put(request.url, new Response(body, { headers }));
  const all = await cache.keys();
  for (const one of all.slice(0, Math.max(0, all.length - DATA_ENTRIES_MAX))) await cache.delete(one);
}

async function textKept(url: string): Promise<string | undefined> {
  return (await (await caches.open(DATA_CACHE)).match(url))?.text();
}

/** Somebody else has logged in: nothing of the one before is shown to them. */
async function isOfAnother(me: string, now: string): Promise<boolean> {
  const before = await textKept(me);
  return before !== undefined && userOf(JSON.parse(before)) !== userOf(JSON.parse(now));
}

function userOf(me: unknown): unknown {
  return (me as { user?: { id?: unknown } } | null)?.user?.id;
}
