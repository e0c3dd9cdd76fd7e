// The forms in which an event is shown, and which events are. No I/O.
import type { Schemas } from "../../api/client";

export type DebugEvent = Schemas["DebugEvent"];
export type Words = Schemas["Words"];

export const COLUMNS = ["raw", "log", "sse", "myagent", "yeaft", "yeaft_deployed"] as const;
export type Column = (typeof COLUMNS)[number];

/** What an event is in that form: none, one, or several messages. */
export function textsOf(event: DebugEvent, column: Column): readonly Words[] {
  const found = event[column];
  if (found === null || found === undefined) return [];
  return Array.isArray(found) ? found : [found];
}

export function sizeOf(texts: readonly Words[]): number {
  return texts.reduce((sum, one) => sum + one.size, 0);
}

/** JSON over several lines, where it is some; anything else as it is. */
export function laidOut(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export type Filter = { type: string; text: string; columns: readonly Column[] };

export function matches(event: DebugEvent, filter: Filter): boolean {
  if (filter.type !== "" && event.type !== filter.type) return false;
  const wanted = filter.text.trim().toLowerCase();
  if (wanted === "" || String(event.id) === wanted) return true;
  return filter.columns.some((column) =>
    textsOf(event, column).some((one) => one.text.toLowerCase().includes(wanted)),
  );
}

export function typesOf(events: readonly DebugEvent[]): string[] {
  return [...new Set(events.map((event) => event.type ?? ""))].filter((one) => one !== "").sort();
}

/** One event a line, with the chosen forms. */
export function jsonLines(events: readonly DebugEvent[], columns: readonly Column[]): string {
  return events
    .map((event) => {
      const forms = Object.fromEntries(columns.map((column) => [column, event[column]]));
      return `${JSON.stringify({ id: event.id, type: event.type, ts: event.ts, ...forms })}\n`;
    })
    .join("");
}

/** Both in their order, each event once; of one that is there twice, the one that was read last: it
 * may know by now what came from the machine. */
export function merged(
  kept: readonly DebugEvent[],
  read: readonly DebugEvent[],
  countMax: number,
): DebugEvent[] {
  const all = new Map(kept.map((event) => [event.id, event]));
  for (const event of read) all.set(event.id, event);
  return [...all.values()].sort((one, other) => one.id - other.id).slice(-countMax);
}

/** How many frames came in the last second. */
export class Counter {
  frames = 0;
  bytes = 0;
  private recent: { at: number; count: number }[] = [];

  add(count: number, bytes: number, now: number): void {
    this.frames += count;
    this.bytes += bytes;
    this.recent.push({ at: now, count });
  }

  rate(now: number): number {
    this.recent = this.recent.filter((one) => now - one.at < 1_000);
    return this.recent.reduce((sum, one) => sum + one.count, 0);
  }
}
