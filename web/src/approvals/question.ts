// A question as a person reads it: all that will run or be changed, nothing left out, and nothing
// in it that looks like something else.
import { changes, unified, type Run } from "./lines.ts";

export type Fields = Record<string, unknown>;

export type Resolution = {
  confirmed: boolean;
  answer: unknown;
  answeredBy: string | null;
  scope: string | null;
  reason: string | null;
};

/** A question of a session; `event` as it stands in the log. */
export type Asked = {
  sessionId: string;
  requestId: string;
  event: Fields;
  /** Unix milliseconds. */
  askedAt: number | null;
  resolution: Resolution | null;
};

/** A part of what is asked. `of`: which of the call's arguments it is. */
export type Part =
  | { kind: "command"; of: string; text: string }
  | { kind: "diff"; of: string; path: string; runs: Run[]; isWhole: boolean }
  | { kind: "text"; of: string; text: string }
  | { kind: "value"; of: string; text: string };

const QUESTION_BYTES_MAX = 256 * 1024;
const INLINE_CHARS_MAX = 120;
const SAID = ["message", "prompt", "question"];
const GIVEN = ["tool_input", "args", "arguments", "input"];
const COMMANDS = ["command", "cmd", "script", "code"];
const PATHS = ["path", "file_path", "filePath", "filename"];
const OLD = ["old_text", "old_string", "oldText", "oldString", "old"];
const NEW = ["new_text", "new_string", "newText", "newString", "new"];
const PATCHES = ["patch", "diff"];
const WRITES = /^(write|write_file|Write|create_file|create)$/;

export type Kind = "approve" | "input" | "select";

export function kindOf(event: Fields): Kind {
  const kind = event["kind"];
  if (kind === "approve" || kind === "input" || kind === "select") return kind;
  return optionsOf(event).length > 0 ? "select" : "approve";
}

/** What may be chosen: options are texts, or objects with a label. */
export function optionsOf(event: Fields): string[] {
  const options = event["options"];
  if (!Array.isArray(options)) return [];
  return options.map((one: unknown) => {
    const named = isFields(one) ? (one["label"] ?? one["name"] ?? one["value"]) : one;
    return textOf(named);
  });
}

/** The usual question of a runtime in the reader's language; what it adds stays in its own words. */
export function translated(message: string, mayUse: (tool: string) => string): string {
  return message.replace(/^May I use (\S+)\?/, (_, tool: string) => mayUse(tool));
}

export function messageOf(event: Fields): string {
  const said = SAID.map((name) => event[name]).find(Boolean);
  return visible(textOf(said).trim());
}

export function toolOf(event: Fields): string {
  return typeof event["tool_name"] === "string" ? visible(event["tool_name"]) : "";
}

/** Whether less arrived than is asked, or more than every client can show: nobody can say yes. */
export function isCut(event: Fields): boolean {
  if (event["truncated"]) return true;
  return new TextEncoder().encode(JSON.stringify(event)).length > QUESTION_BYTES_MAX;
}

/** When it runs out (Unix ms), where it does. */
export function deadlineOf(asked: Asked): number | null {
  const seconds = asked.event["timeout_seconds"];
  if (typeof seconds !== "number" || asked.askedAt === null) return null;
  return asked.askedAt + seconds * 1000;
}

/** Who of a group asks; empty where the session itself does. */
export function speakerOf(event: Fields): string {
  const person = event["person"];
  if (!isFields(person)) return "";
  return visible(textOf(person["name"] ?? person["id"]));
}

/** Everything that the call is given. */
export function partsOf(event: Fields): Part[] {
  const parts: Part[] = [];
  for (const name of GIVEN) {
    const value = event[name];
    if (value === undefined || value === null) continue;
    if (isFields(value)) parts.push(...argumentsOf(textOf(event["tool_name"]), value));
    else parts.push(plainPart(name, value));
  }
  if (kindOf(event) === "approve") return parts;
  // A question in words has them once more among its arguments.
  const said = [messageOf(event), visible(textOf(event["options"]))];
  return parts.filter((part) => part.kind === "command" || part.kind === "diff" || !said.includes(part.text));
}

function argumentsOf(tool: string, given: Fields): Part[] {
  const left = { ...given };
  const parts: Part[] = [];
  const take = (names: readonly string[]): [string, string] | null => {
    const name = names.find((one) => typeof left[one] === "string");
    if (name === undefined) return null;
    const text = left[name] as string;
    delete left[name];
    return [name, text];
  };
  const command = take(COMMANDS);
  if (command !== null) parts.push({ kind: "command", of: command[0], text: visible(command[1]) });
  const edits = diffsOf(tool, left);
  if (edits.length > 0) parts.push(...edits);
  for (const [name, value] of Object.entries(left)) parts.push(plainPart(name, value));
  return parts;
}

/** Takes what is a change of a file out of the arguments. */
function diffsOf(tool: string, left: Fields): Part[] {
  const pathName = PATHS.find((one) => typeof left[one] === "string");
  const path = pathName === undefined ? "" : visible(left[pathName] as string);
  const parts: Part[] = [];
  const pair = pairOf(left);
  if (pair !== null) {
    parts.push(diff(pair.names[1], path, changes(pair.before, pair.after)));
    for (const name of pair.names) delete left[name];
  }
  const edits = left["edits"];
  if (Array.isArray(edits) && edits.length > 0 && edits.every((one) => pairOf(one) !== null)) {
    edits.forEach((one, at) => {
      const found = pairOf(one)!;
      parts.push(diff(`edits[${at}]`, path, changes(found.before, found.after)));
      parts.push(...restOf(one as Fields, found.names, `edits[${at}]`));
    });
    delete left["edits"];
  }
  const diffs = left["diffs"];
  if (Array.isArray(diffs) && diffs.length > 0 && diffs.every(isFileDiff)) {
    diffs.forEach((one: Fields, at) => {
      const found = pairOf(one)!;
      const runs = changes(found.before, found.after);
      const isWhole = one[found.names[0]] === null;
      parts.push({ kind: "diff", of: `diffs[${at}]`, path: visible(textOf(one["path"])), runs, isWhole });
      parts.push(...restOf(one, [...found.names, "path"], `diffs[${at}]`));
    });
    delete left["diffs"];
  }
  for (const name of PATCHES) {
    if (typeof left[name] !== "string") continue;
    parts.push(diff(name, path, unified(visible(left[name]))));
    delete left[name];
  }
  if (WRITES.test(tool) && typeof left["content"] === "string") {
    const runs = changes("", visible(left["content"]));
    parts.push({ kind: "diff", of: "content", path, runs, isWhole: true });
    delete left["content"];
  }
  if (parts.length > 0 && pathName !== undefined) delete left[pathName];
  return parts;
}

function diff(of: string, path: string, runs: Run[]): Part {
  return { kind: "diff", of, path, runs, isWhole: false };
}

function restOf(of: Fields, without: readonly string[], where: string): Part[] {
  return Object.entries(of)
    .filter(([name]) => !without.includes(name))
    .map(([name, value]) => plainPart(`${where}.${name}`, value));
}

function isFileDiff(one: unknown): boolean {
  return isFields(one) && typeof one["path"] === "string" && pairOf(one) !== null;
}

/** A text and what takes its place; null for the former: there was no file. */
function pairOf(given: unknown): { names: [string, string]; before: string; after: string } | null {
  if (!isFields(given)) return null;
  const before = OLD.find((name) => typeof given[name] === "string" || given[name] === null);
  const after = NEW.find((name) => typeof given[name] === "string");
  if (before === undefined || after === undefined) return null;
  return {
    names: [before, after],
    before: visible(textOf(given[before])),
    after: visible(given[after] as string),
  };
}

function plainPart(of: string, value: unknown): Part {
  const text = visible(textOf(value));
  const isShort = text.length <= INLINE_CHARS_MAX && !text.includes("\n");
  return { kind: isShort ? "value" : "text", of: visible(of), text };
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** With every character written out that has no form of its own, or that would turn others round:
 * what a person decides upon must not look like something else. */
export function visible(text: string): string {
  return text.replace(/[\p{C}\p{Z}]/gu, (one) =>
    one === " " || one === "\n" || one === "\t" ? one : `⟨U+${hex(one)}⟩`,
  );
}

function hex(one: string): string {
  return one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
