// What this tab follows, and who is to be told here. Knows nothing of other tabs or of the stream.
import type { Want } from "./board.ts";
import { Gate } from "./gate.ts";
import type { LiveEvent, Sink } from "./types.ts";

type Follower = { sink: Sink; gate: Gate; stopWaiting: (() => void) | null };
type Followed = { followers: Set<Follower>; turn: number };

/** For a replay of what is missing. */
const REPLAY_MS = 3_000;

export class Desk {
  private readonly followed = new Map<string, Followed>();
  private turns = 0;
  private readonly onChange: () => void;
  private readonly after: (ms: number, call: () => void) => () => void;

  constructor(onChange: () => void, after: (ms: number, call: () => void) => () => void) {
    this.onChange = onChange;
    this.after = after;
  }

  follow(sessionId: string, sink: Sink): () => void {
    const follower: Follower = { sink, gate: new Gate(sink.position()), stopWaiting: null };
    let followed = this.followed.get(sessionId);
    if (followed === undefined) {
      followed = { followers: new Set(), turn: 0 };
      this.followed.set(sessionId, followed);
    }
    followed.followers.add(follower);
    followed.turn = ++this.turns;
    this.onChange();
    return () => this.leave(sessionId, follower);
  }

  /** For whoever holds the stream. A turn that changes says that somebody has begun anew. */
  wants(): Want[] {
    return [...this.followed].map(([sessionId, { followers, turn }]) => ({
      sessionId,
      turn,
      position: Math.min(...[...followers].map(positionOf)),
    }));
  }

  events(sessionId: string, events: readonly LiveEvent[]): void {
    for (const follower of this.followed.get(sessionId)?.followers ?? []) {
      const passed = follower.gate.take(events);
      if (passed.length > 0) follower.sink.onEvents(passed);
      if (!follower.gate.isWaiting) stopWaiting(follower);
      else if (follower.gate.isFull) giveUp(follower);
      else follower.stopWaiting ??= this.after(REPLAY_MS, () => giveUp(follower));
    }
  }

  /** What came before and up to that event is replayed to nobody. */
  resync(sessionId: string, upto: number): void {
    for (const follower of this.followed.get(sessionId)?.followers ?? []) {
      if (positionOf(follower) !== upto) giveUp(follower);
    }
  }

  private leave(sessionId: string, follower: Follower): void {
    const followed = this.followed.get(sessionId);
    stopWaiting(follower);
    if (followed === undefined || !followed.followers.delete(follower)) return;
    if (followed.followers.size === 0) {
      this.followed.delete(sessionId);
      this.onChange();
    }
  }
}

function giveUp(follower: Follower): void {
  stopWaiting(follower);
  const late = follower.gate.release();
  if (late.length > 0) follower.sink.onEvents(late);
  follower.sink.onResync();
}

function stopWaiting(follower: Follower): void {
  follower.stopWaiting?.();
  follower.stopWaiting = null;
}

function positionOf({ sink, gate }: Follower): number {
  return Math.max(gate.position, sink.position());
}
