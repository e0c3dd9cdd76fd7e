// What is kept of a session for when the server is away: the worker keeps what is read, and what the
// stream brings passes it by. So the newest events are read once more when a turn has ended, and when
// the page is hidden, which may be the last that is heard of it.

import type { StoreView } from "./store.ts";

type Followed = {
  subscribe: (listener: () => void) => () => void;
  view: () => StoreView;
};

type Surroundings = {
  /** Reads what is to be kept. */
  read: () => Promise<unknown>;
  after: (ms: number, call: () => void) => () => void;
  /** Returns how not to be called any more. */
  onHidden: (call: () => void) => () => void;
};

/** Turns that end one behind the other are read together, and the record knows of the end by then. */
const SETTLED_MS = 1_000;

/** For as long as the session is followed; returns how to stop. */
export function keepForOffline(store: Followed, around: Surroundings): () => void {
  let keptId: number | null = null;
  let endId = 0;
  let cancel: (() => void) | null = null;
  const read = () => {
    cancel?.();
    cancel = null;
    const { lastId, phase } = store.view();
    if (phase !== "ready" || keptId === null || lastId === keptId) return;
    const before = keptId;
    keptId = lastId;
    around.read().catch(() => {
      keptId = before; // with the next turn, or when it is hidden again
    });
  };
  const look = () => {
    const { phase, rows, lastId } = store.view();
    if (phase !== "ready") return;
    const end = rows.findLast((row) => row.kind === "end")?.eventId ?? 0;
    if (keptId === null) keptId = lastId; // it was opened by reading
    else if (end > endId) cancel ??= around.after(SETTLED_MS, read);
    endId = end;
  };
  const leave = [store.subscribe(look), around.onHidden(read)];
  return () => {
    cancel?.();
    for (const one of leave) one();
  };
}
