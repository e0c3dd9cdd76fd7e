import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { Verdict } from "../src/approvals.ts";
import type { Json } from "../src/json.ts";
import { ToolServer, type Use } from "../src/tool-server.ts";
import plugin, { type PluginApi } from "../src/trunkline-guard.ts";

let server: ToolServer | undefined;
type Hook = Parameters<PluginApi["on"]>[1];

afterEach(() => server?.close());

/** The plugin in a gateway that knows these sessions. */
function hook(servers: Json): Hook {
  let found: Hook | undefined;
  plugin.register({
    on: (_, handler) => (found = handler),
    registerGatewayMethod: () => undefined,
    runtime: { config: { current: () => ({ mcp: { servers } }) } },
  });
  assert.ok(found);
  return found;
}

async function session(allowed: boolean, asked: Use[] = []): Promise<Json> {
  const permit = async (use: Use): Promise<Verdict> => {
    asked.push(use);
    return { allowed, reason: "not today" };
  };
  server = new ToolServer([], "", async () => ({}), () => undefined, permit, () => undefined);
  return { url: await server.open(), headers: { Authorization: `Bearer ${server.token}` } };
}

const call = { toolName: "write", params: { path: "a" }, toolCallId: "c" };

test("a tool runs when its session says so, and not otherwise", async () => {
  const asked: Use[] = [];
  const yes = hook({ "s-1": await session(true, asked) });
  assert.equal(await yes(call, { agentId: "s-1" }), undefined);
  assert.deepEqual(asked, [{ tool: "write", input: { path: "a" }, toolCallId: "c", paths: [] }]);
  server?.close();
  const no = hook({ "s-1": await session(false) });
  assert.deepEqual(await no(call, { agentId: "s-1" }), { block: true, blockReason: "not today" });
});

test("where nobody can be asked, nothing runs", async () => {
  const known = await session(true);
  const guard = hook({ "s-1": known, "s-2": { ...known, headers: {} }, "s-3": { url: "http://127.0.0.1:1/mcp" } });
  for (const agentId of ["s-2", "s-3", "s-4", undefined]) {
    assert.equal((await guard(call, { agentId }))?.block, true, agentId);
  }
});

test("a tool of ours is asked about when it is called, not twice", async () => {
  const guard = hook({});
  assert.equal(await guard({ toolName: "s-1__recall" }, { agentId: "s-1" }), undefined);
});
