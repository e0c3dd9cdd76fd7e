// Questions that have their answer, as far as this browser knows before the lists say so. A replay
// of old events opens none of them again.
import { useSyncExternalStore } from "react";
import type { Asked } from "./question.ts";

/** `elsewhere`: somebody else was first. `gone`: nobody waits any more. */
type Settled = { how: "yes" | "no" | "answer" | "elsewhere" | "gone"; scope?: string; at: number };

const KEPT_MAX = 1_000;
const settled = new Map<string, Settled>();
const listeners = new Set<() => void>();

type Name = Pick<Asked, "sessionId" | "requestId" | "askedAt">;
let changes = 0;

const keyOf = (asked: Name) => `${asked.sessionId} ${asked.requestId}`;

/** The first word counts. A clock that is slow here must not make it older than its question. */
export function settle(asked: Name, how: Omit<Settled, "at">): void {
  if (settledOf(asked) !== null) return;
  const key = keyOf(asked);
  settled.delete(key);
  settled.set(key, { ...how, at: Math.max(Date.now(), asked.askedAt ?? 0) });
  changes += 1;
  for (const oldest of settled.keys()) {
    if (settled.size <= KEPT_MAX) break;
    settled.delete(oldest);
  }
  for (const listener of listeners) listener();
}

/** A machine may ask anew, much later, under an id that it has used before. */
export function settledOf(asked: Name): Settled | null {
  const found = settled.get(keyOf(asked));
  return found !== undefined && (asked.askedAt ?? 0) <= found.at ? found : null;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useSettled(asked: Name): Settled | null {
  return useSyncExternalStore(subscribe, () => settledOf(asked));
}

/** Changes whenever one is settled. */
export function useSettledCount(): number {
  return useSyncExternalStore(subscribe, () => changes);
}
