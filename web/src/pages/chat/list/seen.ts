// Up to where this browser has shown each chat, so that an end that nobody has seen is marked.
import { useSyncExternalStore } from "react";
import { remember, remembered } from "../../../app/memory";

const KEY = "seen";
const SEEN_MAX = 500;

type Seen = { since: number; ends: Record<string, number> };

let seen = read();
const listeners = new Set<() => void>();

function read(): Seen {
  try {
    const kept: unknown = JSON.parse(remembered(KEY) ?? "null");
    if (isSeen(kept)) return kept;
  } catch {
    // As if it had never been written.
  }
  const first = { since: Date.now(), ends: {} };
  remember(KEY, JSON.stringify(first));
  return first;
}

function isSeen(kept: unknown): kept is Seen {
  if (typeof kept !== "object" || kept === null || !("since" in kept) || !("ends" in kept)) return false;
  return typeof kept.since === "number" && typeof kept.ends === "object" && kept.ends !== null;
}

/** The last end of a turn that was on the screen. */
export function markSeen(sessionId: string, endedAt: number): void {
  if ((seen.ends[sessionId] ?? seen.since) >= endedAt) return;
  const ends = Object.entries({ ...seen.ends, [sessionId]: endedAt });
  ends.sort(([, a], [, b]) => b - a);
  seen = { since: seen.since, ends: Object.fromEntries(ends.slice(0, SEEN_MAX)) };
  remember(KEY, JSON.stringify(seen));
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  const onStorage = (event: StorageEvent) => {
    if (event.key === null || event.key.endsWith(KEY)) {
      seen = read();
      listener();
    }
  };
  listeners.add(listener);
  window.addEventListener("storage", onStorage);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", onStorage);
  };
}

export function useIsUnseen(sessionId: string, endedAt: number | null): boolean {
  const until = useSyncExternalStore(subscribe, () => seen.ends[sessionId] ?? seen.since);
  return endedAt !== null && endedAt > until;
}
