// Events of a session's log, and how a session is followed: each event once and in order.
import type { Schemas } from "./api.ts";
import { ApiError, errorOf, StreamBroken } from "./errors.ts";
import { Line } from "./line.ts";
import type { Around } from "./around.ts";
import type { Frame } from "./sse.ts";

/** As it came; `type` says which, docs/protocols/events.md what is in it. */
export type SessionEvent = Schemas["Event"] | { type: string; [field: string]: unknown };

/** An event with its place in the log. `resync` has none: what follows is read from the log. */
export type Logged = { id: number | null; event: SessionEvent };

export type StreamOptions = {
  /** The last id that you have; 0 for all of the log. */
  after?: number;
  signal?: AbortSignal;
};

export type Source = {
  around: Around;
  address: (sessionId: string) => string;
  headers: Record<string, string>;
  page: (sessionId: string, after: number) => Promise<Schemas["EventPage"]>;
};

const RESYNC: Logged = { id: null, event: { type: "resync" } };
/** In a row, without a connection: about two minutes. */
const ATTEMPTS_MAX = 12;

/** `startsOver`: what came before that position was given out to the same reader. */
export async function* follow(
  source: Source,
  sessionId: string,
  { after = 0, signal }: StreamOptions,
  startsOver = true,
): AsyncGenerator<Logged, void, void> {
  let position = after;
  const line = new Line({
    around: source.around,
    ask: () => ({
      address: source.address(sessionId),
      headers: { ...source.headers, "Last-Event-ID": String(position) },
    }),
    onRefusal: endsIfFinal,
    attemptsMax: ATTEMPTS_MAX,
  });
  const stop = () => line.stop();
  signal?.throwIfAborted();
  signal?.addEventListener("abort", stop);
  try {
    for await (const frames of line) {
      if (frames.every((frame) => frame.event !== "resync")) line.begun();
      for (const frame of frames) {
        if (frame.event === "resync") {
          try {
            for await (const logged of missed(source, sessionId, position, startsOver)) {
              position = logged.id ?? Math.min(position, logged.upto);
              yield logged.id === null ? RESYNC : logged;
            }
            line.begun();
          } catch (error) {
            if (!(error instanceof ApiError) || !error.isPassing) throw error;
            line.cut(); // it says so again
            break;
          }
          continue;
        }
        const logged = eventOf(frame);
        if (logged?.id == null || logged.id <= position) continue;
        position = logged.id;
        yield logged;
      }
    }
    signal?.throwIfAborted();
  } catch (error) {
    if (error instanceof StreamBroken) error.message = `session ${sessionId}, after event ${position}: ${error.message}`;
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    line.stop();
  }
}

/** The log up to now, page by page. */
export async function* logged(source: Source, sessionId: string, after: number): AsyncGenerator<Logged, void, void> {
  let position: number | null = after;
  while (position !== null) {
    const page: Schemas["EventPage"] = await source.page(sessionId, position);
    for (const { id, event } of page.items) yield { id, event: isEvent(event) ? event : { type: "", raw: event } };
    position = page.next_after;
  }
}

/** First a mark without an id. A position that is no place in the log (it was cut off, or a backup was
 * restored): the log is read from its beginning. */
async function* missed(
  source: Source,
  sessionId: string,
  position: number,
  startsOver: boolean,
): AsyncGenerator<Logged & { upto: number }, void, void> {
  const { resync } = await source.page(sessionId, position);
  const upto = resync && startsOver ? 0 : position;
  yield { ...RESYNC, upto };
  for await (const one of logged(source, sessionId, upto)) yield { ...one, upto };
}

export async function endsIfFinal(answer: Response): Promise<"again"> {
  const error = errorOf(await answer.json().catch(() => null), answer);
  if (!error.isPassing && !error.isOpen) throw error;
  return "again";
}

function eventOf(frame: Frame): Logged | null {
  if (frame.event !== "message" || !/^\d{1,15}$/.test(frame.id)) return null;
  let event: unknown;
  try {
    event = JSON.parse(frame.data);
  } catch {
    event = null;
  }
  return { id: Number(frame.id), event: isEvent(event) ? event : { type: "", raw: frame.data } };
}

function isEvent(value: unknown): value is SessionEvent {
  return typeof (value as { type?: unknown } | null)?.type === "string";
}
