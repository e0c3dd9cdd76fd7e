/** What a person allowed for the whole of a session, in a file: it holds after a restart too. */

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { asTexts, wordsOf } from "./json.ts";

export function readGrants(file: string): string[] {
  try {
    return asTexts(JSON.parse(readFileSync(file, "utf8")), Infinity);
  } catch {
    return []; // nothing was allowed yet, or what is there is none of ours: people are asked again
  }
}

/** Whole or not at all. */
export function keepGrants(file: string, grants: string[]): void {
  try {
    writeFileSync(`${file}.new`, JSON.stringify(grants), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    console.error(`what was allowed is not kept: ${wordsOf(error)}`);
  }
}
