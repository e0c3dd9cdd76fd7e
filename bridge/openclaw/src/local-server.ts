/**
 * A local MCP server of the session: a program that is started when it is first needed, spoken to
 * in lines of JSON, and started again when it died.
 */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { asNumber, asObject, asText, asTexts, isObject, wordsOf, type Json } from "./json.ts";

const CONNECT_MS = 20_000; // from its start to its greeting
const CALL_S = 60;
const STOP_MS = 1_000; // between the end of its input and its own
const LINE_BYTES_MAX = 16 * 1024 * 1024;
const WORDS_CHARS_MAX = 1_000; // of its error output, kept to say why it ended
const SECRET_CHARS_MIN = 6; // a shorter value of its environment is found everywhere
const ARGS_MAX = 200;
const PAGES_MAX = 100;
const PROTOCOL = "2025-06-18";
const OURS = ["SOCKET_PATH", "SESSION_ID", "SKILLS_CACHE_DIR", "MEMORY_DIR"];

export class LocalServer {
  private readonly name: string;
  private readonly given: Json;
  private readonly workspace: string;
  private run: Run | undefined;
  private isClosed = false;

  /** `given`: as the daemon has checked it. */
  constructor(given: Json, workspace: string) {
    this.given = given;
    this.workspace = workspace;
    this.name = asText(given["name"]) ?? "";
  }

  /** What it offers, as MCP describes tools; no more than `most`. Throws, with words for people. */
  async tools(most: number): Promise<Json[]> {
    const found: Json[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX && found.length < most; page++) {
      const answer = await this.ask("tools/list", cursor === undefined ? {} : { cursor });
      found.push(...(Array.isArray(answer["tools"]) ? answer["tools"].filter(isObject) : []));
      cursor = asText(answer["nextCursor"]);
      if (cursor === undefined) break;
    }
    return found.slice(0, most);
  }

  /** A call that may have been made is never made twice. */
  call(tool: string, input: Json): Promise<Json> {
    return this.ask("tools/call", { name: tool, arguments: input });
  }

  close(): void {
    this.isClosed = true;
    this.run?.stop();
  }

  private async ask(method: string, params: Json): Promise<Json> {
    if (this.isClosed) throw new Error(`the MCP server ${this.name} is closed`);
    if (this.run === undefined || this.run.isOver) this.run = new Run(this.given, this.workspace);
    const run = this.run;
    try {
      await run.ready;
      return await run.request(method, params, (asNumber(this.given["timeout_s"]) ?? CALL_S) * 1_000);
    } catch (error) {
      throw new Error(`the MCP server ${this.name} failed: ${wordsOf(error)}`);
    }
  }
}

interface Waiting {
  resolve: (result: Json) => void;
  reject: (error: Error) => void;
}

/** It, from its start to its end. */
class Run {
  readonly ready: Promise<void>;
  isOver = false;
  private readonly program: ChildProcessWithoutNullStreams;
  private readonly secrets: string[];
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;
  private unread: Buffer[] = [];
  private size = 0;
  private words = "";

  constructor(given: Json, workspace: string) {
    const own = Object.entries(asObject(given["env"])).map(([name, value]) => [name, String(value)]);
    const ours = Object.entries(process.env).filter(([name]) => !OURS.includes(name));
    this.secrets = own.map(([, value]) => value ?? "").filter((value) => value.length >= SECRET_CHARS_MIN);
    const env = Object.fromEntries([...ours, ...own]) as Record<string, string>;
    // In the bridge's own group: whatever ends that, ends it too.
    this.program = spawn(asText(given["command"]) ?? "", asTexts(given["args"], ARGS_MAX), { cwd: workspace, env });
    this.program.stdout.on("data", (piece: Buffer) => this.read(piece));
    this.program.stderr.on("data", (piece: Buffer) => {
      this.words = (this.words + piece.toString("utf8")).slice(-WORDS_CHARS_MAX);
    });
    this.program.stdin.on("error", () => undefined); // its end says why
    this.program.on("error", (error) => this.end(error.message));
    this.program.on("close", (code, signal) => this.end(`it ended with ${code ?? signal}`));
    this.ready = this.greet();
    this.ready.catch(() => this.kill());
  }

  /** Throws, with words for people, where it answers with an error, too late, or not at all. */
  async request(method: string, params: Json, within_ms: number): Promise<Json> {
    const id = ++this.count;
    const answered = new Promise<Json>((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    const late = setTimeout(() => {
      this.end(`it did not answer within ${within_ms / 1_000} s`);
      this.kill(); // it hangs: the next call gets a fresh one
    }, within_ms);
    if (this.isOver) this.end("it is gone");
    else this.send({ id, method, params });
    try {
      return await answered;
    } finally {
      clearTimeout(late);
      this.waiting.delete(id);
    }
  }

  /** In peace: a server ends when its input does. */
  stop(): void {
    this.program.stdin.end();
    setTimeout(() => this.kill(), STOP_MS).unref();
  }

  kill(): void {
    this.program.kill("SIGKILL");
  }

  private async greet(): Promise<void> {
    const clientInfo = { name: "trunkline", version: "1" };
    const greeting = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo };
    await this.request("initialize", greeting, CONNECT_MS);
    this.send({ method: "notifications/initialized" });
  }

  private send(message: Json): void {
    this.program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  private read(piece: Buffer): void {
    let from = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      this.unread.push(piece.subarray(from, end));
      this.take(Buffer.concat(this.unread).toString("utf8"));
      this.unread = [];
      this.size = 0;
      from = end + 1;
    }
    this.unread.push(piece.subarray(from));
    this.size += piece.length - from;
    if (this.size > LINE_BYTES_MAX) {
      this.end("it sent a message that is too large");
      this.kill();
    }
  }

  private take(line: string): void {
    let message: Json;
    try {
      message = asObject(JSON.parse(line));
    } catch {
      return; // programs print other things too
    }
    const id = message["id"];
    if (message["method"] !== undefined) {
      const isPing = message["method"] === "ping";
      const answer = isPing ? { result: {} } : { error: { code: -32601, message: "not offered here" } };
      if (id !== undefined) this.send({ id, ...answer });
      return;
    }
    const waiting = this.waiting.get(Number(id));
    if (isObject(message["error"])) {
      waiting?.reject(new Error(this.clean(asText(message["error"]["message"]) ?? "it answered with an error")));
    } else waiting?.resolve(asObject(message["result"]));
  }

  /** Nobody waits for it in vain. */
  private end(why: string): void {
    this.isOver = true;
    const said = this.words.trim();
    const error = new Error(this.clean(said === "" ? why : `${why}; its last words: ${said}`));
    for (const one of this.waiting.values()) one.reject(error);
  }

  /** Without what only it may know. */
  private clean(words: string): string {
    return this.secrets.reduce((text, secret) => text.replaceAll(secret, "…"), words);
  }
}
