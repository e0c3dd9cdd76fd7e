import assert from "node:assert/strict";
import { mkdtemp, readFile, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { Json } from "../src/json.ts";
import { LocalServer } from "../src/local-server.ts";

// A server that is a program: it counts its starts, and does what its tool is told.
const PROGRAM = `
const { appendFileSync } = require("node:fs");
appendFileSync("starts", process.pid + "\\n");
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const tools = { "": { tools: [{ name: "add" }], nextCursor: "2" }, 2: { tools: [{ name: "say" }] } };
const use = (id, { name, arguments: given }) => {
  const text = { add: () => String(given.a + given.b), say: () => given.words, env: () => JSON.stringify(process.env), cwd: () => process.cwd() }[name];
  if (name === "die") { process.stderr.write("the key is " + process.env.KEY); process.exitCode = 3; process.stdin.destroy(); return; }
  if (name === "flood") { process.stdout.write("x".repeat(20 * 1024 * 1024)); return; }
  if (name === "hang") return;
  if (text === undefined) send({ id, error: { code: -32602, message: "no tool " + name } });
  else send({ id, result: { content: [{ type: "text", text: text() }] } });
};
let said = "";
process.stdin.on("data", (piece) => {
  const lines = (said + piece).split("\\n");
  said = lines.pop();
  for (const { id, method, params, result } of lines.map((line) => JSON.parse(line))) {
    if (method === "initialize") {
      console.log("a line that is no message");
      send({ id: "p", method: "ping" });
      send({ id, result: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} } });
    } else if (method === "tools/list") send({ id, result: tools[params.cursor ?? ""] });
    else if (method === "tools/call") use(id, params);
  }
});
`;

let folder = "";
let server: LocalServer;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "server-")));
  await writeFile(join(folder, "server.cjs"), PROGRAM);
  server = serverOf({});
});

afterEach(() => server.close());

function serverOf(given: Json): LocalServer {
  const env = { KEY: "sk-nobody-else" };
  return new LocalServer({ name: "mine", command: process.execPath, args: ["server.cjs"], env, ...given }, folder);
}

async function said(tool: string, input: Json = {}): Promise<string> {
  const { content } = await server.call(tool, input);
  return (content as { text: string }[])[0]?.text ?? "";
}

async function starts(): Promise<number[]> {
  return (await readFile(join(folder, "starts"), "utf8")).trim().split("\n").map(Number);
}

test("its tools are listed, page by page, and called, in one process that starts with the first", async () => {
  await assert.rejects(starts());
  assert.deepEqual((await server.tools(10)).map((tool) => tool["name"]), ["add", "say"]);
  assert.equal((await server.tools(1)).length, 1);
  assert.deepEqual(await Promise.all([said("add", { a: 1, b: 2 }), said("say", { words: "hi" })]), ["3", "hi"]);
  assert.equal((await starts()).length, 1);
});

test("it works in the workspace, with its own variables and none of the bridge's", async () => {
  process.env["SOCKET_PATH"] = "/not/for/it";
  assert.equal(await said("cwd"), folder);
  const env = JSON.parse(await said("env")) as Json;
  assert.equal(env["KEY"], "sk-nobody-else");
  assert.equal(env["SOCKET_PATH"], undefined);
  assert.equal(env["PATH"], process.env["PATH"]);
});

test("what it answers with an error is told in its words", async () => {
  await assert.rejects(server.call("dance", {}), /MCP server mine failed: no tool dance/);
});

test("one that dies says why, without what only it may know, and is started again", async () => {
  await assert.rejects(server.call("die", {}), (error: Error) => {
    assert.match(error.message, /it ended with 3; its last words: the key is …/);
    return true;
  });
  assert.equal(await said("say", { words: "back" }), "back");
  assert.equal((await starts()).length, 2);
});

test("one that hangs, or floods, is ended and started again", async () => {
  server = serverOf({ timeout_s: 0.5 });
  await assert.rejects(server.call("hang", {}), /did not answer within 0.5 s/);
  assert.equal(await said("say", { words: "back" }), "back");
  server.close();
  server = serverOf({});
  await assert.rejects(server.call("flood", {}), /too large/);
  for (const pid of (await starts()).slice(0, -1)) assert.throws(() => process.kill(pid, 0));
});

test("one that cannot be started says so", async () => {
  server = serverOf({ command: "/does/not/exist" });
  await assert.rejects(server.tools(10), /MCP server mine failed: .*ENOENT/);
});

test("a session that ends takes it along", async () => {
  await said("say", { words: "hi" });
  server.close();
  const [pid] = await starts();
  const isGone = (): boolean => {
    try {
      return !process.kill(pid ?? 0, 0);
    } catch {
      return true;
    }
  };
  while (!isGone()) await new Promise(setImmediate);
  await assert.rejects(server.call("say", {}), /is closed/);
});
