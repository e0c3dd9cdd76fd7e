// The service worker: an offline shell that shows the last state read-only.
import { dataOf, WAIT_MS } from "./data.ts";
import { DATA_CACHE, SHELL_CACHE_PREFIX } from "./names.ts";
import { isAway, wayOf } from "./rules.ts";
import "./push.ts";

declare const self: ServiceWorkerGlobalScope;
/** Put in by the build: what the page is made of, and a name that is new when that is. */
declare const __ASSETS__: readonly string[];
declare const __BUILD__: string;

const SHELL = SHELL_CACHE_PREFIX + __BUILD__;
const DOCUMENT = "/";
const DATA_ENTRIES_MAX = 200;
const DATA_BYTES_MAX = 4 * 1024 * 1024; // of one answer

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
  const { shown, answer } = dataOf({
    ask: () => fetch(request),
    kept: async () => (await caches.open(DATA_CACHE)).match(request.url),
    wait,
  });
  event.respondWith(shown);
  event.waitUntil(answer.then((one) => (one === null ? undefined : keep(request, one))));
}

function wait(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms));
}

async function keep(request: Request, answer: Response): Promise<void> {
  if (answer.status === 401) {
    await caches.delete(DATA_CACHE);
    return;
  }
  const cache = await caches.open(DATA_CACHE);
  if (answer.status === 404) {
    await cache.delete(request.url);
    return;
  }
  if (!answer.ok) return;
  const body = await answer.arrayBuffer();
  if (body.byteLength > DATA_BYTES_MAX) return;
  if (new URL(request.url).pathname === "/api/v1/me") await ofAnother(cache, request, body);
  const headers = { "Content-Type": answer.headers.get("Content-Type") ?? "application/json" };
  await cache.delete(request.url); // the newest is the last: the oldest makes room
  await cache.put(request.url, new Response(body, { headers }));
  const all = await cache.keys();
  for (const one of all.slice(0, Math.max(0, all.length - DATA_ENTRIES_MAX))) await cache.delete(one);
}

/** Somebody else has logged in: nothing of the one before is shown to them. */
async function ofAnother(cache: Cache, request: Request, body: ArrayBuffer): Promise<void> {
  const kept = await cache.match(request.url);
  if (kept === undefined) return;
  const before: unknown = await kept.json();
  const now: unknown = JSON.parse(new TextDecoder().decode(body));
  if (userOf(before) === userOf(now)) return;
  for (const one of await cache.keys()) await cache.delete(one);
}

function userOf(me: unknown): unknown {
  return (me as { user?: { id?: unknown } } | null)?.user?.id;
}
