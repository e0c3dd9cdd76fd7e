// What one follower is handed of a session: each event once and in order, however often the stream
// repeats itself after a break or for another tab. What comes too early waits for a replay.
import type { LiveEvent } from "./types.ts";

/** More that came too early does not wait: the follower reads what is missing itself. */
const EARLY_MAX = 2_000;

export class Gate {
  /** The newest id that was handed over, or was there before. */
  private last: number;
  private readonly early = new Map<number, LiveEvent>();

  constructor(position: number) {
    this.last = position;
  }

  get position(): number {
    return this.last;
  }

  /** Something came too early, and what is missing may be on its way. */
  get isWaiting(): boolean {
    return this.early.size > 0;
  }

  get isFull(): boolean {
    return this.early.size > EARLY_MAX;
  }

  /** Those that follow what was handed over before, without a gap. */
  take(events: readonly LiveEvent[]): LiveEvent[] {
    const passed: LiveEvent[] = [];
    for (const event of events) {
      if (event.id > this.last + 1) this.early.set(event.id, event);
      else if (event.id === this.last + 1) this.pass(event, passed);
    }
    return passed;
  }

  /** What is missing does not come: those that came too early, in order, behind a gap. */
  release(): LiveEvent[] {
    const passed = [...this.early.values()].sort((one, other) => one.id - other.id);
    this.early.clear();
    this.last = passed.at(-1)?.id ?? this.last;
    return passed;
  }

  private pass(event: LiveEvent, passed: LiveEvent[]): void {
    let next: LiveEvent | undefined = event;
    while (next !== undefined) {
      passed.push(next);
      this.last = next.id;
      this.early.delete(next.id);
      next = this.early.get(this.last + 1);
    }
    if (this.early.size > 0) {
      for (const id of this.early.keys()) if (id <= this.last) this.early.delete(id);
    }
  }
}
