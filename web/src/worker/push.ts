// Messages by Web Push, in the service worker: shows them, takes them back, leads to where they are
// about. Imported by sw.ts; knows nothing of the page but its addresses.

export {};
declare const self: ServiceWorkerGlobalScope;

/** As the server sends it (docs/guide/push.md). */
type Payload = {
  kind: "needs_you" | "done" | "closed" | "test";
  tag: string;
  session_id?: string;
  approval_id?: string;
  title?: string;
  text?: string;
  status?: string;
  count?: number;
};

const en = {
  aSession: "A session",
  needsYou: (title: string) => `${title} needs you`,
  many: (count: number) => `${count} questions wait for you`,
  done: (title: string) => `${title} is done`,
  failed: (title: string) => `${title} failed`,
  test: "Notifications work on this device",
};
const zh: typeof en = {
  aSession: "会话",
  needsYou: (title) => `${title} 需要您`,
  many: (count) => `${count} 个问题等待您处理`,
  done: (title) => `${title} 已完成`,
  failed: (title) => `${title} 失败`,
  test: "此设备可以收到通知",
};
const words = self.navigator.language.toLowerCase().startsWith("zh") ? zh : en;

/** Safari ends a subscription whose messages show nothing. */
const ALWAYS_SHOWS = /AppleWebKit/.test(self.navigator.userAgent) && !/Chrom/.test(self.navigator.userAgent);

self.addEventListener("push", (event) => {
  const payload = read(event.data);
  if (payload !== null) event.waitUntil(Promise.all([take(payload), badge()]));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const to = (event.notification.data as { to?: unknown } | null)?.to;
  event.waitUntil(open(typeof to === "string" ? to : "/inbox"));
});

function read(data: PushMessageData | null): Payload | null {
  try {
    const found = data?.json() as Payload | null;
    return found && typeof found.kind === "string" && typeof found.tag === "string" ? found : null;
  } catch {
    return null; // not ours
  }
}

async function take(payload: Payload): Promise<void> {
  if (payload.kind === "closed") {
    for (const shown of await self.registration.getNotifications({ tag: payload.tag })) shown.close();
    return;
  }
  if (payload.kind !== "test" && !ALWAYS_SHOWS && (await isLookedAt())) return; // the page shows it itself
  await self.registration.showNotification(titleOf(payload), {
    body: payload.text ?? "",
    tag: payload.tag,
    icon: "/icon.svg",
    data: { to: placeOf(payload) },
  });
}

function titleOf(payload: Payload): string {
  const title = payload.title || words.aSession;
  if (payload.kind === "test") return words.test;
  if (payload.kind === "done") return payload.status === "failed" ? words.failed(title) : words.done(title);
  return (payload.count ?? 1) > 1 ? words.many(payload.count ?? 1) : words.needsYou(title);
}

function placeOf(payload: Payload): string {
  if (payload.kind === "test") return "/settings";
  if (payload.kind === "done" && payload.session_id) return `/chat/${encodeURIComponent(payload.session_id)}`;
  return payload.approval_id ? `/inbox#${encodeURIComponent(payload.approval_id)}` : "/inbox";
}

async function windows(): Promise<readonly WindowClient[]> {
  return self.clients.matchAll({ type: "window", includeUncontrolled: true });
}

async function isLookedAt(): Promise<boolean> {
  return (await windows()).some((one) => one.visibilityState === "visible");
}

async function open(path: string): Promise<void> {
  const [known] = await windows();
  if (known === undefined) {
    await self.clients.openWindow(path);
    return;
  }
  await known.focus();
  await known.navigate(path).catch(() => self.clients.openWindow(path));
}

/** The number on the app's icon: how many questions wait. */
async function badge(): Promise<void> {
  if (!("setAppBadge" in self.navigator)) return;
  try {
    const answer = await fetch("/api/v1/approvals?limit=200");
    if (!answer.ok) return;
    const { items } = (await answer.json()) as { items: unknown[] };
    await self.navigator.setAppBadge(items.length);
  } catch {
    // The number comes with the next message, or when the page is opened.
  }
}
