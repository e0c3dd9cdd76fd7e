// What is looked for, as the form has it and as the server is asked. Pure.
export type Filter = { q: string; user: string; event: string; source: string; from: string; to: string };

export const EVERYTHING: Filter = { q: "", user: "", event: "", source: "", from: "", to: "" };

const TEXT_MIN = 2;

export type Asked = {
  q?: string;
  user_id?: string;
  event?: string;
  source?: "control" | "machine";
  since?: number;
  until?: number;
};

/** Days are the reader's own; `to` is a day that counts as a whole. */
export function asked(filter: Filter): Asked {
  const found: Asked = {};
  const text = filter.q.trim();
  const event = filter.event.trim();
  if (text.length >= TEXT_MIN) found.q = text;
  if (filter.user !== "") found.user_id = filter.user;
  if (event !== "") found.event = event;
  if (filter.source === "control" || filter.source === "machine") found.source = filter.source;
  const since = dayStart(filter.from, 0);
  const until = dayStart(filter.to, 1);
  if (since !== null) found.since = since;
  if (until !== null) found.until = until;
  return found;
}

function dayStart(day: string, later: number): number | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (match === null) return null;
  const at = new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + later).getTime();
  return at >= 0 ? at : null;
}
