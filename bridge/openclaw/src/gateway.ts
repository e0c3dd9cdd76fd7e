/**
 * One connection to OpenClaw's gateway: its greeting, requests with their answers, events.
 * Knows protocol 4's frames and nothing of what the methods do.
 */

import { asObject, asText, isObject, type Json } from "./json.ts";
import { isBusy } from "./patience.ts";

const PROTOCOL = 4;
const CONNECT_MS = 20_000;
const RETRY_MS = 250;

/** The gateway refused a request, and says why. */
export class GatewayError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The connection is gone: the gateway ended, or does not answer. */
export class GatewayLost extends Error {}

interface Pending {
  resolve: (payload: Json) => void;
  reject: (error: Error) => void;
  /** A request that is accepted first and answered once more when its work is done. */
  accepted?: (payload: Json) => void;
}

/** What the session needs of the gateway, so that tests can bring their own. */
export interface Gateway {
  onEvent: (event: string, payload: Json) => void;
  onLost: () => void;
  readonly isOpen: boolean;
  request(method: string, params: Json, accepted?: (payload: Json) => void): Promise<Json>;
  close(): void;
}

export type Connect = (url: string, token: string) => Promise<Gateway>;

export class GatewayLink implements Gateway {
  onEvent: (event: string, payload: Json) => void = () => undefined;
  onLost: () => void = () => undefined;
  private readonly pending = new Map<string, Pending>();
  private readonly socket: WebSocket;
  private lastId = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener("message", (message) => this.take(message.data));
    socket.addEventListener("close", () => this.lost());
  }

  /** Tries again while the gateway is still starting; it says so itself. */
  static async connect(url: string, token: string): Promise<Gateway> {
    const deadline = Date.now() + CONNECT_MS;
    for (;;) {
      try {
        return await GatewayLink.once(url, token, deadline - Date.now());
      } catch (error) {
        const isStarting = error instanceof GatewayError && error.code === "UNAVAILABLE";
        if (!(isStarting || isBusy(error)) || Date.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  private static async once(url: string, token: string, withinMs: number): Promise<Gateway> {
    const socket = new WebSocket(url);
    const link = new GatewayLink(socket);
    const late = setTimeout(() => socket.close(), Math.max(withinMs, 1));
    try {
      await new Promise<void>((resolve, reject) => {
        link.onLost = () => reject(new GatewayLost("OpenClaw's gateway cannot be reached"));
        link.onEvent = (event) => {
          if (event === "connect.challenge") resolve();
        };
      });
      await link.request("connect", greeting(token));
      return link;
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      clearTimeout(late);
      link.onLost = () => undefined;
      link.onEvent = () => undefined;
    }
  }

  get isOpen(): boolean {
    return this.socket.readyState === WebSocket.OPEN;
  }

  request(method: string, params: Json, accepted?: (payload: Json) => void): Promise<Json> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) {
        reject(new GatewayLost("OpenClaw's gateway is not connected"));
        return;
      }
      const id = String(++this.lastId);
      this.pending.set(id, { resolve, reject, ...(accepted ? { accepted } : {}) });
      this.socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  close(): void {
    this.onLost = () => undefined;
    this.socket.close();
  }

  private take(data: unknown): void {
    const frame: unknown = JSON.parse(String(data));
    if (!isObject(frame)) return;
    if (frame["type"] === "event") {
      this.onEvent(asText(frame["event"]) ?? "", asObject(frame["payload"]));
    } else if (frame["type"] === "res") {
      this.answer(asText(frame["id"]) ?? "", frame);
    }
  }

  private answer(id: string, frame: Json): void {
    const waiting = this.pending.get(id);
    if (waiting === undefined) return;
    const payload = asObject(frame["payload"]);
    if (frame["ok"] === true && waiting.accepted && payload["status"] === "accepted") {
      waiting.accepted(payload);
      return;
    }
    this.pending.delete(id);
    if (frame["ok"] === true) {
      waiting.resolve(payload);
      return;
    }
    const error = asObject(frame["error"]);
    const code = asText(error["code"]) ?? "UNKNOWN";
    waiting.reject(new GatewayError(code, asText(error["message"]) ?? code));
  }

  private lost(): void {
    for (const one of this.pending.values()) {
      one.reject(new GatewayLost("the connection to OpenClaw's gateway was lost"));
    }
    this.pending.clear();
    this.onLost();
  }
}

function greeting(token: string): Json {
  return {
    minProtocol: PROTOCOL,
    maxProtocol: PROTOCOL,
    client: { id: "gateway-client", version: "1", platform: process.platform, mode: "backend" },
    role: "operator",
    scopes: ["operator.read", "operator.write", "operator.admin", "operator.approvals"],
    caps: ["tool-events", "approvals", "exec-approvals", "thinking-events"],
    auth: { token },
  };
}
