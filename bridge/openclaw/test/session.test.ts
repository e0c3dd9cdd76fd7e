import assert from "node:assert/strict";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { RequestFailed } from "../src/bridge.ts";
import type { Json } from "../src/json.ts";
import { Session } from "../src/session.ts";
import { FakeDaemon, FakeGateway } from "./fakes.ts";

let daemon: FakeDaemon;
let gateway: FakeGateway;
let session: Session;
let connections: number;
const place = { url: "ws://x", token: "t", agent_id: "s-1", generation: 1 };

beforeEach(async () => {
  daemon = new FakeDaemon();
  gateway = new FakeGateway();
  connections = 0;
  daemon.answers["local.openclaw_gateway"] = () => place;
  const folder = await mkdtemp(join(tmpdir(), "session-"));
  const memoryDir = join(folder, "memory");
  await mkdir(memoryDir);
  session = new Session(daemon, {
    sessionId: "one",
    skillsCache: folder,
    memoryDir,
    connect: async () => {
      connections += 1;
      return gateway;
    },
    now: Date.now,
  });
});

afterEach(() => session.stop());

async function opened(start: Json = {}): Promise<string[]> {
  return session.open({ agent_config: {}, workspace: "/work", ...start });
}

test("a session is ready before the gateway is looked for", async () => {
  assert.deepEqual(await opened({ agent_config: { system_prompt: "Be kind." } }), []);
  assert.deepEqual(daemon.asked, []);
});

test("a turn is told to OpenClaw with its settings, and heard to its end", async () => {
  await opened({
    agent_config: { system_prompt: "Be kind.", model: "gpt-x", temperature: 0.5, max_tokens: 9 },
    openclaw_config: { tool_profile: "minimal", skills: ["weather"] },
  });
  session.say({ message: "Hi", turn_id: "t" });
  const told = await gateway.running();
  assert.equal(told["message"], "Hi");
  assert.equal(told["extraSystemPrompt"], "Be kind.");
  assert.equal(told["sessionKey"], "agent:s-1:main");
  assert.equal(told["deliver"], false);
  const params = daemon.asked[0]?.params ?? {};
  assert.equal(params["session_id"], "one");
  assert.equal(params["model"], "gpt-x");
  assert.equal(params["temperature"], 0.5);
  assert.equal(params["max_tokens"], 9);
  assert.equal(params["tool_profile"], "minimal");
  assert.deepEqual(params["skills"], ["weather"]);
  gateway.agent("assistant", { itemId: "a", text: "Hello" });
  gateway.answer("Hello");
  const end = await daemon.end("t");
  assert.equal(end["type"], "execution_complete");
  assert.equal(end["content"], "Hello");
  assert.deepEqual(
    daemon.events.map((event) => event["type"]),
    ["text_chunk", "usage", "execution_complete"],
  );
  assert.ok(daemon.events.every((event) => event["turn_id"] === "t" && event["ts"]));
});

test("what a turn used is told and reported, with what came from the cache", async () => {
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  gateway.answer("Hello", { costUsd: 0.25 });
  await daemon.end("t");
  const [usage] = daemon.of("usage");
  assert.deepEqual(usage?.["models"], {
    "gpt-x": { calls: 1, tokens_in: 12, tokens_out: 5, cache_read_tokens: 2 },
  });
  assert.equal(usage?.["cost_usd"], 0.25);
  assert.deepEqual(daemon.reports, [
    { method: "usage_report", params: { model: "gpt-x", tokens_in: 12, tokens_out: 5 } },
  ]);
});

test("readers learn how far the gateway is", async () => {
  daemon.answers["local.openclaw_gateway"] = (_, tell) => {
    tell("Starting …");
    return place;
  };
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  assert.deepEqual(
    daemon.of("thinking").map((event) => [event["content"], event["stage"]]),
    [["Starting …", "openclaw"]],
  );
  gateway.answer("x");
  await daemon.end("t");
});

test("a machine without OpenClaw is an error of the turn, with what to do", async () => {
  daemon.answers["local.openclaw_gateway"] = () => {
    throw new RequestFailed("RUNTIME_UNAVAILABLE", "Install it with: x");
  };
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  const end = await daemon.end("t");
  assert.deepEqual([end["code"], end["error"]], ["RUNTIME_UNAVAILABLE", "Install it with: x"]);
});

test("a cancel aborts the run and ends the turn once", async () => {
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  session.cancel();
  session.cancel();
  const end = await daemon.end("t");
  assert.equal(end["cancelled"], true);
  const sessionKey = "agent:s-1:main";
  const runId = gateway.of("agent")[0]?.["idempotencyKey"];
  assert.deepEqual(gateway.of("chat.abort"), [{ sessionKey, runId }, { sessionKey }]);
  session.say({ message: "Again", turn_id: "u" });
  await gateway.running();
  gateway.answer("Here");
  assert.equal((await daemon.end("u"))["content"], "Here");
  assert.equal(daemon.of("execution_complete").length, 2);
});

test("a cancel while the gateway starts ends the turn at once", async () => {
  daemon.answers["local.openclaw_gateway"] = () => new Promise(() => undefined);
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  session.cancel();
  assert.equal((await daemon.end("t"))["cancelled"], true);
});

test("a turn behind one that was cancelled while the gateway starts is heard once", async () => {
  const waiting: { tell: (message: string) => void; go: (answer: Json) => void }[] = [];
  daemon.answers["local.openclaw_gateway"] = (_, tell) =>
    new Promise<Json>((go) => waiting.push({ tell, go }));
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  while (waiting.length === 0) await new Promise(setImmediate);
  session.cancel();
  await daemon.end("t");
  session.say({ message: "Again", turn_id: "u" });
  await new Promise(setImmediate);
  waiting[0]?.tell("Still starting …");
  assert.deepEqual(daemon.of("thinking").map((event) => event["turn_id"]), ["u"]);
  waiting[0]?.go(place);
  while (waiting.length === 1) await new Promise(setImmediate);
  waiting[1]?.go(place);
  await gateway.running();
  assert.equal(connections, 1);
  assert.deepEqual(gateway.of("agent").map((told) => told["message"]), ["Again"]);
  gateway.answer("Here");
  assert.equal((await daemon.end("u"))["content"], "Here");
});

test("events of another run of the session are not shown", async () => {
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  const { sessionKey } = await gateway.running();
  const data = { itemId: "a", text: "of before" };
  gateway.onEvent("agent", { runId: "another", sessionKey, stream: "assistant", data });
  gateway.answer("Hello");
  await daemon.end("t");
  assert.deepEqual(daemon.of("text_chunk"), []);
});

/** Asks at the address of the session's tools, as the gateway does. */
async function post(method: string, params: Json): Promise<string> {
  const { tools_url: url, tools_token: token } = daemon.asked[0]?.params ?? {};
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(String(url), { method: "POST", headers, body })).text();
}

test("a tool is used as the daemon judges it: a person is asked, and nobody where there is no turn", async () => {
  daemon.answers["mcp_tools"] = () => ({ tools: [{ name: "buy" }] });
  daemon.answers["mcp_call"] = () => ({ result: "bought" });
  daemon.answers["local.openclaw_judge"] = () => ({ outcome: "ask", why: "It costs.", rule: "r" });
  const rules = [{ effect: "ask", rule: "mcp__shop" }];
  await opened({ agent_config: { confirm: "dangerous" }, mcp_servers: [{ name: "shop", type: "remote" }], rules });
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  const buy = (): Promise<string> => post("tools/call", { name: "mcp__shop__buy", arguments: {} });
  for (const confirmed of [true, false]) {
    const bought = buy();
    const asked = await daemon.until("approval_request", confirmed ? 1 : 2);
    assert.deepEqual([asked["tool_name"], asked["turn_id"]], ["mcp__shop__buy", "t"]);
    assert.deepEqual([asked["rule"], asked["message"]], ["r", "May I use mcp__shop__buy?\nIt costs."]);
    session.answer({ request_id: asked["request_id"], confirmed });
    assert.equal((await bought).includes("bought"), confirmed);
  }
  const judged = daemon.asked.find((one) => one.method === "local.openclaw_judge")?.params ?? {};
  assert.deepEqual(judged["rules"], rules);
  assert.deepEqual(judged["config"], { confirm: "dangerous" });
  gateway.answer("Done");
  await daemon.end("t");
  await new Promise(setImmediate);
  assert.ok((await buy()).includes("Nobody is there"));
  assert.equal(daemon.of("approval_request").length, 2);
});

test("what rules or the mode refuse is refused with their words, and new rules hold at once", async () => {
  daemon.answers["local.openclaw_judge"] = ({ rules }) =>
    Array.isArray(rules) && rules.length > 0 ? { outcome: "refuse", why: "no" } : { outcome: "run" };
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  const permit = (): Promise<string> => post("trunkline/permit", { tool: "write", input: {} });
  assert.ok((await permit()).includes('"allowed":true'));
  session.configure({ rules: [{ effect: "deny", rule: "edit_file" }] });
  assert.ok((await permit()).includes('"allowed":false,"reason":"no"'));
});

test("what was allowed for good holds at once, and is asked again when the rule is taken back", async () => {
  daemon.answers["local.openclaw_judge"] = ({ rules }) =>
    Array.isArray(rules) && rules.length > 0 ? { outcome: "run" } : { outcome: "ask", rule: "bash(make *)" };
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  const permit = (): Promise<string> => post("trunkline/permit", { tool: "exec", input: { command: "make a" } });
  const yes = async (scope: string, number: number): Promise<void> => {
    const asked = permit();
    const { request_id } = await daemon.until("approval_request", number);
    session.answer({ request_id, confirmed: true, scope });
    assert.ok((await asked).includes('"allowed":true'));
  };
  await yes("always", 1);
  assert.ok((await permit()).includes('"allowed":true'));
  const judged = daemon.asked.filter((one) => one.method === "local.openclaw_judge").at(-1);
  assert.deepEqual(judged?.params["rules"], [{ effect: "allow", rule: "bash(make *)" }]);
  session.configure({ rules: [] });
  await yes("session", 2);
  assert.ok((await permit()).includes('"allowed":true'));
  assert.equal(daemon.of("approval_request").length, 2);
});

test("a gateway without our plugin is not used: its tools would ask nobody", async () => {
  gateway.guards = false;
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  const end = await daemon.end("t");
  assert.deepEqual([end["type"], end["code"]], ["execution_error", "RUNTIME_FAILED"]);
  assert.deepEqual(gateway.of("agent"), []);
});

test("a turn that the gateway did not begin is told to it again, under another id", async () => {
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  gateway.refuse("changed while starting work. Retry. | SESSION_WORK_START_CHANGED");
  await gateway.running();
  gateway.answer("Hello");
  assert.equal((await daemon.end("t"))["content"], "Hello");
  assert.equal(new Set(gateway.of("agent").map((told) => told["idempotencyKey"])).size, 2);
});

test("a turn that a busy gateway gave up is told to it again, unless something of it was heard", async () => {
  const busy = "another OpenClaw process owns state-lifecycle";
  const refusals = [busy, "prepared model runtime plugin generation was superseded for s-1"];
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  for (const refusal of refusals) {
    await gateway.running();
    gateway.agent("lifecycle", { phase: "error", error: refusal });
    gateway.refuse(refusal);
  }
  await gateway.running();
  gateway.agent("assistant", { itemId: "a", text: "Hel" });
  gateway.refuse(busy);
  const end = await daemon.end("t");
  assert.deepEqual([end["code"], end["error"]], ["RUNTIME_FAILED", busy]);
  assert.equal(gateway.of("agent").length, 3);
});

test("a gateway that dies ends the turn with the reason, and the next one works", async () => {
  daemon.answers["local.openclaw_end"] = () => ({ reason: "it was ended by SIGKILL" });
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  gateway.die();
  const end = await daemon.end("t");
  assert.deepEqual([end["code"], end["error"]], ["RUNTIME_CRASHED", "it was ended by SIGKILL"]);
  gateway = new FakeGateway();
  session.say({ message: "Hi", turn_id: "u" });
  await gateway.running();
  gateway.answer("Back");
  assert.equal((await daemon.end("u"))["content"], "Back");
});

test("a run that a stopping gateway aborts ends with the reason of the gateway", async () => {
  daemon.answers["local.openclaw_end"] = () => ({ reason: "it did not answer and was ended" });
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  await gateway.running();
  gateway.agent("lifecycle", { phase: "end", aborted: true });
  gateway.finish({ status: "timeout", summary: "aborted" });
  const end = await daemon.end("t");
  assert.deepEqual([end["code"], end["error"]], ["RUNTIME_CRASHED", "it did not answer and was ended"]);
});

test("errors keep their words, and have the code that fits", async () => {
  const cases: [string, string][] = [
    ["401 Incorrect API key provided", "MODEL_KEY_REFUSED"],
    ["429 rate limit reached", "MODEL_RATE_LIMITED"],
    ["The engine is overloaded", "MODEL_OVERLOADED"],
    ["context length exceeded", "MODEL_CONTEXT_FULL"],
    ["something else", "RUNTIME_FAILED"],
  ];
  await opened();
  for (const [words, code] of cases) {
    session.say({ message: "Hi", turn_id: words });
    await gateway.running();
    gateway.agent("lifecycle", { phase: "error", error: words });
    gateway.refuse("the run failed");
    const end = await daemon.end(words);
    assert.deepEqual([end["error"], end["code"]], [words, code]);
  }
});

test("turns wait for each other, and too many are refused", async () => {
  await opened();
  for (let number = 0; number <= 21; number++) session.say({ message: "Hi", turn_id: `t${number}` });
  assert.equal((await daemon.end("t21"))["code"], "TURN_QUEUE_FULL");
  await gateway.running();
  assert.equal(gateway.of("agent").length, 1);
  gateway.answer("first");
  await daemon.end("t0");
});

test("a turn that takes too long is ended", async () => {
  await opened({ session_config: { timeout_seconds: 0.02 } });
  session.say({ message: "Hi", turn_id: "t" });
  assert.equal((await daemon.end("t"))["code"], "TURN_TIMEOUT");
});

test("a stop ends what runs and what waits", async () => {
  await opened();
  session.say({ message: "Hi", turn_id: "t" });
  session.say({ message: "Hi", turn_id: "u" });
  await gateway.running();
  await session.stop();
  assert.equal((await daemon.end("t"))["code"], "SESSION_STOPPED");
  assert.equal((await daemon.end("u"))["code"], "SESSION_STOPPED");
});

test("new settings hold from the next turn on", async () => {
  await opened({ agent_config: { model: "a", system_prompt: "One." } });
  session.configure({ model: "b", system_prompt: "Two." });
  session.say({ message: "Hi", turn_id: "t" });
  assert.equal((await gateway.running())["extraSystemPrompt"], "Two.");
  assert.equal(daemon.asked[0]?.params["model"], "b");
  gateway.answer("x");
  await daemon.end("t");
});

test("a turn of an earlier process is over", async () => {
  await opened({ turn_id: "old" });
  assert.equal((await daemon.end("old"))["code"], "SESSION_CRASHED");
});

test("what was said on another machine is told to OpenClaw, also later", async () => {
  await opened();
  const history = [{ role: "user", content: "My cat is Zorro." }];
  for (const turn of ["t", "u"]) {
    session.say({ message: "Hi", turn_id: turn, history });
    const told = String((await gateway.running())["extraSystemPrompt"]);
    assert.equal(told.split("Zorro").length, 2);
    gateway.answer("x");
    await daemon.end(turn);
    history.push({ role: "user", content: "And Zorro again." });
  }
});

test("what OpenClaw knows already is not told to it again", async () => {
  gateway.past = [{ role: "user" }];
  await opened();
  session.say({ message: "Hi", turn_id: "t", history: [{ role: "user", content: "Zorro." }] });
  assert.equal((await gateway.running())["extraSystemPrompt"], undefined);
  gateway.answer("x");
  await daemon.end("t");
});
