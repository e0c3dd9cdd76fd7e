// The worker's part of Web Push, in a service worker that is made up.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

type Shown = { title: string; tag: string; body: string; data: { to: string }; close: () => void };
type Handler = (event: Record<string, unknown>) => void;

const handlers = new Map<string, Handler>();
let shown: Shown[] = [];
let windows: { visibilityState: string; focus: () => Promise<void>; navigate: (to: string) => Promise<void> }[] = [];
let went: string[] = [];

const worker = {
  navigator: { language: "en-GB", userAgent: "Mozilla/5.0 AppleWebKit/537.36 Chrome/153.0" },
  addEventListener: (name: string, handler: Handler) => handlers.set(name, handler),
  registration: {
    getNotifications: async ({ tag }: { tag: string }) => shown.filter((one) => one.tag === tag),
    showNotification: async (title: string, options: Omit<Shown, "title" | "close">) => {
      const made = { title, ...options, close: () => (shown = shown.filter((one) => one !== made)) };
      shown = [...shown.filter((one) => one.tag !== options.tag), made];
    },
  },
  clients: {
    matchAll: async () => windows,
    openWindow: async (to: string) => void went.push(`open ${to}`),
  },
};
Object.assign(globalThis, { self: worker });
await import("../src/worker/push.ts");

async function happens(name: string, fields: Record<string, unknown>): Promise<void> {
  let work: Promise<unknown> = Promise.resolve();
  handlers.get(name)!({ ...fields, waitUntil: (given: Promise<unknown>) => (work = given) });
  await work;
}

const push = (payload: unknown) => happens("push", { data: { json: () => payload } });
const click = (notification: Shown) => happens("notificationclick", { notification });
const page = (visibilityState: string) => ({
  visibilityState,
  focus: async () => void went.push("focus"),
  navigate: async (to: string) => void went.push(`to ${to}`),
});

beforeEach(() => {
  shown = [];
  windows = [];
  went = [];
});

test("a question is shown, leads to the inbox, and is taken back when it has its answer", async () => {
  await push({ kind: "needs_you", tag: "question-1", title: "Deploy", text: "May I?", session_id: "s", approval_id: "a" });
  assert.deepEqual(shown.map((one) => [one.title, one.body]), [["Deploy needs you", "May I?"]]);
  await push({ kind: "closed", tag: "question-2" });
  assert.equal(shown.length, 1);
  await click(shown[0]!);
  assert.deepEqual([went, shown], [["open /inbox#a"], []]);
  await push({ kind: "needs_you", tag: "question-1", title: "Deploy" });
  await push({ kind: "closed", tag: "question-1" });
  assert.deepEqual(shown, []);
});

test("an end leads to its session, in the page that is there already", async () => {
  windows = [page("hidden")];
  await push({ kind: "done", tag: "done-s", title: "", session_id: "a/b", status: "failed" });
  assert.equal(shown[0]!.title, "A session failed");
  await click(shown[0]!);
  assert.deepEqual(went, ["focus", "to /chat/a%2Fb"]);
});

test("nothing is shown to who looks at the page, but a test", async () => {
  windows = [page("visible")];
  await push({ kind: "needs_you", tag: "question-1", count: 5 });
  await push({ kind: "test", tag: "test-1" });
  assert.deepEqual(shown.map((one) => one.title), ["Notifications work on this device"]);
  windows = [];
  await push({ kind: "needs_you", tag: "inbox", count: 5 });
  assert.equal(shown[1]!.title, "5 questions wait for you");
});

test("what is not ours is left alone", async () => {
  for (const strange of [null, 7, "text", {}, { kind: 1, tag: "t" }, { kind: "done" }]) await push(strange);
  await happens("push", { data: null });
  await happens("push", { data: { json: () => JSON.parse("{") } });
  assert.deepEqual(shown, []);
});
