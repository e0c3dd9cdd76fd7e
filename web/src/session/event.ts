// An event of the log as it came: any field may be missing or of another type.

export type Event = { type: string; [field: string]: unknown };
export type Fields = Record<string, unknown>;

export function parseEvent(line: string): Event | null {
  try {
    const event: unknown = JSON.parse(line);
    return isEvent(event) ? event : null;
  } catch {
    return null;
  }
}

export function isEvent(value: unknown): value is Event {
  return isObject(value) && typeof value["type"] === "string";
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

export function objects(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The turn that it is of, or none. */
export function turnOf(event: Event): string | null {
  return textOrNull(event["turn_id"]);
}

/** Whether it opens a turn, or at least begins something new: where a log can be cut. */
export function isOpening(event: Event): boolean {
  return event.type === "user_message" && textOrNull(event["steers"]) === null;
}
