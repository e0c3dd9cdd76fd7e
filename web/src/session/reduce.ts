// Events of a log, in their order, to what is shown of them. No event is kept.

import {
  isObject, isOpening, number, objects, text, textOrNull, turnOf, type Event, type Fields,
} from "./event.ts";
import type { Base, Item } from "./flow.ts";
import type { Person, PlanRow, QuestionRow, Resolution, Status, TaskState, Turn, UserRow, View } from "./model.ts";
import { noticeOf, statusAfter, UNKNOWN } from "./status.ts";
import { TurnBuilder, usageOf } from "./turn.ts";

type Steer = { turn: TurnBuilder; item: Item<UserRow> };

export class Reducer {
  lastId = 0;
  private turns: TurnBuilder[] = [];
  private byId = new Map<string, TurnBuilder>();
  private questions = new Map<string, { turn: TurnBuilder; item: Item<QuestionRow> }>();
  /** Answers, also to questions that were asked before what this one has read. */
  private readonly resolutions: Map<string, Resolution>;
  private steers = new Map<string, Steer>();
  private plan: Item<PlanRow> | null = null;
  private status: Status = UNKNOWN;

  constructor(resolutions = new Map<string, Resolution>()) {
    this.resolutions = resolutions;
  }

  apply(id: number, event: Event): void {
    this.lastId = id;
    if (event.type === "foreign") return;
    if (event.type === "user_message") return this.userMessage(id, event);
    if (event.type === "steer_missed") return this.steerMissed(id, event);
    if (event.type === "session_status" || event.type === "session_closed") {
      this.status = statusAfter(this.status, event);
    } else if (this.status.isHeld || this.status.note !== null) {
      this.status = { ...this.status, isHeld: false, note: null };
    }
    const turn = this.turnFor(id, event);
    if (isObject(event["person"])) this.ofPerson(id, event, turn);
    else this.ofTurn(id, event, turn);
  }

  view(): View {
    const turns = this.turns.map((turn) => turn.snapshot());
    const open = [...this.questions.values()].map(({ item }) => item.row);
    return {
      turns,
      rows: turns.flatMap((turn) => turn.rows),
      running: turns.filter((turn) => turn.state === "running" && turn.id).map((turn) => turn.id as string),
      questions: open,
      plan: this.plan?.row ?? null,
      status: this.status,
      lastId: this.lastId,
    };
  }

  snapshot(): Turn[] {
    return this.turns.map((turn) => turn.snapshot());
  }

  /** For what is older: those answers whose questions were not here. */
  get answers(): Map<string, Resolution> {
    return this.resolutions;
  }

  get statusNow(): Status {
    return this.status;
  }

  private userMessage(id: number, event: Event): void {
    const turnId = turnOf(event);
    const row: UserRow = {
      ...baseOf(id, event),
      kind: "user",
      content: text(event["content"]),
      attachments: objects(event["attachments"]).map((one) => ({
        name: text(one["name"]),
        mime: text(one["mime"]),
      })),
      userId: textOrNull(event["user_id"]),
      messageId: textOrNull(event["message_id"]) ?? turnId,
      steer: null,
      isImported: event["imported"] === true,
    };
    if (isOpening(event)) {
      const turn = this.open(id, event, turnId);
      turn.main.add(row);
      return;
    }
    const turn = this.turnFor(id, event);
    turn.main.interrupt();
    const item = turn.main.add({ ...row, steer: "waiting" as const });
    const messageId = textOrNull(event["message_id"]);
    if (messageId) this.steers.set(messageId, { turn, item });
  }

  private steerMissed(id: number, event: Event): void {
    const messageId = text(event["message_id"]);
    const steer = this.steers.get(messageId);
    const turn = this.open(id, event, turnOf(event) ?? messageId);
    if (!steer) return;
    this.steers.delete(messageId);
    steer.turn.main.remove(steer.item);
    turn.main.add({ ...steer.item.row, turnId: turn.id, steer: null });
  }

  private open(id: number, event: Event, turnId: string | null): TurnBuilder {
    const known = turnId ? this.byId.get(turnId) : undefined;
    if (known) return known;
    const turn = new TurnBuilder(String(id), turnId, number(event["ts"]));
    // What is said to a group that runs itself has no end of its own.
    if (turnId === null) turn.settle("completed");
    else this.byId.set(turnId, turn);
    this.turns.push(turn);
    return turn;
  }

  private turnFor(id: number, event: Event): TurnBuilder {
    const turnId = turnOf(event);
    const known = turnId ? this.byId.get(turnId) : this.turns.at(-1);
    if (known) return known;
    if (turnId) return this.open(id, event, turnId);
    const turn = new TurnBuilder(String(id), null, number(event["ts"]));
    turn.settle("completed");
    this.turns.push(turn);
    return turn;
  }

  private ofTurn(id: number, event: Event, turn: TurnBuilder): void {
    const base = baseOf(id, event);
    switch (event.type) {
      case "approval_request":
        return this.asked(base, event, turn);
      case "approval_resolved":
        return this.resolved(event);
      case "steer_taken": {
        const messageId = text(event["message_id"]);
        this.steers.get(messageId)?.item.set({ steer: "taken" });
        this.steers.delete(messageId);
        return;
      }
      case "plan":
        this.planned(base, event, turn);
        return;
      case "execution_complete":
      case "execution_error":
        turn.end(base, event);
        this.settleQuestions(turn);
        this.dropSteers(turn);
        return;
      case "session_status":
      case "session_closed":
      case "context_compacted": {
        const notice = noticeOf(event);
        if (notice) turn.flowOf(event).add({ ...base, kind: "notice", ...notice, event });
        if (event["lost_events"]) {
          for (const one of this.turns) one.isLost ||= one.state === "running";
        }
        return;
      }
      default:
        turn.take(base, event);
    }
  }

  private ofPerson(id: number, event: Event, turn: TurnBuilder): void {
    const base = baseOf(id, event);
    const speech = turn.speechOf(base, event);
    switch (event.type) {
      case "person_start":
        return;
      case "person_complete":
      case "person_error": {
        if (!speech.isSpeaking) return;
        const isError = event.type === "person_error";
        turn.stopCalls(speech.person, base.ts);
        speech.flow.close(base, text(event["content"]), turn.isLost);
        const state = isError ? "failed" : event["cancelled"] === true ? "cancelled" : "completed";
        speech.set({ state, error: isError ? text(event["error"]) : null });
        return;
      }
      case "usage":
        speech.set({ usage: usageOf(event) });
        turn.addUsage(usageOf(event));
        return;
      default:
        this.ofTurn(id, event, turn);
    }
  }

  private asked(base: Base, event: Event, turn: TurnBuilder): void {
    const requestId = textOrNull(event["request_id"]) ?? textOrNull(event["approval_id"]);
    if (!requestId) return;
    const known = this.questions.get(requestId);
    // After a restart the machine asks again: the same question, where it stood.
    if (known) return known.item.set({ event: withoutRaw(event) });
    if (turn.hasAsked(requestId)) return;
    const flow = turn.flowOf(event);
    flow.interrupt();
    const resolution = this.resolutions.get(requestId) ?? null;
    const item = flow.add<QuestionRow>({
      ...base,
      kind: "question",
      requestId,
      event: withoutRaw(event),
      resolution,
    });
    turn.asks(requestId);
    if (!resolution && turn.state === "running") this.questions.set(requestId, { turn, item });
    else if (!resolution) item.set({ resolution: { ...DENIED, reason: "turn_ended" } });
  }

  private resolved(event: Event): void {
    const requestId = textOrNull(event["request_id"]) ?? textOrNull(event["approval_id"]);
    if (!requestId || this.resolutions.has(requestId)) return;
    const resolution: Resolution = {
      confirmed: event["confirmed"] === true,
      answer: event["answer"] ?? null,
      answeredBy: textOrNull(event["answered_by"]),
      scope: textOrNull(event["scope"]),
      reason: textOrNull(event["reason"]),
    };
    this.resolutions.set(requestId, resolution);
    this.questions.get(requestId)?.item.set({ resolution });
    this.questions.delete(requestId);
  }

  /** The end of a turn denies what nobody answered in it. */
  private settleQuestions(turn: TurnBuilder): void {
    for (const [requestId, question] of this.questions) {
      if (question.turn !== turn && question.item.row.turnId !== null) continue;
      const resolution = { ...DENIED, reason: "turn_ended" };
      this.resolutions.set(requestId, resolution);
      question.item.set({ resolution });
      this.questions.delete(requestId);
    }
  }

  /** One that opens a turn of its own all the same is told by `steer_missed`. */
  private dropSteers(turn: TurnBuilder): void {
    if (turn.state === "completed") return;
    for (const steer of this.steers.values()) if (steer.turn === turn) steer.item.set({ steer: "dropped" });
  }

  /** The agent has taken it back. */
  private withdrawPlan(): void {
    this.plan?.set({ tasks: [] });
    this.plan = null;
  }

  private planned(base: Base, event: Event, turn: TurnBuilder): void {
    const plan = isObject(event["plan"]) ? event["plan"] : event;
    const tasks = objects(plan["tasks"] ?? plan["steps"]).map((task) => ({
      title: text(task["title"] ?? task["content"]),
      status: taskState(task["status"]),
    }));
    if (tasks.length === 0) {
      if (Array.isArray(plan["tasks"])) this.withdrawPlan();
      return;
    }
    this.plan = turn.planned({ ...base, kind: "plan", tasks }, event);
  }
}

const DENIED: Resolution = { confirmed: false, answer: null, answeredBy: null, scope: null, reason: null };

function taskState(value: unknown): TaskState {
  return value === "in_progress" || value === "completed" ? value : "pending";
}

function withoutRaw(event: Event): Fields {
  const { raw: _, ...rest } = event;
  return rest;
}

function baseOf(id: number, event: Event): Base {
  return {
    key: String(id),
    eventId: id,
    turnId: turnOf(event),
    ts: number(event["ts"]),
    person: personOf(event["person"]),
  };
}

function personOf(value: unknown): Person | null {
  if (!isObject(value)) return null;
  const id = text(value["id"]);
  return { id, name: text(value["name"]) || id };
}

