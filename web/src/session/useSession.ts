// Sessions that are looked at. One that was left is followed for a while longer, so that switching
// back shows it at once.

import { useEffect, useSyncExternalStore } from "react";

import { api, unwrap } from "../api/client";
import { queryClient } from "../api/queries";
import { sessionQuery } from "../api/session";
import { follow } from "../live";
import { around } from "../live/browser.ts";
import { isEvent, type Event } from "./event.ts";
import { readBack, type Entry, type Reader } from "./history.ts";
import { Kept } from "./kept.ts";
import { keepForOffline } from "./offline.ts";
import { schedule, wait } from "./schedule.ts";
import { SessionStore, type StoreView } from "./store.ts";

/** How many sessions are followed that nobody looks at. */
const IDLE_MAX = 3;

const kept = new Kept(
  IDLE_MAX,
  (sessionId) => {
    const reader = readerOf(sessionId);
    const store = new SessionStore({
      reader,
      follow: (sink) => follow(sessionId, sink),
      schedule,
      wait,
    });
    const stopKeeping = keepForOffline(store, {
      read: () => readForOffline(sessionId, reader),
      after: around.after,
      onHidden,
    });
    void store.open();
    return { store, stopKeeping };
  },
  ({ store, stopKeeping }) => {
    stopKeeping();
    store.close();
  },
);

/** As few pages as show its newest turns, and the record. */
async function readForOffline(sessionId: string, reader: Reader): Promise<void> {
  const workers = (navigator as { serviceWorker?: ServiceWorkerContainer }).serviceWorker;
  if (!workers?.controller) return; // nobody keeps it
  const record = queryClient.fetchQuery({ ...sessionQuery(sessionId), staleTime: 0 });
  await Promise.all([readBack(reader, null, 1), record]);
}

function onHidden(call: () => void): () => void {
  const look = () => {
    if (document.visibilityState === "hidden") call();
  };
  document.addEventListener("visibilitychange", look);
  return () => document.removeEventListener("visibilitychange", look);
}

type SessionHandle = {
  view: StoreView;
  loadOlder: () => Promise<void>;
  /** Reads it again after it could not be read. */
  retry: () => Promise<void>;
};

export function useSession(sessionId: string): SessionHandle {
  const { store } = kept.get(sessionId);
  const view = useSyncExternalStore(store.subscribe, store.view);
  useEffect(() => kept.read(sessionId), [sessionId]);
  return { view, loadOlder: store.loadOlder, retry: store.open };
}

function readerOf(sessionId: string): Reader {
  const read = (query: { after?: number; before?: number; limit: number }) =>
    unwrap(
      api.GET("/api/v1/sessions/{session_id}/events", {
        params: { path: { session_id: sessionId }, query },
      }),
    );
  return {
    after: async (id, limit) => {
      const page = await read({ after: id, limit });
      return { entries: entriesOf(page.items), more: page.next_after !== null, isLost: page.resync };
    },
    before: async (id, limit) => entriesOf((await read({ before: id ?? Number.MAX_SAFE_INTEGER, limit })).items),
  };
}

function entriesOf(items: readonly { id: number; event: unknown }[]): Entry[] {
  return items.map(({ id, event }) => ({ id, event: isEvent(event) ? event : UNREADABLE }));
}

const UNREADABLE: Event = { type: "" };
