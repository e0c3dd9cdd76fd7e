import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { afterEach, test } from "node:test";
import { asObject, type Json } from "../src/json.ts";
import { ToolServer, type Permit } from "../src/tool-server.ts";

const YES = { allowed: true, reason: "" };
let server: ToolServer | undefined;
afterEach(() => server?.close());

async function open(
  servers: unknown,
  answers: Record<string, (params: Json) => unknown>,
  told: Json[] = [],
  permit: Permit = async () => YES,
  noted: string[] = [],
): Promise<(method: string, params?: Json) => Promise<Json>> {
  server = new ToolServer(
    servers,
    tmpdir(),
    async (method, params) => {
      const answer = answers[method];
      if (answer === undefined) throw new Error(`${method} cannot be had`);
      return answer(params);
    },
    (method, params) => void told.push({ method, ...params }),
    permit,
    (words) => void noted.push(words),
  );
  const url = await server.open();
  const headers = { authorization: `Bearer ${server.token}` };
  return async (method, params = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return asObject(await (await fetch(url, { method: "POST", headers, body })).json());
  };
}

test("the long-term memory is searched through the daemon", async () => {
  const asked: Json[] = [];
  const call = await open([], {
    memory_search: (params) => {
      asked.push(params);
      return { results: [{ content: "likes milk" }, { content: "has a cat" }] };
    },
  });
  const listed = asObject((await call("tools/list"))["result"])["tools"] as Json[];
  assert.deepEqual(listed.map((tool) => tool["name"]), ["recall", "remember"]);
  const answer = await call("tools/call", { name: "recall", arguments: { query: "milk" } });
  assert.deepEqual(answer["result"], {
    content: [{ type: "text", text: "- likes milk\n- has a cat" }],
  });
  assert.deepEqual(asked, [{ query: "milk", top_k: 5 }]);
});

test("what is to be remembered is reported", async () => {
  const told: Json[] = [];
  const call = await open([], {}, told);
  await call("tools/call", { name: "remember", arguments: { content: "likes milk" } });
  assert.deepEqual(told, [
    { method: "memory_write", content: "likes milk", metadata: { source: "agent" } },
  ]);
});

test("tools of remote servers are offered and called by their true names", async () => {
  const asked: Json[] = [];
  const call = await open([{ name: "web shop", type: "remote", called: "m-1" }], {
    mcp_tools: () => ({ tools: [{ name: "buy.it", description: "Buys", inputSchema: { type: "object" } }] }),
    mcp_call: (params) => {
      asked.push(params);
      return { result: { content: [{ type: "text", text: "bought" }], isError: false } };
    },
  });
  const listed = asObject((await call("tools/list"))["result"])["tools"] as Json[];
  assert.equal(listed[2]?.["name"], "mcp__web_shop__buy_it");
  assert.equal(listed.length, 3);
  await call("tools/call", { name: "mcp__web_shop__buy_it", arguments: { n: 2 } });
  assert.deepEqual(asked, [{ server: "m-1", tool: "buy.it", arguments: { n: 2 } }]);
});

test("a server that cannot say what it has is one tool", async () => {
  const asked: Json[] = [];
  const call = await open([{ name: "shop" }], {
    mcp_call: (params) => {
      asked.push(params);
      return { result: "done" };
    },
  });
  const input = { tool: "buy", arguments: { n: 1 } };
  const answer = await call("tools/call", { name: "mcp__shop", arguments: input });
  assert.deepEqual(asObject(answer["result"])["content"], [{ type: "text", text: '"done"' }]);
  assert.deepEqual(asked, [{ server: "shop", tool: "buy", arguments: { n: 1 } }]);
});

test("a server whose tools were named beforehand has those", async () => {
  const call = await open([{ name: "shop", type: "remote", offered: [{ name: "buy" }] }], {});
  const listed = asObject((await call("tools/list"))["result"])["tools"] as Json[];
  assert.equal(listed[2]?.["name"], "mcp__shop__buy");
});

test("a tool that nobody allows is not called, and the model reads why", async () => {
  const asked: unknown[] = [];
  const call = await open(
    [{ name: "shop", trust_hints: true }, { name: "fair" }],
    { mcp_tools: () => ({ tools: [{ name: "buy" }, { name: "look", annotations: { readOnlyHint: true } }] }) },
    [],
    async (use) => {
      asked.push(use);
      return { allowed: false, reason: "the person said no" };
    },
  );
  for (const name of ["mcp__shop__buy", "mcp__shop__look", "mcp__fair__look", "remember"]) {
    const answer = asObject((await call("tools/call", { name, arguments: { n: 1 } }))["result"]);
    assert.equal(answer["isError"], true);
    assert.deepEqual(answer["content"], [{ type: "text", text: "the person said no" }]);
  }
  const use = { input: { n: 1 }, toolCallId: "", paths: [] };
  assert.deepEqual(asked, [
    { ...use, tool: "mcp__shop__buy", changes: true },
    { ...use, tool: "mcp__shop__look", changes: false },
    { ...use, tool: "mcp__fair__look", changes: true }, // nobody trusts its word
    { ...use, tool: "remember", changes: false },
  ]);
});

test("the gateway asks whether a tool of its own may run", async () => {
  const asked: unknown[] = [];
  const call = await open([], {}, [], async (use) => {
    asked.push(use);
    return { allowed: false, reason: "only plans" };
  });
  const params = { tool: "write", input: { path: "a" }, tool_call_id: "c", paths: ["a", 7] };
  assert.deepEqual((await call("trunkline/permit", params))["result"], {
    allowed: false,
    reason: "only plans",
  });
  assert.deepEqual(asked, [{ tool: "write", input: { path: "a" }, toolCallId: "c", paths: ["a"] }]);
});

test("a call that fails is told to the model", async () => {
  const call = await open([], {});
  const answer = await call("tools/call", { name: "recall", arguments: { query: "x" } });
  assert.equal(asObject(answer["result"])["isError"], true);
  assert.equal(asObject((await call("tools/call", { name: "nobody" }))["error"])["code"], -32602);
  assert.equal(asObject((await call("dance"))["error"])["code"], -32601);
});

test("nobody without the token is heard, and nothing but a message is taken", async () => {
  server = new ToolServer([], "", async () => ({}), () => undefined, async () => YES, () => undefined);
  const url = await server.open();
  const headers = { authorization: `Bearer ${server.token}` };
  assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 401);
  assert.equal((await fetch(url, { headers })).status, 405);
  assert.equal((await fetch(url, { method: "POST", headers, body: "no json" })).status, 400);
  assert.equal((await fetch(url, { method: "POST", headers, body: "{}" })).status, 202);
  const large = "x".repeat(5 * 1024 * 1024);
  const refused = await fetch(url, { method: "POST", headers, body: large }).catch(() => undefined);
  assert.notEqual(refused?.status, 200);
});
