// One turn while its events come in.

import { isObject, number, text, textOrNull, type Event } from "./event.ts";
import { Call, Flow, Item, Speech, type Base } from "./flow.ts";
import type {
  CallState, EndRow, FileChange, Person, PlanRow, ToolRow, Turn, TurnState, Usage,
} from "./model.ts";

/** Of one call's live output, the end of it: a machine sends 100,000 characters at most. */
const OUTPUT_CHARS_MAX = 100_000;

export class TurnBuilder {
  readonly key: string;
  readonly id: string | null;
  readonly main: Flow;
  state: TurnState = "running";
  /** Events of it were lost on the way, so that its last words decide what was said. */
  isLost = false;

  private readonly startedTs: number | null;
  private calls = new Map<string, Call>();
  private speeches = new Map<string, Speech>();
  private plans = new Map<Flow, Item<PlanRow>>();
  private files = new Map<string, FileChange>();
  private usage: Usage | null = null;
  private ending: Item<EndRow> | null = null;
  private requests = new Set<string>();
  private known: Turn | null = null;

  constructor(key: string, id: string | null, ts: number | null) {
    this.key = key;
    this.id = id;
    this.startedTs = ts;
    this.main = new Flow(() => {
      this.known = null;
    });
  }

  snapshot(): Turn {
    this.known ??= {
      key: this.key,
      id: this.id,
      state: this.state,
      startedTs: this.startedTs,
      rows: this.main.rows(),
      lanes: [...this.speeches.values()].map((speech) => speech.lane()),
    };
    return this.known;
  }

  settle(state: TurnState): void {
    this.state = state;
    this.known = null;
  }

  /** Where an event belongs: to a person, below a call, or to the turn itself. */
  flowOf(event: Event): Flow {
    const parent = this.calls.get(text(event["parent_tool_call_id"]));
    if (parent) {
      const agent = textOrNull(event["agent"]);
      if (agent && parent.row.agent !== agent) parent.set({ agent });
      return parent.flow;
    }
    return this.speeches.get(speechKey(event))?.flow ?? this.main;
  }

  speechOf(base: Base, event: Event): Speech {
    const key = speechKey(event);
    const group = isObject(event["group"]) ? event["group"] : {};
    const known = this.speeches.get(key);
    if (known) return known;
    const person = base.person as Person;
    const lane = { key: `${this.key}.${key}`, person, ask: number(group["ask"]), by: textOrNull(group["by"]) };
    const begun = { ...lane, state: "speaking" as const, error: null, usage: null };
    this.main.interrupt();
    const speech = new Speech({ ...base, key: `${base.key}.speaker` }, begun, this.main.touch);
    this.speeches.set(key, this.main.put(speech));
    return speech;
  }

  take(base: Base, event: Event): void {
    const flow = this.flowOf(event);
    switch (event.type) {
      case "text_chunk":
        return flow.say(base, text(event["content"]));
      case "thinking":
        return this.thought(base, event, flow);
      case "tool_call_start":
      case "mcp_call_start":
        return this.begun(base, event, flow, text(event["tool_name"]));
      case "tool_call_progress":
        return this.progress(base, event, flow);
      case "tool_call_complete":
      case "mcp_call_complete":
        return this.returned(base, event, flow, text(event["tool_name"]));
      case "skill_call_start":
        return this.skillBegun(base, event, flow);
      case "skill_call_complete":
        return this.skillReturned(base, event, flow);
      case "file_created":
      case "file_changed":
        return this.changed(base, event, flow);
      case "usage":
        return this.addUsage(usageOf(event));
    }
  }

  end(base: Base, event: Event): void {
    if (this.ending || (this.state !== "running" && this.id !== null)) return;
    const isError = event.type === "execution_error";
    const isCutOff = isError || event["cancelled"] === true;
    for (const call of this.calls.values()) call.stop(base.ts, isCutOff);
    for (const speech of this.speeches.values()) {
      speech.flow.close();
      if (speech.isSpeaking) speech.set({ state: "cancelled" });
    }
    const answer = this.speeches.size || isError ? "" : text(event["final_response"] ?? event["content"]);
    this.main.close(base, answer, this.isLost);
    const failed = text(event["error"] ?? event["message"] ?? event["content"]);
    this.settle(isError ? "failed" : event["cancelled"] === true ? "cancelled" : "completed");
    this.ending = this.main.add<EndRow>({
      ...base,
      kind: "end",
      state: this.state,
      error: isError ? failed : null,
      code: textOrNull(event["code"]),
      usage: this.usage,
      durationMs: base.ts !== null && this.startedTs !== null ? base.ts - this.startedTs : null,
      files: [...this.files.values()],
    });
  }

  stopCalls(person: Person, ts: number | null): void {
    for (const call of this.calls.values()) if (call.row.person?.id === person.id) call.stop(ts);
  }

  addUsage(usage: Usage): void {
    this.usage = this.usage ? sum(this.usage, usage) : usage;
    this.ending?.set({ usage: this.usage });
  }

  /** All of a plan comes each time: it is shown where it first stood. */
  planned(row: PlanRow, event: Event): Item<PlanRow> {
    const flow = this.flowOf(event);
    const known = this.plans.get(flow);
    if (known) {
      known.set({ tasks: row.tasks });
      return known;
    }
    const item = flow.add(row);
    this.plans.set(flow, item);
    return item;
  }

  hasAsked(requestId: string): boolean {
    return this.requests.has(requestId);
  }

  asks(requestId: string): void {
    this.requests.add(requestId);
  }

  private thought(base: Base, event: Event, flow: Flow): void {
    const stage = textOrNull(event["stage"]) ?? "reasoning";
    const content = text(event["content"]);
    if (stage !== "group") return flow.think(base, stage, content);
    flow.add({ ...base, kind: "notice", code: "group", text: content, event: {} });
  }

  private begun(base: Base, event: Event, flow: Flow, name: string): void {
    const callId = textOrNull(event["tool_call_id"]);
    if (callId && this.calls.has(callId)) return;
    flow.interrupt();
    const input = event["tool_input"] ?? event["arguments"] ?? event["input"] ?? null;
    const call = new Call(
      {
        ...base, kind: "tool", callId, name, skill: null, input, output: "", result: null, details: {},
        state: "running", endedTs: null, files: [], agent: null, rows: [],
      },
      flow.touch,
    );
    flow.put(call);
    this.calls.set(callId ?? `${base.eventId}`, call);
  }

  private progress(base: Base, event: Event, flow: Flow): void {
    const call = this.callOf(base, event, flow, text(event["tool_name"]));
    call.set({ output: (call.row.output + text(event["content"])).slice(-OUTPUT_CHARS_MAX) });
  }

  private returned(base: Base, event: Event, flow: Flow, name: string): void {
    const call = this.callOf(base, event, flow, name);
    if (call.row.state !== "running") return;
    const details = isObject(event["details"]) ? event["details"] : {};
    // A command that fails is no error of the tool; who reads along wants to see it all the same.
    const hasFailed = (number(details["exit_code"]) ?? 0) !== 0 || details["timed_out"] === true;
    const isError = event["is_error"] === true || event["success"] === false || hasFailed;
    const state: CallState = event["denied"] === true ? "denied" : isError ? "failed" : "done";
    const changes: Partial<ToolRow> = { state, details, result: event["result"] ?? event["error"] ?? null };
    call.flow.close();
    call.set({ ...changes, input: event["tool_input"] ?? call.row.input, endedTs: base.ts });
  }

  private skillBegun(base: Base, event: Event, flow: Flow): void {
    const skill = text(event["skill_name"]);
    const within = this.calls.get(text(event["tool_call_id"]));
    if (within) return within.set({ skill });
    this.begun(base, event, flow, skill);
    this.callOf(base, event, flow, skill).set({ skill });
  }

  private skillReturned(base: Base, event: Event, flow: Flow): void {
    const skill = text(event["skill_name"]);
    const within = this.calls.get(text(event["tool_call_id"]));
    if (within && within.row.name !== skill) return;
    this.returned(base, event, flow, skill);
  }

  /** A call by its id, else the newest of that name that runs; one whose start was missed begins. */
  private callOf(base: Base, event: Event, flow: Flow, name: string): Call {
    const callId = textOrNull(event["tool_call_id"]);
    const known = callId
      ? this.calls.get(callId)
      : [...this.calls.values()].findLast((one) => one.row.name === name && one.row.state === "running");
    if (known) return known;
    this.begun(base, event, flow, name);
    return this.calls.get(callId ?? `${base.eventId}`) as Call;
  }

  private changed(base: Base, event: Event, flow: Flow): void {
    const file = fileOf(event);
    if (file.path === "") return;
    const before = this.files.get(file.path);
    this.files.set(file.path, before ? merged(before, file) : file);
    this.ending?.set({ files: [...this.files.values()] });
    const call = this.calls.get(text(event["tool_call_id"]));
    if (!call) {
      flow.add({ ...base, kind: "file", file });
      return;
    }
    const twin = call.row.files.findIndex((one) => one.path === file.path);
    const files = [...call.row.files];
    if (twin < 0) files.push(file);
    else files[twin] = merged(files[twin] as FileChange, file);
    call.set({ files });
  }
}

function speechKey(event: Event): string {
  const person = isObject(event["person"]) ? text(event["person"]["id"]) : "";
  const group = isObject(event["group"]) ? event["group"] : {};
  return person ? `${person}.${number(group["ask"]) ?? 0}` : "";
}

function fileOf(event: Event): FileChange {
  const change = event["change"];
  return {
    path: text(event["path"] ?? event["name"]),
    change:
      event.type === "file_created" || change === "created"
        ? "created"
        : change === "deleted"
          ? "deleted"
          : "modified",
    diff: text(event["diff"]),
    additions: number(event["additions"]) ?? 0,
    deletions: number(event["deletions"]) ?? 0,
    size: number(event["size"]),
  };
}

function merged(before: FileChange, after: FileChange): FileChange {
  return {
    path: before.path,
    change: after.change === "modified" ? before.change : after.change,
    diff: before.diff && after.diff ? `${before.diff}\n${after.diff}` : before.diff || after.diff,
    additions: before.additions + after.additions,
    deletions: before.deletions + after.deletions,
    size: after.size ?? before.size,
  };
}

export function usageOf(event: Event): Usage {
  const cost = isObject(event["cost"]) ? event["cost"] : null;
  const amount = number(cost?.["amount"]) ?? number(event["cost_usd"]);
  return {
    calls: number(event["calls"]) ?? 0,
    tokensIn: number(event["tokens_in"]) ?? 0,
    tokensOut: number(event["tokens_out"]) ?? 0,
    cost: amount === null ? null : { amount, currency: textOrNull(cost?.["currency"]) ?? "USD" },
    models: isObject(event["models"]) ? Object.keys(event["models"]) : [],
  };
}

/** A sum of costs is known only where each of them is, in one currency. */
function sum(one: Usage, other: Usage): Usage {
  const isOne = one.cost && other.cost && one.cost.currency === other.cost.currency;
  return {
    calls: one.calls + other.calls,
    tokensIn: one.tokensIn + other.tokensIn,
    tokensOut: one.tokensOut + other.tokensOut,
    cost:
      isOne && one.cost && other.cost
        ? { amount: one.cost.amount + other.cost.amount, currency: one.cost.currency }
        : null,
    models: [...new Set([...one.models, ...other.models])],
  };
}
