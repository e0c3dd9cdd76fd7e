/**
 * OpenClaw's questions as ours: a command that it may not run without a person, a tool of ours, a
 * question of its own. Asked by `approval_request`, answered by `approval_response`, once; what a person allowed
 * for longer is remembered here, by the exact call.
 */

import { randomUUID } from "node:crypto";
import type { Gateway } from "./gateway.ts";
import { asObject, asText, asTexts, isObject, wordsOf, type Json } from "./json.ts";
import { patiently } from "./patience.ts";

const SHOWN_BYTES_MAX = 200_000; // nobody says yes to the half of a command
const VARIABLES_MAX = 1_000;
const UNKNOWN = "(not told)"; // the value of a variable
const ANSWER_CHARS_MAX = 10_000;

export type Emit = (type: string, fields: Json) => void;

export interface Asking {
  emit: Emit;
  audit: (event: string, details: Json) => void;
  timeoutSeconds: number;
  /** What a tool that runs was called with, if that is known. */
  inputOf: (toolCallId: string) => Json | undefined;
}

interface Question {
  toolName: string;
  toolCallId: string;
  key: string;
  timer: NodeJS.Timeout;
  asking: Asking;
  resolve: (answer: Answer) => void;
}

interface Answer {
  confirmed: boolean;
  answer: string;
  reason: string;
}

export class Approvals {
  private readonly open = new Map<string, Question>();
  private readonly allowed = new Set<string>();
  /** Told when the first question opens and when the last one is settled. */
  onWaiting: (isWaiting: boolean) => void = () => undefined;

  /** An event of the gateway; true if it was a question. */
  take(event: string, payload: Json, gateway: Gateway, asking: Asking): boolean {
    switch (event) {
      case "exec.approval.requested":
        void this.permit(payload, gateway, asking);
        return true;
      case "question.requested":
        void this.ask(payload, gateway, asking);
        return true;
      default:
        return false;
    }
  }

  /** A person's answer. One that fits no question, or comes late, changes nothing. */
  answer(data: Json): void {
    const id = asText(data["request_id"]) ?? "";
    const question = this.open.get(id);
    if (question === undefined || typeof data["confirmed"] !== "boolean") return;
    const scope = data["scope"];
    if (data["confirmed"] && (scope === "session" || scope === "always")) {
      this.allowed.add(question.key);
    }
    const given = data["answer"];
    const words = typeof given === "string" ? given : given == null ? "" : JSON.stringify(given);
    this.settle(id, {
      confirmed: data["confirmed"],
      answer: words.slice(0, ANSWER_CHARS_MAX),
      reason: "answered",
    });
  }

  /** Nobody waits any more; readers are told why. */
  withdraw(reason: string): void {
    for (const [id, question] of [...this.open]) {
      question.asking.emit("approval_resolved", { request_id: id, confirmed: false, reason });
      this.settle(id, { confirmed: false, answer: "", reason });
    }
  }

  /** Whether a tool of ours may be called with this. */
  async allows(tool: string, input: Json, asking: Asking): Promise<boolean> {
    const key = JSON.stringify({ tool, input });
    if (this.allowed.has(key)) return true;
    if (Buffer.byteLength(key) > SHOWN_BYTES_MAX) return false;
    const answer = await this.put(randomUUID(), asking, key, {
      kind: "approve",
      tool_name: tool,
      tool_input: input,
      tool_call_id: "",
      message: `May I use ${tool}?`,
    });
    return answer.confirmed;
  }

  private async permit(payload: Json, gateway: Gateway, asking: Asking): Promise<void> {
    const id = asText(payload["id"]) ?? "";
    const request = asObject(payload["request"]);
    const command = asText(request["command"]) ?? "";
    const cwd = asText(request["cwd"]) ?? "";
    const toolCallId = asText(request["toolCallId"]) ?? "";
    const env = envOf(request["envKeys"], asking.inputOf(toolCallId));
    const input = { command, cwd, ...env };
    const key = JSON.stringify(input);
    let confirmed = this.allowed.has(key);
    if (!confirmed && Buffer.byteLength(key) <= SHOWN_BYTES_MAX && command !== "") {
      const warning = asText(request["warningText"]);
      const answer = await this.put(id, asking, key, {
        kind: "approve",
        tool_name: "exec",
        tool_input: input,
        tool_call_id: toolCallId,
        message: warning ? `May I run this command? ${warning}` : "May I run this command?",
      });
      confirmed = answer.confirmed;
    }
    const decision = confirmed ? "allow-once" : "deny";
    await said(() => gateway.request("exec.approval.resolve", { id, decision }));
  }

  private async ask(payload: Json, gateway: Gateway, asking: Asking): Promise<void> {
    const record = isObject(payload["question"]) ? payload["question"] : payload;
    const id = asText(record["id"]) ?? "";
    const questions = Array.isArray(record["questions"]) ? record["questions"].filter(isObject) : [];
    const answers: Json = {};
    for (const [number, one] of questions.entries()) {
      const options = (Array.isArray(one["options"]) ? one["options"] : [])
        .map((option) => asText(asObject(option)["label"]))
        .filter((label) => label !== undefined);
      const answer = await this.put(number === 0 ? id : `${id}:${number}`, asking, "", {
        kind: options.length > 0 ? "select" : "input",
        tool_name: "ask_user",
        tool_input: {},
        tool_call_id: "",
        message: asText(one["question"]) ?? "",
        ...(options.length > 0 ? { options } : {}),
      });
      if (!answer.confirmed) {
        await said(() => gateway.request("question.resolve", { id, cancel: true }));
        return;
      }
      answers[asText(one["questionId"]) ?? asText(one["id"]) ?? String(number)] = [answer.answer];
    }
    await said(() => gateway.request("question.resolve", { id, answers: { answers } }));
  }

  private put(id: string, asking: Asking, key: string, question: Json): Promise<Answer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        asking.emit("approval_resolved", { request_id: id, confirmed: false, reason: "timeout" });
        this.settle(id, { confirmed: false, answer: "", reason: "timeout" });
      }, asking.timeoutSeconds * 1000);
      const toolName = String(question["tool_name"]);
      const toolCallId = String(question["tool_call_id"]);
      this.open.set(id, { toolName, toolCallId, key, timer, asking, resolve });
      if (this.open.size === 1) this.onWaiting(true);
      asking.emit("approval_request", {
        request_id: id,
        ...question,
        timeout_seconds: asking.timeoutSeconds,
      });
    });
  }

  private settle(id: string, answer: Answer): void {
    const question = this.open.get(id);
    if (question === undefined) return;
    this.open.delete(id);
    clearTimeout(question.timer);
    if (this.open.size === 0) this.onWaiting(false);
    question.asking.audit("approval_answered", {
      request_id: id,
      tool_name: question.toolName,
      tool_call_id: question.toolCallId,
      ...answer,
    });
    question.resolve(answer);
  }
}

/** The variables that a command is given: those of the call, and those that OpenClaw adds, of which
 * the question has only the names. */
function envOf(names: unknown, call: Json | undefined): { env?: Json } {
  const given = asObject(call?.["env"]);
  const added = asTexts(names, VARIABLES_MAX).filter((name) => !Object.hasOwn(given, name));
  const env = { ...given, ...Object.fromEntries(added.map((name) => [name, UNKNOWN])) };
  return Object.keys(env).length > 0 ? { env } : {};
}

/** A run that ended meanwhile has no question any more: nobody is harmed by that. */
async function said(answer: () => Promise<Json>): Promise<void> {
  await patiently(answer).catch((error: unknown) =>
    console.error(`an answer was not taken: ${wordsOf(error)}`),
  );
}
