// The frames of the stream of everything that one account may see.
import type { Schemas } from "./api.ts";
import type { Frame } from "./sse.ts";

/** An event with its place in the log; `line` is its JSON, not parsed yet. */
export type LiveEvent = { id: number; line: string };

/** What changed in lists. */
export type News =
  | { kind: "session"; session: Schemas["Session"] }
  | { kind: "approval"; approval: Schemas["Approval"] }
  | { kind: "machine"; id: string }
  | { kind: "gone"; what: "session" | "machine"; id: string };

export type AccountFrame =
  | { kind: "hello"; streamId: string; heartbeatS: number }
  | { kind: "event"; sessionId: string; event: LiveEvent }
  | { kind: "resync"; sessionId: string; upto: number }
  | { kind: "news"; news: News };

/** null: nothing that is known here. A newer server may say more. */
export function readAccountFrame(frame: Frame): AccountFrame | null {
  if (frame.event === "message") return eventOf(frame);
  let data: unknown;
  try {
    data = JSON.parse(frame.data);
  } catch {
    return null;
  }
  if (typeof data !== "object" || data === null) return null;
  const said = data as Record<string, unknown>;
  switch (frame.event) {
    case "hello":
      return typeof said.stream_id === "string"
        ? { kind: "hello", streamId: said.stream_id, heartbeatS: Number(said.heartbeat_s) || 15 }
        : null;
    case "resync":
      return typeof said.session_id === "string"
        ? { kind: "resync", sessionId: said.session_id, upto: Number(said.last_event_id) || 0 }
        : null;
    default: {
      const news = newsOf(frame.event, said);
      return news && { kind: "news", news };
    }
  }
}

function eventOf(frame: Frame): AccountFrame | null {
  const colon = frame.id.lastIndexOf(":");
  const id = Number(frame.id.slice(colon + 1));
  if (colon < 1 || !Number.isSafeInteger(id) || id < 1) return null;
  return { kind: "event", sessionId: frame.id.slice(0, colon), event: { id, line: frame.data } };
}

function newsOf(event: string, said: Record<string, unknown>): News | null {
  if (typeof said.id !== "string") return null;
  switch (event) {
    case "session":
      return { kind: "session", session: said as never };
    case "approval":
      return { kind: "approval", approval: said as never };
    case "machine":
      return { kind: "machine", id: said.id };
    case "gone":
      return said.kind === "session" || said.kind === "machine"
        ? { kind: "gone", what: said.kind, id: said.id }
        : null;
    default:
      return null;
  }
}
