// What was written and not sent yet, for each chat, in this browser.
import { forget, remember, remembered } from "../../../app/memory.ts";

export function draftOf(sessionId: string): string {
  return remembered(`draft.${sessionId}`) ?? "";
}

export function keepDraft(sessionId: string, text: string): void {
  if (text === "") forget(`draft.${sessionId}`);
  else remember(`draft.${sessionId}`, text);
}

/** A file that was uploaded for a message. `at`: when, by this browser's clock. */
export type Uploaded = { id: string; name: string; size: number; at: number };

/** The server keeps an upload ten minutes (docs of `POST /uploads`); on its way a message takes some. */
const LIFE_MS = 9.5 * 60_000;

export function isForgotten(file: { at: number }, now: number): boolean {
  return now - file.at > LIFE_MS;
}

export function draftFilesOf(sessionId: string): Uploaded[] {
  try {
    const kept: unknown = JSON.parse(remembered(`files.${sessionId}`) ?? "[]");
    if (Array.isArray(kept)) return kept.filter(isUploaded);
  } catch {
    // Nothing that could be sent.
  }
  return [];
}

export function keepDraftFiles(sessionId: string, files: readonly Uploaded[]): void {
  if (files.length === 0) forget(`files.${sessionId}`);
  else remember(`files.${sessionId}`, JSON.stringify(files));
}

function isUploaded(kept: unknown): kept is Uploaded {
  if (typeof kept !== "object" || kept === null) return false;
  const { id, name, size, at } = kept as Partial<Uploaded>;
  return typeof id === "string" && typeof name === "string" && typeof size === "number" && typeof at === "number";
}
