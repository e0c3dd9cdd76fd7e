// One turn: which events are its own, and what became of it. No I/O.
import { TurnFailed } from "./errors.ts";
import type { Logged, SessionEvent } from "./events.ts";

export type Answer = {
  text: string;
  turnId: string;
  isCancelled: boolean;
  /** What it took, where the machine said so. */
  usage: SessionEvent | null;
  lastEventId: number;
};

type Fields = Record<string, unknown>;

/** Give it the session's events in order. `ahead`: the turns that were open before it, the oldest
 * first; a machine that names no turn in its events ends them in this order. */
export class Turn {
  readonly id: string;
  private ahead: string[];
  private readonly others: Set<string>;
  private hasBegun = false;
  private readonly pieces: string[] = [];
  private usage: SessionEvent | null = null;
  private end: Logged | null = null;

  constructor(id: string, ahead: readonly string[] = []) {
    this.id = id;
    this.ahead = [...ahead];
    this.others = new Set(ahead);
  }

  get isOver(): boolean {
    return this.end !== null;
  }

  /** Whether it is one of its own. What comes before its message tells of others. */
  take(logged: Logged): boolean {
    const event = logged.event as SessionEvent & Fields;
    const name = textOrNull(event["turn_id"]);
    if (event.type === "user_message" && name !== null && !event["steers"]) {
      if (name === this.id) return (this.hasBegun = true);
      this.others.add(name);
      if (!this.hasBegun && !this.ahead.includes(name)) this.ahead.push(name);
      return false;
    }
    if (endsTurn(event)) return this.takeEnd(logged, name);
    if (!this.hasBegun || (name !== this.id && (name !== null || this.ahead.length > 0))) return false;
    if (event.type === "text_chunk") this.pieces.push(text(event["content"]));
    else if (event.type === "usage") this.usage = event;
    return true;
  }

  private takeEnd(end: Logged, name: string | null): boolean {
    if (name !== null && this.others.has(name)) {
      this.ahead = this.ahead.filter((one) => one !== name);
      return false;
    }
    if (name !== this.id && (this.ahead.length > 0 || !this.hasBegun)) {
      this.ahead.shift();
      return false;
    }
    this.end = end;
    return true;
  }

  /** After its end; throws TurnFailed. */
  answer(): Answer {
    if (this.end === null) throw new Error("the turn has not ended");
    const said = this.end.event as SessionEvent & Fields;
    if (said.type === "execution_error") {
      throw new TurnFailed(text(said["code"]) || "UNKNOWN", text(said["error"]) || "the turn failed", this.id);
    }
    return {
      text: text(said["content"]) || text(said["final_response"]) || this.pieces.join(""),
      turnId: this.id,
      isCancelled: said["cancelled"] === true,
      usage: this.usage,
      lastEventId: this.end.id ?? 0,
    };
  }
}

export function endsTurn(event: SessionEvent): boolean {
  return event.type === "execution_complete" || event.type === "execution_error";
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
