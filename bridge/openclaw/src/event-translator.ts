/**
 * OpenClaw's events of one run, as events of our session. Pure: what the gateway says goes in,
 * what readers see comes out; an event that is not known is left out.
 */

import { asNumber, asObject, asText, isObject, type Json } from "./json.ts";

const PROGRESS_CHARS_MAX = 100_000; // of one tool's output while it runs
const RESULT_CHARS_MAX = 1_000_000;

/** How the run ended, where its own events say so. */
export interface End {
  error?: string;
  aborted: boolean;
}

export interface Names {
  /** The skill whose guide is the file at this path, if it is one. */
  skillAt: (path: string) => string | undefined;
  /** A tool's name as readers know it: without what only keeps our servers apart. */
  toolName: (name: string) => string;
}

interface Call {
  name: string;
  input: Json;
  skill?: string;
  shown: string;
}

export class Translator {
  end: End | undefined;
  private readonly names: Names;
  private readonly texts = new Map<string, string>();
  private readonly calls = new Map<string, Call>();
  private newest = "";
  private thought = "";

  constructor(names: Names) {
    this.names = names;
  }

  /** The newest piece of the answer, whole. */
  get answer(): string {
    return this.texts.get(this.newest) ?? "";
  }

  /** The payload of one `agent` event. */
  translate(payload: Json): Json[] {
    const data = asObject(payload["data"]);
    switch (payload["stream"]) {
      case "assistant":
        return this.text(asText(data["itemId"]) ?? "", asText(data["text"]) ?? "");
      case "item":
        return this.item(data);
      case "thinking":
        return this.thinking(asText(data["text"]) ?? "");
      case "tool":
        return this.tool(data);
      case "lifecycle":
        this.lifecycle(data);
        return [];
      default:
        return [];
    }
  }

  /** Its text comes again and again, longer each time; readers get what is new. */
  private text(item: string, whole: string): Json[] {
    const shown = this.texts.get(item);
    if (whole === "" || (shown !== undefined && !whole.startsWith(shown))) return [];
    if (shown === undefined && [...this.texts.values()].some((one) => one.trim() === whole.trim())) {
      return []; // said before under another name
    }
    const isLater = shown === undefined && this.texts.size > 0;
    this.texts.set(item, whole);
    this.newest = item;
    const content = (isLater ? "\n\n" : "") + whole.slice(shown?.length ?? 0);
    return content === "" ? [] : [{ type: "text_chunk", content }];
  }

  /** What the model says before it uses a tool comes as an item of its own. */
  private item(data: Json): Json[] {
    if (data["kind"] !== "preamble") return [];
    return this.text(asText(data["itemId"]) ?? "preamble", asText(data["progressText"]) ?? "");
  }

  private thinking(whole: string): Json[] {
    const isMore = whole.startsWith(this.thought);
    const content = isMore ? whole.slice(this.thought.length) : whole;
    this.thought = whole;
    return content === "" ? [] : [{ type: "thinking", content, stage: "openclaw" }];
  }

  private tool(data: Json): Json[] {
    const id = asText(data["toolCallId"]) ?? "";
    switch (data["phase"]) {
      case "start":
        return this.started(id, data);
      case "update":
        return this.progressed(id, data);
      case "result":
        return this.completed(id, data);
      default:
        return [];
    }
  }

  private started(id: string, data: Json): Json[] {
    const name = this.names.toolName(asText(data["name"]) ?? "tool");
    const input = asObject(data["args"]);
    const skill = this.skillOf(name, input);
    this.calls.set(id, { name, input, shown: "", ...(skill === undefined ? {} : { skill }) });
    const events: Json[] = [
      { type: "tool_call_start", tool_name: name, tool_input: input, tool_call_id: id },
    ];
    if (skill !== undefined) {
      events.push({ type: "skill_call_start", skill_name: skill, arguments: input, tool_call_id: id });
    }
    return events;
  }

  private progressed(id: string, data: Json): Json[] {
    const call = this.calls.get(id);
    const whole = textOf(data["partialResult"]).slice(0, PROGRESS_CHARS_MAX);
    if (call === undefined || !whole.startsWith(call.shown)) return [];
    const content = whole.slice(call.shown.length);
    call.shown = whole;
    if (content === "") return [];
    return [{ type: "tool_call_progress", tool_name: call.name, content, tool_call_id: id }];
  }

  private completed(id: string, data: Json): Json[] {
    const known = this.calls.get(id);
    const name = known?.name ?? this.names.toolName(asText(data["name"]) ?? "tool");
    const result = textOf(data["result"]).slice(0, RESULT_CHARS_MAX);
    this.calls.delete(id);
    const events: Json[] = [];
    if (known?.skill !== undefined) {
      events.push({
        type: "skill_call_complete",
        skill_name: known.skill,
        result,
        tool_call_id: id,
      });
    }
    const details = detailsOf(data["result"]);
    events.push({
      type: "tool_call_complete",
      tool_name: name,
      tool_input: known?.input ?? {},
      result,
      is_error: data["isError"] === true,
      tool_call_id: id,
      ...(Object.keys(details).length > 0 ? { details } : {}),
    });
    return events;
  }

  private skillOf(tool: string, input: Json): string | undefined {
    const path = tool === "read" ? asText(input["path"]) ?? asText(input["file_path"]) : undefined;
    return path === undefined ? undefined : this.names.skillAt(path);
  }

  private lifecycle(data: Json): void {
    const aborted = data["aborted"] === true;
    if (this.end !== undefined) return; // a second end may follow an abort
    if (data["phase"] === "end") this.end = { aborted };
    if (data["phase"] === "error") {
      this.end = { aborted, error: asText(data["error"]) ?? "OpenClaw gave no reason" };
    }
  }
}

/** The text of a tool's result, as MCP shapes it. */
function textOf(result: unknown): string {
  const content = asObject(result)["content"];
  if (!Array.isArray(content)) return typeof result === "string" ? result : "";
  return content
    .filter(isObject)
    .map((block) => asText(block["text"]) ?? `[${asText(block["type"]) ?? "block"}]`)
    .join("\n");
}

function detailsOf(result: unknown): Json {
  const given = asObject(asObject(result)["details"]);
  const details: Json = {};
  const exitCode = asNumber(given["exitCode"]);
  if (exitCode !== undefined) details["exit_code"] = exitCode;
  if (given["timedOut"] === true) details["timed_out"] = true;
  return details;
}
