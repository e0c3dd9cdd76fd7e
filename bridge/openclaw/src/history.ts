/**
 * What came with a message besides its words: files, and what was said before in this session
 * where OpenClaw does not know it (a session that began on another machine).
 */

import { asText, isObject, type Json } from "./json.ts";

const FILES_MAX = 20;
const FILES_CHARS_MAX = 8 * 1024 * 1024; // in base64, all of them together
const EARLIER_CHARS_MAX = 40_000;
const MIME = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/;

export interface Files {
  attachments: Json[];
  /** Which files could not be taken, for the model; mostly nothing. */
  notes: string;
}

/** `{name, mime, base64}` each, as `metadata.attachments` has them. */
export function filesOf(given: unknown): Files {
  const attachments: Json[] = [];
  const refused: string[] = [];
  let room = FILES_CHARS_MAX;
  for (const one of Array.isArray(given) ? given.slice(0, FILES_MAX + 1) : []) {
    const file = isObject(one) ? one : {};
    const name = (asText(file["name"]) ?? "file").slice(0, 100);
    const given64 = asText(file["base64"]) ?? "";
    const content = given64.startsWith("data:") ? given64.slice(given64.indexOf(",") + 1) : given64;
    room -= content.length;
    const isGood = content !== "" && /^[A-Za-z0-9+/]*={0,2}$/.test(content);
    if (!isGood || room < 0 || attachments.length >= FILES_MAX) {
      refused.push(name);
      continue;
    }
    const mime = asText(file["mime"]) ?? "";
    const mimeType = MIME.test(mime) ? mime : "application/octet-stream";
    const type = mimeType.startsWith("image/") ? "image" : "file";
    attachments.push({ type, mimeType, fileName: name, content });
  }
  const notes = refused.length > 0 ? `\n\n(Files that could not be kept: ${refused.join(", ")})` : "";
  return { attachments, notes };
}

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
