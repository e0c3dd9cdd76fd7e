// A stream goes on after every break, from where it was, and gives up with a clear word.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../src/client.ts";
import { ApiError, StreamBroken } from "../src/errors.ts";
import { follow, type Logged, type Source } from "../src/events.ts";

type Given = string | number;

/** Serves one session's stream from a script: the nth connection gets the nth answer, then breaks. */
class Server {
  positions: string[] = [];
  waits: number[] = [];
  /** What pages of the log hold, two at a time. */
  log: number[] = [];
  logFailsAfter = Infinity;
  readonly script: Given[];

  constructor(...script: Given[]) {
    this.script = script;
  }

  readonly source: Source = {
    around: {
      fetch: async (_address, init) => {
        this.positions.push((init.headers as Record<string, string>)["Last-Event-ID"] ?? "");
        const given = this.script[Math.min(this.positions.length, this.script.length) - 1] as Given;
        if (typeof given === "string") return new Response(given);
        return Response.json({ error: { code: "SOME_CODE", message: `no: ${given}` } }, { status: given });
      },
      now: () => 0,
      random: () => 0,
      after: (ms, call) => {
        if (ms >= 30_000) return () => undefined; // the watch over silence
        this.waits.push(ms);
        const timer = setImmediate(call);
        return () => clearImmediate(timer);
      },
    },
    address: () => "http://server/stream",
    headers: { Authorization: "Bearer tl_test" },
    page: async (_sessionId, after) => {
      if (after >= this.logFailsAfter) throw new ApiError("UNAVAILABLE", "the log cannot be read", 503);
      const ids = this.log.filter((id) => id > after);
      const items = ids.slice(0, 2).map((id) => ({ id, event: { type: "text_chunk" as const, content: `${id}` } }));
      const next_after = ids.length > 2 ? (ids[1] as number) : null;
      const resync = after !== 0 && !this.log.some((id) => id === after || id === after + 1);
      return { items, next_after, next_before: null, first_id: this.log[0] ?? 1, resync };
    },
  };

  async read(count: number, after = 0): Promise<Logged[]> {
    const found: Logged[] = [];
    for await (const one of follow(this.source, "s-1", { after })) {
      found.push(one);
      if (found.length === count) break;
    }
    return found;
  }
}

function events(first: number, count: number): string {
  const ids = Array.from({ length: count }, (_, at) => first + at);
  return ids.map((id) => `id: ${id}\ndata: {"type":"text_chunk","content":"${id}"}\n\n`).join("");
}

const RESYNC = "event: resync\ndata: {}\n\n";

test("each event comes once and in order, whatever breaks", async () => {
  const cases: [string, Server, number, (number | null)[], string[]][] = [
    ["breaks", new Server(events(5, 3), `${events(8, 2)}id: 10\ndata: {`, events(10, 2)), 4, [5, 6, 7, 8, 9, 10, 11], ["4", "7", "9"]],
    ["repeats", new Server(events(1, 3), events(2, 4)), 0, [1, 2, 3, 4, 5], ["0", "3"]],
    ["refusals that pass", new Server(503, 429, 502, events(1, 1)), 0, [1], ["0", "0", "0", "0"]],
    ["nonsense", new Server(`data: no id\n\nid: x\ndata: {}\n\nevent: other\nid: 2\ndata: {}\n\n${events(3, 1)}`), 0, [3], ["0"]],
  ];
  for (const [name, server, after, ids, positions] of cases) {
    const found = await server.read(ids.length, after);
    assert.deepEqual(found.map((one) => one.id), ids, name);
    assert.deepEqual(server.positions, positions, name);
  }
});

test("what a resync skips is read from the log", async () => {
  const server = new Server(events(1, 1) + RESYNC + events(4, 2), events(6, 1));
  server.log = [1, 2, 3, 4, 5];
  const found = await server.read(7);
  assert.deepEqual(found.map((one) => one.id), [1, null, 2, 3, 4, 5, 6]);
  assert.deepEqual(found[1]?.event, { type: "resync" });
  const restored = new Server(RESYNC + events(4, 1));
  restored.log = [1, 2, 3];
  assert.deepEqual((await restored.read(5, 500)).map((one) => one.id), [null, 1, 2, 3, 4], "another log");
  const cut = new Server(RESYNC);
  cut.log = [7, 8];
  assert.deepEqual((await cut.read(3, 3)).map((one) => one.id), [null, 7, 8], "before a cut");
  const gap = new Server(RESYNC);
  gap.log = [1, 2, 1001];
  assert.deepEqual((await gap.read(4, 500)).map((one) => one.id), [null, 1, 2, 1001], "in a gap");
});

test("a log that stays unreadable, and a server that stays away, end it with its position", async () => {
  const unreadable = new Server(RESYNC);
  unreadable.log = [1, 2, 3, 4];
  unreadable.logFailsAfter = 2;
  for (const server of [unreadable, new Server(events(1, 2), 503)]) {
    await assert.rejects(server.read(1000), (error) => error instanceof StreamBroken && /after event 2/.test(error.message));
  }
});

test("a final refusal ends it at once, with the server's words", async () => {
  for (const status of [400, 401, 403, 404]) {
    const server = new Server(status);
    await assert.rejects(server.read(1), { name: "ApiError", status, code: "SOME_CODE", message: `no: ${status}` });
    assert.equal(server.positions.length, 1);
  }
});

test("waits grow, and the server's wish when to return is kept", async () => {
  const away = new Server(503, 503, 503, events(1, 1));
  await away.read(1);
  assert.deepEqual(away.waits, [...away.waits].sort((one, other) => one - other));
  const asked = new Server(`${events(1, 1)}retry: 1500\n\n`, events(2, 1));
  await asked.read(2);
  assert.ok((asked.waits[0] ?? 0) >= 1500);
});

test("a stream that is aborted ends with the reason, and asks no more", async () => {
  const aborting = new AbortController();
  const server = new Server(events(1, 1));
  await assert.rejects(async () => {
    for await (const _ of follow(server.source, "s-1", { signal: aborting.signal })) aborting.abort(new Error("enough"));
  }, /enough/);
  assert.equal(server.positions.length, 1);
});

test("a message whose response is lost goes again under its name; a refusal does not", async () => {
  const sent: string[] = [];
  const answers: (() => Response)[] = [];
  const client = new Client({
    url: "http://server/",
    token: "tl_test",
    fetch: async (input) => {
      const request = input as Request;
      assert.equal(request.headers.get("Authorization"), "Bearer tl_test");
      sent.push(((await request.json()) as { client_message_id: string }).client_message_id);
      const answer = answers.shift();
      if (answer === undefined) throw new TypeError("nobody there");
      return answer();
    },
  });
  answers.push(() => new Response("bad gateway", { status: 502 }), () => Response.json({ turn_id: "t" }, { status: 202 }));
  assert.equal(await client.sessions.send("s", "hello"), "t");
  assert.equal(sent.length, 2);
  assert.equal(new Set(sent).size, 1);
  const refusal = { error: { code: "SESSION_CLOSED", message: "it is closed" } };
  answers.push(() => Response.json(refusal, { status: 409 }));
  await assert.rejects(client.sessions.send("s", "hello"), { code: "SESSION_CLOSED", status: 409 });
  assert.equal(sent.length, 3);
});
