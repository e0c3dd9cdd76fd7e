/** Stand-ins for the daemon and for the gateway: what was said is kept, answers are scripted. */

import type { Daemon } from "../src/bridge.ts";
import { GatewayError, GatewayLost, type Gateway } from "../src/gateway.ts";
import { asObject, type Json } from "../src/json.ts";

export class FakeDaemon implements Daemon {
  readonly events: Json[] = [];
  readonly asked: { method: string; params: Json }[] = [];
  readonly reports: { method: string; params: Json }[] = [];
  answers: Record<string, (params: Json, tell: (message: string) => void) => unknown> = {};
  private readonly watchers = new Set<() => void>();

  event(event: Json): void {
    this.events.push(event);
    for (const look of [...this.watchers]) look();
  }

  async request(method: string, params: Json, tell = (_: string): void => undefined): Promise<unknown> {
    this.asked.push({ method, params });
    const answer = this.answers[method];
    if (answer === undefined) throw new Error(`${method} was not expected`);
    return answer(params, tell);
  }

  fireAndForget(method: string, params: Json): void {
    this.reports.push({ method, params });
  }

  of(type: string): Json[] {
    return this.events.filter((event) => event["type"] === type);
  }

  /** As soon as there are so many of that type. */
  until(type: string, count = 1): Promise<Json> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = this.of(type);
        if (found.length < count) return;
        this.watchers.delete(look);
        resolve(found[count - 1] as Json);
      };
      this.watchers.add(look);
      look();
    });
  }

  end(turn: string): Promise<Json> {
    return new Promise((resolve) => {
      const look = (): void => {
        const ends = this.events.filter(
          (event) =>
            event["turn_id"] === turn &&
            ["execution_complete", "execution_error"].includes(String(event["type"])),
        );
        if (ends.length === 0) return;
        this.watchers.delete(look);
        resolve(ends[0] as Json);
      };
      this.watchers.add(look);
      look();
    });
  }
}

/** A gateway that runs an agent as the test says. */
export class FakeGateway implements Gateway {
  onEvent: (event: string, payload: Json) => void = () => undefined;
  onLost: () => void = () => undefined;
  isOpen = true;
  /** Whether our plugin is in it. */
  guards = true;
  /** What it knows of the session already. */
  past: Json[] = [];
  readonly requests: { method: string; params: Json }[] = [];
  private runs: { resolve: (payload: Json) => void; reject: (error: Error) => void }[] = [];
  private waiting: (() => void)[] = [];

  async request(method: string, params: Json, accepted?: (payload: Json) => void): Promise<Json> {
    this.requests.push({ method, params });
    if (!this.isOpen) throw new GatewayLost("gone");
    if (method === "chat.abort") {
      this.finish({ status: "timeout", summary: "aborted" });
      return {};
    }
    if (method === "chat.history") return { messages: this.past };
    if (method === "trunkline.guard") return { guards: this.guards };
    if (method !== "agent") return {};
    accepted?.({ runId: params["idempotencyKey"], status: "accepted" });
    return new Promise((resolve, reject) => {
      this.runs.push({ resolve, reject });
      for (const tell of this.waiting.splice(0)) tell();
    });
  }

  /** As soon as an agent runs; what it was told. */
  async running(): Promise<Json> {
    if (this.runs.length === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.of("agent").at(-1) as Json;
  }

  of(method: string): Json[] {
    return this.requests.filter((one) => one.method === method).map((one) => one.params);
  }

  agent(stream: string, data: Json): void {
    const { sessionKey, idempotencyKey: runId } = asObject(this.of("agent").at(-1));
    this.onEvent("agent", { runId, sessionKey, stream, data });
  }

  finish(payload: Json): void {
    this.runs.shift()?.resolve(payload);
  }

  answer(text: string, more: Json = {}): void {
    const agentMeta = {
      model: "gpt-x",
      usage: { input: 10, output: 5, cacheRead: 2, cacheWrite: 0 },
      assistantTurns: 1,
      ...more,
    };
    this.finish({ status: "ok", result: { payloads: [{ text }], meta: { agentMeta } } });
  }

  refuse(message: string): void {
    this.runs.shift()?.reject(new GatewayError("UNAVAILABLE", message));
  }

  die(): void {
    this.isOpen = false;
    for (const run of this.runs.splice(0)) run.reject(new GatewayLost("gone"));
    this.onLost();
  }

  close(): void {
    this.isOpen = false;
  }
}
