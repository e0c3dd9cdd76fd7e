// What a call is about, from its input: of our own tools and of the programs' that we run.

import { changes } from "../../../approvals/lines.ts";
import { isObject, text, type Fields } from "../../../session/event.ts";
import type { ToolRow } from "../../../session/model.ts";

const COMMANDS = ["bash", "shell", "execute", "run_command", "terminal", "run_shell_command"];
const SUMMARIES = ["command", "file_path", "path", "pattern", "query", "url", "skill", "task", "prompt", "description"];
const SUMMARY_CHARS_MAX = 160;

function fields(row: Pick<ToolRow, "input">): Fields {
  return isObject(row.input) ? row.input : {};
}

/** The command of a call that runs one. */
export function commandOf(row: ToolRow): string | null {
  const command = fields(row)["command"] ?? fields(row)["cmd"];
  if (!COMMANDS.includes(row.name.toLowerCase())) return null;
  if (Array.isArray(command)) return command.filter((one) => typeof one === "string").join(" ");
  return typeof command === "string" ? command : null;
}

/** One line that says what it does. */
export function summaryOf(row: Pick<ToolRow, "input">): string {
  const given = fields(row);
  const name = SUMMARIES.find((one) => typeof given[one] === "string" && given[one] !== "");
  const said = name ? text(given[name]) : typeof row.input === "string" ? row.input : "";
  const line = said.trim().split("\n", 1)[0] ?? "";
  return line.length > SUMMARY_CHARS_MAX ? `${line.slice(0, SUMMARY_CHARS_MAX)}…` : line;
}

export type Edit = { path: string; diff: string };

const MARKS = { added: "+", removed: "-", same: " ", place: " " };

/** A text in the place of another, as a unified diff. */
function diffOf(before: string, after: string): string {
  const runs = changes(before, after);
  const lines = runs.flatMap(({ kind, lines: all }) => all.map((line) => MARKS[kind] + line));
  const count = (other: string) => lines.filter((line) => !line.startsWith(other)).length;
  return [`@@ -1,${count("+")} +1,${count("-")} @@`, ...lines, ""].join("\n");
}

/** What a call changes in files: as the machine saw it, else as the call itself says. */
export function editsOf(row: ToolRow): Edit[] {
  const seen = row.files.filter((file) => file.diff !== "");
  if (seen.length > 0) return seen;
  const given = fields(row);
  const path = text(given["file_path"] ?? given["path"] ?? given["notebook_path"]);
  if (typeof row.details["diff"] === "string" && row.details["diff"] !== "") {
    return [{ path, diff: row.details["diff"] }];
  }
  if (typeof given["old_string"] === "string" && typeof given["new_string"] === "string") {
    return [{ path, diff: diffOf(given["old_string"], given["new_string"]) }];
  }
  if (Array.isArray(given["edits"])) {
    const edits = given["edits"].filter(isObject);
    return edits.map((edit) => ({ path, diff: diffOf(text(edit["old_string"]), text(edit["new_string"])) }));
  }
  if (/^(?:write|write_file|create)$/i.test(row.name) && typeof given["content"] === "string") {
    return [{ path, diff: diffOf("", given["content"]) }];
  }
  return [];
}

const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Output as a terminal shows it: without colours, and a line that is written over only once. */
export function terminalText(output: string): string {
  const plain = output.includes("\u001b") ? output.replace(ESCAPES, "") : output;
  if (!plain.includes("\r")) return plain;
  return plain
    .split("\n")
    .map((line) => {
      const shown = line.replace(/\r+$/, "");
      return shown.slice(shown.lastIndexOf("\r") + 1);
    })
    .join("\n");
}

/** What a call has put out and its result does not repeat: one that broke off only says that it did. */
export function outputBefore(row: Pick<ToolRow, "state" | "output" | "result">): string {
  const result = terminalText(asText(row.result));
  if (row.state === "running" || result === "") return row.output;
  if (row.state === "done") return "";
  const last = terminalText(row.output).trimEnd().split("\n").at(-1)?.trim() ?? "";
  return result.includes(last) ? "" : row.output;
}

/** Anything as text: of the parts of a message, those that are text. */
export function asText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((one) => isObject(one) && typeof one["text"] === "string")) {
    return value.map((one) => text((one as Fields)["text"])).join("\n");
  }
  if (isObject(value) && typeof value["content"] === "string") return value["content"];
  return JSON.stringify(value, null, 2);
}
