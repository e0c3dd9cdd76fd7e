// Messages that were not sent, over a reload. Tabs write to the same place: each leaves alone what is
// another's.
import { forget, remember, remembered } from "../../../app/memory.ts";
import type { Uploaded } from "./drafts.ts";

export type Message = {
  id: string;
  text: string;
  files: Uploaded[];
  whenBusy: "steer" | "queue";
};

export function unsentOf(sessionId: string): Message[] {
  try {
    const kept: unknown = JSON.parse(remembered(keyOf(sessionId)) ?? "[]");
    if (Array.isArray(kept)) return kept.filter(isMessage);
  } catch {
    // Nothing that could be sent.
  }
  return [];
}

/** `own`: the ids that this tab has had; those of them that are not in the box any more are done. */
export function keepUnsent(sessionId: string, box: readonly Message[], own: ReadonlySet<string>): void {
  const others = unsentOf(sessionId).filter((one) => !own.has(one.id));
  const all = [...others, ...box.map(({ id, text, files, whenBusy }) => ({ id, text, files, whenBusy }))];
  if (all.length === 0) forget(keyOf(sessionId));
  else remember(keyOf(sessionId), JSON.stringify(all));
}

function isMessage(kept: unknown): kept is Message {
  if (typeof kept !== "object" || kept === null) return false;
  const one = kept as Partial<Message>;
  return typeof one.id === "string" && typeof one.text === "string" && Array.isArray(one.files);
}

function keyOf(sessionId: string): string {
  return `outbox.${sessionId}`;
}
