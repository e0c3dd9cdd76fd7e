import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { test } from "node:test";
import { Bridge, RequestFailed } from "../src/bridge.ts";
import type { Json } from "../src/json.ts";

async function connected(): Promise<{ bridge: Bridge; daemon: Socket; lines: () => Promise<Json> }> {
  const path = join(await mkdtemp(join(tmpdir(), "bridge-")), "socket");
  const server = createServer();
  server.listen(path);
  await once(server, "listening");
  const arrived = once(server, "connection");
  const bridge = await Bridge.connect(path);
  const [daemon] = (await arrived) as [Socket];
  server.close();
  const found: string[] = [];
  const waiting: (() => void)[] = [];
  let rest = "";
  daemon.on("data", (data) => {
    const parts = (rest + data.toString()).split("\n");
    rest = parts.pop() ?? "";
    found.push(...parts);
    for (const tell of waiting.splice(0)) tell();
  });
  const lines = async (): Promise<Json> => {
    while (found.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    return JSON.parse(found.shift() as string) as Json;
  };
  return { bridge, daemon, lines };
}

test("events are JSON text on one line", async () => {
  const { bridge, daemon, lines } = await connected();
  bridge.event({ type: "text_chunk", content: "a\nb" });
  assert.deepEqual(await lines(), {
    type: "sse_event",
    data: '{"type":"text_chunk","content":"a\\nb"}',
  });
  daemon.destroy();
});

test("a request has its answer by its id, with progress before it", async () => {
  const { bridge, daemon, lines } = await connected();
  const told: string[] = [];
  const one = bridge.request("memory_search", { query: "x" }, (message) => told.push(message));
  const two = bridge.request("mcp_call", {});
  const first = await lines();
  const second = await lines();
  assert.deepEqual(first, { type: "request", id: "1", method: "memory_search", params: { query: "x" } });
  const error = { code: "TIMEOUT", message: "late" };
  daemon.write(`${JSON.stringify({ type: "response", id: second["id"], error })}\n`);
  daemon.write(`${JSON.stringify({ type: "progress", id: first["id"], message: "half" })}\n`);
  daemon.write(`${JSON.stringify({ type: "response", id: first["id"], result: { n: 1 } })}\n`);
  await assert.rejects(two, (failed: RequestFailed) => failed.code === "TIMEOUT");
  assert.deepEqual(await one, { n: 1 });
  assert.deepEqual(told, ["half"]);
  daemon.destroy();
});

test("a ping is answered, and messages arrive whole however they are cut", async () => {
  const { bridge, daemon, lines } = await connected();
  const taken: Json[] = [];
  const arrived = new Promise<void>((resolve) => {
    bridge.onMessage = (message) => {
      taken.push(message);
      resolve();
    };
  });
  daemon.write('{"type":"ping"}\n{"type":"can');
  assert.deepEqual(await lines(), { type: "pong" });
  daemon.write('cel","reason":"ü"}\n');
  await arrived;
  assert.deepEqual(taken, [{ type: "cancel", reason: "ü" }]);
  daemon.destroy();
});

test("without the daemon, open requests fail and the end is told", async () => {
  const { bridge, daemon } = await connected();
  const closed = new Promise<void>((resolve) => {
    bridge.onClose = resolve;
  });
  const asked = bridge.request("get_config", {});
  daemon.destroy();
  await assert.rejects(asked, (failed: RequestFailed) => failed.code === "CONNECTION_LOST");
  await closed;
});

test("a line without an end is not kept for ever", async () => {
  const { bridge, daemon } = await connected();
  const closed = new Promise<void>((resolve) => {
    bridge.onClose = resolve;
  });
  daemon.on("error", () => undefined);
  daemon.write(Buffer.alloc(11 * 1024 * 1024, "x"));
  await closed;
});
