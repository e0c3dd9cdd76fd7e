// What `session_status` and its kin say: what is known of the session, and what is worth a line.

import { isObject, objects, text, textOrNull, texts, type Event } from "./event.ts";
import type { NoticeCode, Status } from "./model.ts";

export const UNKNOWN: Status = {
  machine: null,
  machineId: null,
  works: [],
  degraded: [],
  problems: [],
  isHeld: false,
  note: null,
  commands: [],
  resume: null,
  ready: null,
  isClosed: false,
};

const MACHINE = ["online", "offline", "degraded", "gone"] as const;

export function statusAfter(before: Status, event: Event): Status {
  if (event.type === "session_closed") return { ...before, isClosed: true, isHeld: false };
  const machine = MACHINE.find((one) => one === event["machine"]) ?? before.machine;
  const note = isLasting(event) ? null : textOrNull(event["message"]);
  const after: Status = { ...before, machine, note };
  const machineId = textOrNull(event["machine_id"]);
  if (machineId) after.machineId = machineId;
  if (machine === "online") after.isHeld = false;
  if (event["held"] === true) after.isHeld = true;
  if (machine === "degraded" || Array.isArray(event["works"]) || Array.isArray(event["degraded"])) {
    after.works = texts(event["works"]);
    after.degraded = texts(event["degraded"]);
  }
  if (Array.isArray(event["problems"])) after.problems = texts(event["problems"]);
  if (Array.isArray(event["commands"])) {
    after.commands = objects(event["commands"])
      .map((one) => ({ name: text(one["name"]), description: text(one["description"]) }))
      .filter((one) => one.name !== "");
  }
  if (isObject(event["resume"])) after.resume = event["resume"];
  if (isObject(event["ready"])) after.ready = { ...before.ready, ...event["ready"] };
  return after;
}

/** What older events say counts where newer ones say nothing. */
export function statusOver(older: Status, newer: Status): Status {
  return {
    ...newer,
    machine: newer.machine ?? older.machine,
    machineId: newer.machineId ?? older.machineId,
    commands: newer.commands.length ? newer.commands : older.commands,
    resume: newer.resume ?? older.resume,
    ready: newer.ready ? { ...older.ready, ...newer.ready } : older.ready,
    isClosed: newer.isClosed || older.isClosed,
  };
}

/** A machine that comes and goes is shown as a mark, not as a line in the conversation. */
export function noticeOf(event: Event): { code: NoticeCode; text: string } | null {
  if (event.type === "session_closed") return { code: "closed", text: text(event["reason"]) };
  if (event.type === "context_compacted") {
    const isNothing = event["how"] === "nothing";
    return { code: isNothing ? "not_compacted" : "compacted", text: text(event["reason"]) };
  }
  if (event["lost_events"]) return { code: "lost", text: String(event["lost_events"]) };
  if (event["imported"] === true) return { code: "imported", text: text(event["message"]) };
  if (event["machine"] === "gone") return { code: "gone", text: text(event["message"]) };
  if (event["held"] === true) return { code: "held", text: "" };
  const problems = texts(event["problems"]);
  if (problems.length) return { code: "problems", text: problems.join("\n") };
  if (event["machine"] === "degraded") {
    return { code: "degraded", text: texts(event["degraded"]).join(", ") };
  }
  const message = isLasting(event) ? textOrNull(event["message"]) : null;
  return message ? { code: "message", text: message } : null;
}

/** Whether its words stand in the conversation for good: who made it, where it comes from. */
function isLasting(event: Event): boolean {
  return event["machine"] === "gone" || event["created_by"] !== undefined || event["imported"] === true;
}
