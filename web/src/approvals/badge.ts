// How much waits, where one sees it without looking: the tab's title, the app's icon, and a browser
// notification while the page is in the background.
import { useEffect, useRef } from "react";
import type { Schemas } from "../api/client";
import { meQuery } from "../api/me";
import { queryClient } from "../api/queries";
import { sessionQuery } from "../api/session";
import { remembered } from "../app/memory";
import { setWaiting } from "../app/title";
import { wordsNow } from "../i18n";
import { onNews } from "../live";
import { messageOf, type Fields } from "./question";
import { usePending, type Approval } from "./waiting";
import { words } from "./words";

/** Whether the person wants notifications of this browser; asked for in the settings. */
export const NOTIFY_KEY = "notify";

/** Once for the page, in its shell. */
export function useBadge(): void {
  const { pending } = usePending();
  const count = pending?.length ?? 0;
  useEffect(() => {
    setWaiting(count);
    if ("setAppBadge" in navigator) void navigator.setAppBadge(count).catch(() => undefined);
  }, [count]);
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (pending === undefined) return;
    const before = known.current;
    const now = new Set(pending.map((one) => one.id));
    known.current = now;
    if (before === null) return; // what waited before one came is no news
    for (const one of pending) if (!before.has(one.id)) void showQuestion(one);
    for (const id of before) if (!now.has(id)) void close(tagOf(id));
  }, [pending]);
  useEffect(() => onNews((news) => news.kind === "session" && showEnd(news.session)), []);
}

// The same tags as push messages have: a device that gets both shows one.
const tagOf = (approvalId: string) => `question-${approvalId}`;

function isWanted(): boolean {
  if (!document.hidden || !("Notification" in window)) return false;
  return Notification.permission === "granted" && remembered(NOTIFY_KEY) === "on";
}

async function showQuestion(approval: Approval): Promise<void> {
  if (!isWanted()) return;
  const t = wordsNow(words);
  const session = await queryClient.ensureQueryData(sessionQuery(approval.session_id)).catch(() => null);
  const body = messageOf(approval.request as Fields);
  show(tagOf(approval.id), t.notifyTitle(session?.title ?? t.aSession), body, `/inbox#${approval.id}`);
}

const running = new Set<string>();

/** A turn that one saw running has ended, and no other has begun. */
function showEnd(session: Schemas["Session"]): void {
  const wasRunning = running.has(session.id);
  if (session.state === "running" || session.state === "needs_you") running.add(session.id);
  else running.delete(session.id);
  const isMine = session.user_id === queryClient.getQueryData(meQuery.queryKey)?.user.id;
  const end = session.last_turn?.status;
  if (!wasRunning || session.state !== "idle" || !isMine || end === "cancelled" || !isWanted()) return;
  const t = wordsNow(words);
  const title = session.title ?? t.aSession;
  show(`done-${session.id}`, end === "failed" ? t.notifyFailed(title) : t.notifyDone(title), "", `/chat/${session.id}`);
}

const open = new Map<string, Notification>();

function show(tag: string, title: string, body: string, to: string): void {
  try {
    const shown = new Notification(title, { body, tag, icon: "/icon.svg" });
    open.set(tag, shown);
    shown.onclick = () => {
      window.focus();
      location.assign(to);
    };
    shown.onclose = () => open.delete(tag);
  } catch {
    // Phones know notifications of workers only: push does it there.
  }
}

async function close(tag: string): Promise<void> {
  open.get(tag)?.close();
  const worker = await navigator.serviceWorker?.getRegistration();
  for (const shown of (await worker?.getNotifications({ tag })) ?? []) shown.close();
}
