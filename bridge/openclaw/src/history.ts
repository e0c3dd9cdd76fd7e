/**
 * What was said before in this session where OpenClaw does not know it: one that began on another
 * machine.
 */

import { asText, isObject } from "./json.ts";

const EARLIER_CHARS_MAX = 40_000;

/** The newest of what was said, as a note for the model; nothing where nothing was. */
export function earlier(history: unknown): string {
  const lines = (Array.isArray(history) ? history : [])
    .filter(isObject)
    .map((one) => `${asText(one["role"]) ?? "user"}: ${asText(one["content"]) ?? ""}`);
  if (lines.length === 0) return "";
  const kept: string[] = [];
  let room = EARLIER_CHARS_MAX;
  for (const line of lines.reverse()) {
    room -= line.length;
    if (room < 0) break;
    kept.unshift(line);
  }
  return kept.length > 0 ? `What was said in this conversation before:\n${kept.join("\n")}` : "";
}
