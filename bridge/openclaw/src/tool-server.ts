/**
 * Tools of ours for OpenClaw: an MCP server on loopback, for this session alone. The user's
 * long-term memory and the session's remote MCP servers, through the daemon; its local ones. Here
 * the gateway also asks whether a tool of its own may run.
 */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Verdict } from "./approvals.ts";
import { asNumber, asObject, asPaths, asText, isObject, wordsOf, type Json } from "./json.ts";
import { LocalServer } from "./local-server.ts";

const BODY_BYTES_MAX = 4 * 1024 * 1024;
const SERVERS_MAX = 50;
const TOOLS_MAX = 200; // of one server
const PATHS_MAX = 100; // of one call
const PROTOCOL = "2025-06-18";

export type Ask = (method: string, params: Json) => Promise<unknown>;

/** A tool that is about to be used. `changes`: whether it can change something, where that is
 * known; `paths`: the files that it touches. */
export interface Use {
  tool: string;
  input: Json;
  toolCallId: string;
  paths: string[];
  changes?: boolean;
}

/** Whether it may be. */
export type Permit = (use: Use) => Promise<Verdict>;

/** An MCP server of the session. `tools` gives nothing where nobody can say which it has. */
interface Source {
  name: string;
  /** Whether its word counts for what its tools do. */
  isTrusted: boolean;
  tools: () => Promise<Json[] | undefined>;
  call: (tool: string, input: Json) => Promise<Json>;
  close: () => void;
}

interface Tool {
  definition: Json;
  isDangerous: boolean;
  call: (input: Json) => Promise<Json>;
}

export class ToolServer {
  readonly token = randomBytes(24).toString("base64url");
  private readonly ask: Ask;
  private readonly sources: Source[];
  private readonly tell: (method: string, params: Json) => void;
  private readonly permit: Permit;
  private readonly note: (words: string) => void;
  private readonly server: Server;
  private tools: Promise<Map<string, Tool>> | undefined;

  /** `mcpServers`: as the daemon has checked them. `tell` reports what nobody waits for; `note`
   * says what the session has to do without. */
  constructor(
    mcpServers: unknown,
    workspace: string,
    ask: Ask,
    tell: (method: string, params: Json) => void,
    permit: Permit,
    note: (words: string) => void,
  ) {
    this.ask = ask;
    this.tell = tell;
    this.permit = permit;
    this.note = note;
    const given = Array.isArray(mcpServers) ? mcpServers.filter(isObject).slice(0, SERVERS_MAX) : [];
    this.sources = given.map((one) => (one["type"] === "local" ? local(one, workspace) : this.remote(one)));
    this.server = createServer((request, response) => void this.serve(request, response));
  }

  /** Where it listens. */
  async open(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(0, "127.0.0.1", () => resolve());
    });
    this.server.unref();
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/mcp`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    for (const source of this.sources) source.close();
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!this.isOurs(request)) {
        response.writeHead(401).end();
        return;
      }
      if (request.method !== "POST") {
        response.writeHead(405, { allow: "POST" }).end(); // nothing is ever sent unasked
        return;
      }
      const message: unknown = JSON.parse(await bodyOf(request));
      if (!isObject(message) || message["id"] === undefined) {
        response.writeHead(202).end();
        return;
      }
      const answer = JSON.stringify({ jsonrpc: "2.0", id: message["id"], ...(await this.answer(message)) });
      response.writeHead(200, { "content-type": "application/json" }).end(answer);
    } catch {
      response.writeHead(400).end();
    }
  }

  private isOurs(request: IncomingMessage): boolean {
    const given = Buffer.from(request.headers.authorization ?? "");
    const wanted = Buffer.from(`Bearer ${this.token}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }

  private async answer(message: Json): Promise<Json> {
    const params = asObject(message["params"]);
    switch (message["method"]) {
      case "initialize":
        return {
          result: {
            protocolVersion: asText(params["protocolVersion"]) ?? PROTOCOL,
            capabilities: { tools: {} },
            serverInfo: { name: "trunkline", version: "1" },
          },
        };
      case "ping":
        return { result: {} };
      case "tools/list": {
        const tools = await this.all();
        return { result: { tools: [...tools.values()].map((tool) => tool.definition) } };
      }
      case "tools/call": {
        const name = asText(params["name"]) ?? "";
        const tool = (await this.all()).get(name);
        if (tool === undefined) return { error: { code: -32602, message: "there is no such tool" } };
        const input = asObject(params["arguments"]);
        const use = { tool: name, input, toolCallId: "", paths: [], changes: tool.isDangerous };
        const { allowed, reason } = await this.permit(use);
        if (!allowed) return { result: { ...text(reason), isError: true } };
        return { result: await called(tool, input) };
      }
      case "trunkline/permit": // of OpenClaw's own tools, by its gateway
        return { result: { ...(await this.permit(useOf(params))) } };
      default:
        return { error: { code: -32601, message: "there is no such method" } };
    }
  }

  private all(): Promise<Map<string, Tool>> {
    this.tools ??= this.gather();
    return this.tools;
  }

  private async gather(): Promise<Map<string, Tool>> {
    const found = await Promise.all(this.sources.map((source) => this.toolsOf(source)));
    const tools = [this.memorySearch(), this.memoryWrite(), ...found.flat()];
    return new Map(tools.map((tool) => [String(tool.definition["name"]), tool]));
  }

  /** What a server offers; one that cannot say is offered as a single tool. */
  private async toolsOf(source: Source): Promise<Tool[]> {
    let listed: Json[] | undefined;
    try {
      listed = await source.tools();
    } catch (error) {
      this.tools = undefined; // it is asked again
      this.note(wordsOf(error));
      return [];
    }
    if (listed === undefined) return [wholeServer(source)];
    return listed
      .filter((one) => typeof one["name"] === "string" && one["name"] !== "")
      .slice(0, TOOLS_MAX)
      .map((one) => ({
        definition: {
          name: toolName(source.name, String(one["name"])),
          description: asText(one["description"]) ?? String(one["name"]),
          inputSchema: isObject(one["inputSchema"]) ? one["inputSchema"] : { type: "object" },
        },
        isDangerous: !(source.isTrusted && onlyReads(asObject(one["annotations"]))),
        call: (input) => source.call(String(one["name"]), input),
      }));
  }

  private remote(given: Json): Source {
    const name = asText(given["name"]) ?? "";
    const server = asText(given["called"]) || name;
    const offered = Array.isArray(given["offered"]) ? given["offered"].filter(isObject) : [];
    return {
      name,
      isTrusted: given["trust_hints"] === true,
      tools: async () => {
        const answer = await this.ask("mcp_tools", { server }).catch(() => undefined);
        const listed = asObject(answer)["tools"];
        if (Array.isArray(listed)) return listed.filter(isObject);
        return offered.length > 0 ? offered : undefined;
      },
      call: async (tool, input) => {
        const answer = await this.ask("mcp_call", { server, tool, arguments: input });
        const result = asObject(answer)["result"] ?? answer;
        const isResult = isObject(result) && Array.isArray(result["content"]);
        return isResult ? result : text(JSON.stringify(result));
      },
      close: () => undefined,
    };
  }

  private memorySearch(): Tool {
    return {
      definition: {
        name: "recall",
        description: "Searches what is remembered of this user from earlier sessions, on any machine.",
        inputSchema: {
          type: "object",
          properties: { query: { type: "string" }, top_k: { type: "integer", minimum: 1, maximum: 20 } },
          required: ["query"],
        },
      },
      isDangerous: false,
      call: async (input) => {
        const query = (asText(input["query"]) ?? "").slice(0, 4_000);
        const top_k = asNumber(input["top_k"]) ?? 5;
        const answer = await this.ask("memory_search", { query, top_k });
        const results = Array.isArray(answer) ? answer : asObject(answer)["results"];
        const found = (Array.isArray(results) ? results : [])
          .map((one) => asText(asObject(one)["content"]))
          .filter((one) => one !== undefined);
        return text(found.map((one) => `- ${one}`).join("\n") || "(nothing found)");
      },
    };
  }

  private memoryWrite(): Tool {
    return {
      definition: {
        name: "remember",
        description: "Remembers something about this user for later sessions, on any machine.",
        inputSchema: {
          type: "object",
          properties: { content: { type: "string" } },
          required: ["content"],
        },
      },
      isDangerous: false,
      call: async (input) => {
        const content = (asText(input["content"]) ?? "").slice(0, 10_000);
        if (content === "") throw new Error("there is nothing to remember");
        this.tell("memory_write", { content, metadata: { source: "agent" } });
        return text("Remembered.");
      },
    };
  }
}

function useOf(params: Json): Use {
  return {
    tool: asText(params["tool"]) ?? "",
    input: asObject(params["input"]),
    toolCallId: asText(params["tool_call_id"]) ?? "",
    paths: asPaths(params["paths"], PATHS_MAX),
  };
}

async function called(tool: Tool, input: Json): Promise<Json> {
  try {
    return await tool.call(input);
  } catch (error) {
    return { ...text(wordsOf(error)), isError: true }; // the model reads why
  }
}

function text(words: string): Json {
  return { content: [{ type: "text", text: words }] };
}

function local(given: Json, workspace: string): Source {
  const server = new LocalServer(given, workspace);
  return {
    name: asText(given["name"]) ?? "",
    isTrusted: given["trust_hints"] === true,
    tools: () => server.tools(TOOLS_MAX),
    call: (tool, input) => server.call(tool, input),
    close: () => server.close(),
  };
}

function wholeServer(source: Source): Tool {
  return {
    definition: {
      name: toolName(source.name, ""),
      description: `Calls a tool of the MCP server ${source.name}: name one, with its arguments.`,
      inputSchema: {
        type: "object",
        properties: { tool: { type: "string" }, arguments: { type: "object" } },
        required: ["tool"],
      },
    },
    isDangerous: true,
    call: (input) => source.call(asText(input["tool"]) ?? "", asObject(input["arguments"])),
  };
}

function onlyReads(hints: Json): boolean {
  return hints["readOnlyHint"] === true && hints["destructiveHint"] !== true;
}

/** As models take it; a server is always asked by the true names. */
function toolName(server: string, tool: string): string {
  const plain = tool === "" ? `mcp__${server}` : `mcp__${server}__${tool}`;
  return plain.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 60);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY_BYTES_MAX) throw new Error("too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
