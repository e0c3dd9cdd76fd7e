/**
 * The socket to the daemon: JSON lines in both directions, requests and their answers by id.
 * What the messages mean is the session's business.
 */

import { createConnection, type Socket } from "node:net";
import { asObject, asText, isObject, type Json } from "./json.ts";

export const LINE_BYTES_MAX = 10 * 1024 * 1024;

/** The daemon, or the control plane behind it, answered a request with an error. */
export class RequestFailed extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  tell: (message: string) => void;
}

/** What a session says and asks, whoever carries it. */
export interface Daemon {
  event(event: Json): void;
  request(method: string, params: Json, tell?: (message: string) => void): Promise<unknown>;
  fireAndForget(method: string, params: Json): void;
}

export class Bridge implements Daemon {
  /** Everything but answers and pings; set before the first line arrives. */
  onMessage: (message: Json) => void = () => undefined;
  onClose: () => void = () => undefined;
  private readonly pending = new Map<string, Pending>();
  private readonly socket: Socket;
  private unread: Buffer[] = [];
  private unreadBytes = 0;
  private lastId = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (data) => this.read(data));
    socket.on("error", () => undefined); // `close` follows
    socket.on("close", () => this.closed());
  }

  static connect(path: string): Promise<Bridge> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(path);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.removeListener("error", reject);
        resolve(new Bridge(socket));
      });
    });
  }

  send(message: Json): void {
    if (!this.socket.destroyed) this.socket.write(`${JSON.stringify(message)}\n`);
  }

  event(event: Json): void {
    this.send({ type: "sse_event", data: JSON.stringify(event) });
  }

  fireAndForget(method: string, params: Json): void {
    this.send({ type: "fire_and_forget", method, params });
  }

  request(
    method: string,
    params: Json,
    tell: (message: string) => void = () => undefined,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = String(++this.lastId);
      this.pending.set(id, { resolve, reject, tell });
      this.send({ type: "request", id, method, params });
    });
  }

  /** After everything that was sent before has left. */
  close(): Promise<void> {
    return new Promise((resolve) => this.socket.end(() => resolve()));
  }

  private read(data: Buffer): void {
    let start = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, start)) {
      const line = Buffer.concat([...this.unread, data.subarray(start, end)]);
      this.unread = [];
      this.unreadBytes = 0;
      start = end + 1;
      this.take(line.toString("utf8"));
    }
    if (start < data.length) {
      this.unread.push(data.subarray(start));
      this.unreadBytes += data.length - start;
      if (this.unreadBytes > LINE_BYTES_MAX) this.socket.destroy();
    }
  }

  private take(line: string): void {
    const message: unknown = JSON.parse(line);
    if (!isObject(message)) return;
    const waiting = this.pending.get(asText(message["id"]) ?? "");
    switch (message["type"]) {
      case "ping":
        this.send({ type: "pong" });
        return;
      case "progress":
        waiting?.tell(asText(message["message"]) ?? "");
        return;
      case "response":
        if (waiting !== undefined) this.answer(waiting, message);
        return;
      default:
        this.onMessage(message);
    }
  }

  private answer(waiting: Pending, message: Json): void {
    this.pending.delete(asText(message["id"]) ?? "");
    if (!isObject(message["error"])) {
      waiting.resolve(message["result"]);
      return;
    }
    const error = asObject(message["error"]);
    const code = asText(error["code"]) ?? "REQUEST_FAILED";
    waiting.reject(new RequestFailed(code, asText(error["message"]) ?? code));
  }

  private closed(): void {
    for (const one of this.pending.values()) {
      one.reject(new RequestFailed("CONNECTION_LOST", "the daemon is gone"));
    }
    this.pending.clear();
    this.onClose();
  }
}
