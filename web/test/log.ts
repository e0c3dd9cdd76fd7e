// Random logs of sessions, with everything in them that events.md knows.

import type { Event } from "../src/session/event.ts";
import { below, cut, pick, type Random } from "./random.ts";

const ANSWER = "# Title\n\nSome *words*, 中文.\n\n- one\n- two\n\n```py\nx = 1\n```\n\n[a] link\n\n[a]: https://example.com\n";

/** Events of some turns in the order of a log; `Entry.id` is the index plus one. */
export function randomLog(random: Random, turns: number): Event[] {
  const log: Event[] = [{ type: "session_status", machine: "online", machine_id: "m1", ts: 1 }];
  let ts = 1000;
  const put = (event: Event) => log.push({ ...event, ts: (ts += 1 + below(random, 50)) });
  for (let turn = 1; turn <= turns; turn += 1) {
    const turnId = `t${turn}`;
    put({ type: "user_message", content: `question ${turn}`, user_id: "u", turn_id: turnId });
    // The next message may come while this turn still runs.
    const waits = random() < 0.2 && turn < turns ? `t${turn + 1}` : null;
    if (waits) turn += 1;
    if (waits) put({ type: "user_message", content: "and then", user_id: "u", turn_id: waits });
    for (const id of waits ? [turnId, waits] : [turnId]) {
      if (random() < 0.2) group(random, put, id);
      else work(random, put, id);
    }
  }
  return log;
}

type Put = (event: Event) => void;

function work(random: Random, put: Put, turnId: string): void {
  const steer = `${turnId}-steer`;
  let steered = 0;
  for (let step = 0; step < 1 + below(random, 4); step += 1) {
    const id = { turn_id: turnId };
    const call = { ...id, tool_call_id: `${turnId}-c${step}` };
    if (random() < 0.4) put({ type: "thinking", stage: pick(random, ["reasoning", "model"]), content: "hm ", ...id });
    if (random() < 0.8) for (const content of cut(random, ANSWER, 20)) put({ type: "text_chunk", content, ...id });
    if (random() < 0.2 && step === 0) {
      put({ type: "user_message", content: "also this", message_id: steer, steers: turnId, ...id });
      steered = 1;
    }
    if (random() < 0.1) put({ type: "session_status", machine: pick(random, ["online", "offline"]), machine_id: "m1" });
    if (random() < 0.2) put({ type: "plan", plan: { tasks: [{ title: "a", status: "pending" }] }, ...id });
    if (random() < 0.5) {
      put({ type: "tool_call_start", tool_name: "bash", tool_input: { command: "ls" }, ...call });
      if (random() < 0.4) {
        const request = `${turnId}-q${step}`;
        put({ type: "approval_request", request_id: request, kind: "approve", message: "?", ...id });
        if (random() < 0.3) put({ type: "approval_request", request_id: request, kind: "approve", message: "?", ...id });
        if (random() < 0.8) put({ type: "approval_resolved", request_id: request, confirmed: random() < 0.5, ...id });
        if (random() < 0.3) put({ type: "approval_request", request_id: request, kind: "approve", message: "?", ...id });
      }
      if (random() < 0.3) subAgent(random, put, turnId, `${turnId}-c${step}`);
      put({ type: "tool_call_progress", tool_name: "bash", content: "out\n", ...call });
      if (random() < 0.3) put({ type: "file_changed", path: "a.txt", change: "modified", diff: "@@", additions: 1, deletions: 2, ...call });
      if (random() < 0.9) put({ type: "tool_call_complete", tool_name: "bash", result: "ok", is_error: random() < 0.2, ...call });
    }
    if (random() < 0.1) put({ type: "foreign", protocol: "yeaft", name: "x", raw: {} });
    if (steered === 1 && random() < 0.5) {
      put({ type: "steer_taken", message_id: steer, ...id });
      steered = 2;
    }
  }
  if (random() < 0.8) put({ type: "usage", calls: 1, tokens_in: 10, tokens_out: 5, cost: { amount: 0.01, currency: "USD" }, turn_id: turnId });
  end(random, put, turnId);
  if (steered !== 1) return;
  put({ type: "steer_missed", message_id: steer, steers: turnId, turn_id: steer });
  put({ type: "text_chunk", content: "as for that", turn_id: steer });
  end(random, put, steer);
}

function end(random: Random, put: Put, turnId: string): void {
  const id = { turn_id: turnId };
  if (random() < 0.7) put({ type: "execution_complete", content: ANSWER, ...id });
  else if (random() < 0.5) put({ type: "execution_complete", content: "", cancelled: true, ...id });
  else put({ type: "execution_error", error: "no", code: "TURN_FAILED", ...id });
  if (random() < 0.1) put({ type: "execution_error", error: "late", code: "LATE", ...id });
}

function subAgent(random: Random, put: Put, turnId: string, parent: string): void {
  const of = { turn_id: turnId, agent: "helper", parent_tool_call_id: parent };
  for (const content of cut(random, "I look.\n\nFound it.", 6)) put({ type: "text_chunk", content, ...of });
  put({ type: "tool_call_start", tool_name: "read_file", tool_call_id: `${parent}-sub`, tool_input: {}, ...of });
  put({ type: "tool_call_complete", tool_name: "read_file", tool_call_id: `${parent}-sub`, result: "x", ...of });
}

function group(random: Random, put: Put, turnId: string): void {
  const asked = ["ann", "bob"].map((name, index) => ({
    turn_id: turnId,
    person: { id: name, name },
    group: { ask: index + 1, depth: 0 },
  }));
  const left = asked.map((of) => {
    put({ type: "person_start", ...of });
    return { of, pieces: cut(random, `I am ${of.person.name}.\n\n${ANSWER}`, 15) };
  });
  while (left.some(({ pieces }) => pieces.length > 0)) {
    const { of, pieces } = pick(random, left);
    const content = pieces.shift();
    if (content !== undefined) put({ type: "text_chunk", content, ...of });
  }
  for (const { of } of left) {
    if (random() < 0.8) put({ type: "person_complete", content: "I am", ...of });
    else put({ type: "person_error", error: "away", code: "MACHINE_OFFLINE", ...of });
  }
  put({ type: "execution_complete", content: "all of it", turn_id: turnId });
}
