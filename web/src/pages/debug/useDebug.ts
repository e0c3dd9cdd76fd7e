// The events of a session in every form: the newest first read, older ones on demand, new ones as
// the stream tells of them.
import { useCallback, useEffect, useRef, useState } from "react";
import { api, unwrap } from "../../api/client";
import { follow } from "../../live";
import { Counter, merged, type DebugEvent } from "./columns.ts";

const PAGE = 100;
const READ_EVERY_MS = 400;
const KEPT_MAX = 5_000;
const COUNTED_EVERY_MS = 500;

type Query = { after?: number; before?: number; limit: number };

function read(sessionId: string, query: Query) {
  const params = { path: { session_id: sessionId }, query };
  return unwrap(api.GET("/api/v1/sessions/{session_id}/debug", { params }));
}

export type Debug = {
  events: readonly DebugEvent[];
  error: unknown;
  isLoading: boolean;
  isAtStart: boolean;
  /** From when on what the machine sends is kept as it comes; null: it is not. */
  recordedSince: number | null;
  loadOlder: () => void;
  retry: () => void;
};

export function useDebug(sessionId: string, isLive: boolean): Debug {
  const [events, setEvents] = useState<readonly DebugEvent[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [isLoading, setLoading] = useState(true);
  const [since, setSince] = useState<number | null>(null);
  const [start, setStart] = useState(1);
  const [tries, setTries] = useState(0);
  const last = useRef(0);
  const isReading = useRef(false);

  const take = useCallback(
    async (query: Query) => {
      const page = await read(sessionId, query);
      setEvents((kept) => merged(kept, page.items, KEPT_MAX));
      setSince(page.recorded_since ?? null);
      setStart(page.first_id);
      last.current = Math.max(last.current, page.items.at(-1)?.id ?? 0);
      return page;
    },
    [sessionId],
  );

  useEffect(() => {
    let isLeft = false;
    setEvents([]);
    last.current = 0;
    setLoading(true);
    take({ limit: PAGE })
      .then(() => isLeft || setError(null))
      .catch((failure: unknown) => isLeft || setError(failure))
      .finally(() => isLeft || setLoading(false));
    return () => {
      isLeft = true;
    };
  }, [take, tries]);

  useEffect(() => {
    if (!isLive || isLoading) return;
    let wanted = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const catchUp = async () => {
      timer = null;
      if (isReading.current) return;
      isReading.current = true;
      try {
        while (last.current < wanted) {
          const page = await take({ after: last.current, limit: PAGE });
          if (page.items.length === 0) break;
        }
        setError(null);
      } catch (failure) {
        setError(failure);
      }
      isReading.current = false;
    };
    const soon = (upto: number) => {
      wanted = Math.max(wanted, upto);
      timer ??= setTimeout(() => void catchUp(), READ_EVERY_MS);
    };
    const leave = follow(sessionId, {
      position: () => Math.max(last.current, wanted),
      onEvents: (some) => soon(some.at(-1)?.id ?? 0),
      onResync: () => soon(last.current + 1),
    });
    return () => {
      leave();
      if (timer !== null) clearTimeout(timer);
    };
  }, [sessionId, isLive, isLoading, take]);

  const first = events[0]?.id ?? 1;
  const loadOlder = useCallback(() => {
    if (isReading.current) return;
    isReading.current = true;
    take({ before: first, limit: PAGE })
      .catch(setError)
      .finally(() => (isReading.current = false));
  }, [take, first]);

  return {
    events,
    error,
    isLoading,
    isAtStart: first <= start || events.length >= KEPT_MAX,
    recordedSince: since,
    loadOlder,
    retry: () => setTries(tries + 1),
  };
}

type Counted = { frames: number; bytes: number; rate: number };

/** What the stream brings of the session while the page is open. */
export function useFrameCounter(sessionId: string): Counted {
  const [counted, setCounted] = useState<Counted>({ frames: 0, bytes: 0, rate: 0 });
  useEffect(() => {
    const counter = new Counter();
    let last = Number.MAX_SAFE_INTEGER;
    const show = () => {
      const { frames, bytes } = counter;
      const rate = counter.rate(Date.now());
      setCounted((shown) =>
        shown.frames === frames && shown.rate === rate ? shown : { frames, bytes, rate },
      );
    };
    const timer = setInterval(show, COUNTED_EVERY_MS);
    let leave = () => {};
    let isLeft = false;
    void read(sessionId, { limit: 1 }).then((page) => {
      if (isLeft) return;
      last = page.last_event_id;
      leave = follow(sessionId, {
        position: () => last,
        onEvents: (events) => {
          last = events.at(-1)?.id ?? last;
          counter.add(events.length, events.reduce((sum, one) => sum + one.line.length, 0), Date.now());
        },
        onResync: () => undefined,
      });
    }, () => undefined);
    return () => {
      isLeft = true;
      clearInterval(timer);
      leave();
    };
  }, [sessionId]);
  return counted;
}
