/**
 * A plugin of OpenClaw's gateway: before a tool of its own runs, the session that uses it is asked,
 * at the address of that session's tools. What nobody can be asked about does not run.
 */

import { request as httpRequest } from "node:http";
import { asObject, asPaths, asText, isObject, wordsOf, type Json } from "./json.ts";

const ASKING_MS = 1_800_000; // a person may be asked
const PATHS_MAX = 100;

/** What it needs of the gateway. */
export interface PluginApi {
  on(
    hook: "before_tool_call",
    handler: (event: Json, context: Json) => Promise<Blocked | undefined>,
    options: Json,
  ): void;
  registerGatewayMethod(
    name: string,
    handler: (call: { respond: (ok: boolean, payload: Json) => void }) => void,
    options: Json,
  ): void;
  runtime: { config: { current: () => unknown } };
}

interface Blocked {
  block: true;
  blockReason: string;
}

export default {
  id: "trunkline-guard",
  name: "Trunkline",
  description: "Asks the session before a tool runs.",
  register(api: PluginApi): void {
    api.on("before_tool_call", (event, context) => guard(api, event, context), {
      timeoutMs: ASKING_MS,
    });
    // Whoever relies on it looks first whether it is there.
    api.registerGatewayMethod("trunkline.guard", ({ respond }) => respond(true, { guards: true }), {
      scope: "operator.read",
    });
  },
};

async function guard(api: PluginApi, event: Json, context: Json): Promise<Blocked | undefined> {
  try {
    const tool = asText(event["toolName"]) ?? "";
    const agent = asText(context["agentId"]) ?? "";
    if (agent !== "" && tool.startsWith(`${agent}__`)) return undefined; // ours: asked when called
    const answer = await asked(addressOf(api, agent), context["abortSignal"], {
      tool,
      input: asObject(event["params"]),
      tool_call_id: asText(event["toolCallId"]) ?? "",
      paths: asPaths(event["derivedPaths"], PATHS_MAX),
    });
    if (answer["allowed"] === true) return undefined;
    return { block: true, blockReason: asText(answer["reason"]) ?? "It was not allowed." };
  } catch (error) {
    return { block: true, blockReason: `Nobody could be asked: ${wordsOf(error)}` };
  }
}

/** Where the tools of that agent's session are, and its token. */
function addressOf(api: PluginApi, agent: string): { url: string; token: string } {
  const servers = asObject(asObject(asObject(api.runtime.config.current())["mcp"])["servers"]);
  const server = servers[agent];
  const url = isObject(server) ? asText(server["url"]) : undefined;
  if (url === undefined) throw new Error("the session is not known");
  return { url, token: asText(asObject(asObject(server)["headers"])["Authorization"]) ?? "" };
}

/** Not by `fetch`, which gives up after five minutes: a person may take longer. */
function asked({ url, token }: { url: string; token: string }, signal: unknown, call: Json): Promise<Json> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "trunkline/permit", params: call });
  const headers = { authorization: token, "content-type": "application/json" };
  const options = { method: "POST", headers, ...(signal instanceof AbortSignal ? { signal } : {}) };
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => (text += piece));
      response.on("error", reject);
      response.on("end", () => resolve(resultIn(text)));
    });
    request.on("error", reject);
    request.end(body);
  });
}

function resultIn(text: string): Json {
  try {
    return asObject(asObject(JSON.parse(text))["result"]);
  } catch {
    return {}; // no yes
  }
}
