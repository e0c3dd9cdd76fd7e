// The one stream that this browser holds, for the rest of the page.
import { useSyncExternalStore } from "react";
import { queryClient } from "../api/queries";
import { around, channelOfTabs, locksOfTabs } from "./browser.ts";
import { Desk } from "./desk.ts";
import { NewsDesk } from "./news.ts";
import { forgetKept, keepAlive } from "./offline.ts";
import { Tabs } from "./tabs.ts";
import type { Line, News, Sink } from "./types.ts";

export type { Line, LiveEvent, News, Sink } from "./types.ts";

let line: Line = navigator.onLine ? "connecting" : "offline";
const lineListeners = new Set<() => void>();
const newsListeners = new Set<(news: News) => void>([new NewsDesk(queryClient).take]);

function setLine(next: Line): void {
  line = next;
  if (next === "stranger") void forgetKept();
  for (const listener of lineListeners) listener();
}

function tellNews(news: News): void {
  for (const listener of newsListeners) listener(news);
}

const tabs = new Tabs(
  crypto.getRandomValues(new Uint32Array(4)).join("-"),
  around,
  { onLine: setLine, onNews: tellNews },
  channelOfTabs(),
  locksOfTabs(),
);
let isChanging = false;
const desk = new Desk(() => {
  if (isChanging) return;
  isChanging = true;
  queueMicrotask(() => {
    isChanging = false;
    tabs.changed();
  });
}, around.after);

let isStarted = false;

/** With the first who wants to know anything: before somebody is logged in, nobody does. */
function start(): void {
  if (isStarted) return;
  isStarted = true;
  tabs.start(desk);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") tabs.nudge();
  });
  window.addEventListener("online", () => {
    tabs.reset();
    tabs.nudge();
  });
  window.addEventListener("offline", () => tabs.reset());
  window.addEventListener("pagehide", () => tabs.leave());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // it was left, and its stream with it
  });
  keepAlive(() => void queryClient.invalidateQueries());
}

/** Brings a session's events from the sink's position on. Returns how to leave it. */
export function follow(sessionId: string, sink: Sink): () => void {
  start();
  return desk.follow(sessionId, sink);
}

export function onNews(listener: (news: News) => void): () => void {
  start();
  newsListeners.add(listener);
  return () => newsListeners.delete(listener);
}

function subscribeLine(listener: () => void): () => void {
  start();
  lineListeners.add(listener);
  return () => lineListeners.delete(listener);
}

export function useLine(): Line {
  return useSyncExternalStore(subscribeLine, () => line);
}
