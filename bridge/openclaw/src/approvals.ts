/**
 * OpenClaw's questions as ours: a tool that it may not use without a person, a question of its own.
 * Asked by `approval_request`, answered by `approval_response`, once; what a person allowed for the
 * session is remembered, by the exact call.
 */

import { randomUUID } from "node:crypto";
import type { Gateway } from "./gateway.ts";
import { asObject, asText, isObject, wordsOf, type Json } from "./json.ts";
import { patiently } from "./patience.ts";

const SHOWN_BYTES_MAX = 200_000; // nobody says yes to the half of a command
const TOO_LONG = "It is too long to be shown whole, so nobody can allow it.";
const GRANTS_MAX = 1_000;
const ANSWER_CHARS_MAX = 10_000;

export type Emit = (type: string, fields: Json) => void;

export interface Asking {
  emit: Emit;
  audit: (event: string, details: Json) => void;
  timeoutSeconds: number;
}

/** A tool that is about to run. `why` and `rule`: for the person; a rule is what "always" means. */
export interface Call {
  tool: string;
  input: Json;
  toolCallId: string;
  why: string;
  rule?: string;
}

export interface Verdict {
  allowed: boolean;
  /** Why not, in words for the model. */
  reason: string;
  /** What a person has allowed for good: it may be taken back, and is not remembered here. */
  rule?: string;
}

interface Question {
  toolName: string;
  toolCallId: string;
  key: string;
  rule: string | undefined;
  timer: NodeJS.Timeout;
  asking: Asking;
  resolve: (answer: Answer) => void;
}

interface Answer {
  confirmed: boolean;
  answer: string;
  reason: string;
  rule?: string;
}

export class Approvals {
  private readonly open = new Map<string, Question>();
  private readonly allowed: Set<string>;
  private readonly keep: (grants: string[]) => void;
  /** Told when the first question opens and when the last one is settled. */
  onWaiting: (isWaiting: boolean) => void = () => undefined;

  /** `grants`: what was allowed for longer before; `keep` gets all of it when there is more. */
  constructor(grants: string[] = [], keep: (grants: string[]) => void = () => undefined) {
    this.allowed = new Set(grants);
    this.keep = keep;
  }

  /** An event of the gateway; true if it was a question. */
  take(event: string, payload: Json, gateway: Gateway, asking: Asking): boolean {
    switch (event) {
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
    const scope = data["confirmed"] ? data["scope"] : "once";
    const rule = scope === "always" ? question.rule : undefined;
    if (rule === undefined && (scope === "session" || scope === "always")) {
      this.allowed.add(question.key);
      this.keep([...this.allowed].slice(-GRANTS_MAX));
    }
    const given = data["answer"];
    const words = typeof given === "string" ? given : given == null ? "" : JSON.stringify(given);
    this.settle(id, {
      confirmed: data["confirmed"],
      answer: words.slice(0, ANSWER_CHARS_MAX),
      reason: "answered",
      ...(rule === undefined ? {} : { rule }),
    });
  }

  /** Nobody waits any more; readers are told why. */
  withdraw(reason: string): void {
    for (const [id, question] of [...this.open]) {
      question.asking.emit("approval_resolved", { request_id: id, confirmed: false, reason });
      this.settle(id, { confirmed: false, answer: "", reason });
    }
  }

  /** Whether a tool may run: a person is asked, unless that very call was allowed for longer. */
  async allows({ tool, input, toolCallId, why, rule }: Call, asking: Asking): Promise<Verdict> {
    const key = JSON.stringify({ tool, input });
    if (this.allowed.has(key)) return { allowed: true, reason: "" };
    if (Buffer.byteLength(key) > SHOWN_BYTES_MAX) return { allowed: false, reason: TOO_LONG };
    const answer = await this.put(randomUUID(), asking, key, {
      kind: "approve",
      tool_name: tool,
      tool_input: input,
      tool_call_id: toolCallId,
      message: [`May I use ${tool}?`, why].filter(Boolean).join("\n"),
      ...(rule === undefined ? {} : { rule }),
    });
    if (!answer.confirmed) return { allowed: false, reason: whyNot(answer) };
    return { allowed: true, reason: "", ...(answer.rule === undefined ? {} : { rule: answer.rule }) };
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
      const rule = asText(question["rule"]);
      this.open.set(id, { toolName, toolCallId, key, rule, timer, asking, resolve });
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

function whyNot({ reason, answer }: Answer): string {
  if (reason === "timeout") return "Nobody answered in time.";
  return answer || "A person did not allow this.";
}

/** A run that ended meanwhile has no question any more: nobody is harmed by that. */
async function said(answer: () => Promise<Json>): Promise<void> {
  await patiently(answer).catch((error: unknown) =>
    console.error(`an answer was not taken: ${wordsOf(error)}`),
  );
}
