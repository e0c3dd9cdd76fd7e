// A session as it is shown, outside of React. Events are taken in the order of their ids, each
// once, wherever they come from: one that came too early waits until those before it were read.

import { parseEvent } from "./event.ts";
import { PAGE, readBack, type Entry, type Reader } from "./history.ts";
import type { Row, Turn, View } from "./model.ts";
import { Reducer } from "./reduce.ts";
import { statusOver } from "./status.ts";

export type Line = { id: number; line: string };

/** Who tells of new events: the stream of the browser. */
export type Follow = (sink: {
  position: () => number;
  onEvents: (events: Line[]) => void;
  onResync: () => void;
}) => () => void;

export type StoreView = View & {
  phase: "loading" | "ready" | "failed";
  error: unknown;
  /** Reading what is older; `end`: the log begins with what is shown. */
  older: "idle" | "loading" | "failed" | "end";
};

type Surroundings = {
  reader: Reader;
  follow: Follow;
  /** Calls back when it is time to show something. */
  schedule: (flush: () => void) => void;
  wait: (ms: number) => Promise<void>;
};

/** More that came too early is thrown away: it is read with what is missing. */
const EARLY_MAX = 5000;
const RETRY_MS = [500, 1000, 2000, 5000, 10_000] as const;

export class SessionStore {
  private readonly around: Surroundings;
  private reducer = new Reducer();
  private olderTurns: Turn[] = [];
  private olderRows: Row[] = [];
  private firstId: number | null = null;
  private lastId = 0;
  private early = new Map<number, string>();
  private isReading = false;
  private leave: (() => void) | null = null;
  private isClosed = false;
  private listeners = new Set<() => void>();
  private isScheduled = false;
  private phase: StoreView["phase"] = "loading";
  private older: StoreView["older"] = "idle";
  private error: unknown = null;
  private olderStatus = this.reducer.statusNow;
  private shown: StoreView;

  constructor(around: Surroundings) {
    this.around = around;
    this.shown = this.look();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly view = (): StoreView => this.shown;

  /** Reads the newest turns and follows the session from there. */
  readonly open = async (): Promise<void> => {
    this.phase = "loading";
    this.error = null;
    this.flushSoon();
    try {
      const { entries, isFirst } = await readBack(this.around.reader, null);
      if (this.isClosed) return;
      for (const entry of entries) this.apply(entry);
      this.firstId = entries[0]?.id ?? null;
      this.older = isFirst ? "end" : "idle";
      this.phase = "ready";
      this.leave = this.around.follow({
        position: () => this.lastId,
        onEvents: this.accept,
        onResync: () => void this.fill(),
      });
    } catch (error) {
      this.phase = "failed";
      this.error = error;
    }
    this.flush();
  };

  close(): void {
    this.isClosed = true;
    this.leave?.();
    this.listeners.clear();
  }

  readonly accept = (lines: Line[]): void => {
    for (const { id, line } of lines) {
      if (id <= this.lastId) continue;
      if (id === this.lastId + 1) this.applyLine(id, line);
      else if (this.early.size < EARLY_MAX) this.early.set(id, line);
    }
    this.takeEarly();
    if (this.early.size > 0) void this.fill();
    this.flushSoon();
  };

  readonly loadOlder = async (): Promise<void> => {
    if (this.phase !== "ready" || this.older === "loading" || this.older === "end") return;
    this.older = "loading";
    this.flushSoon();
    try {
      const { entries, isFirst } = await readBack(this.around.reader, this.firstId);
      const reducer = new Reducer(this.reducer.answers);
      for (const { id, event } of entries) reducer.apply(id, event);
      this.olderTurns = [...reducer.snapshot(), ...this.olderTurns];
      this.olderRows = this.olderTurns.flatMap((turn) => turn.rows);
      this.olderStatus = statusOver(reducer.statusNow, this.olderStatus);
      this.firstId = entries[0]?.id ?? this.firstId;
      this.older = isFirst ? "end" : "idle";
    } catch {
      this.older = "failed";
    }
    this.flush();
  };

  private applyLine(id: number, line: string): void {
    const event = parseEvent(line);
    if (event) this.apply({ id, event });
    else this.lastId = id;
  }

  private apply({ id, event }: Entry): void {
    if (id <= this.lastId) return;
    this.lastId = id;
    this.reducer.apply(id, event);
  }

  private takeEarly(): void {
    for (const id of [...this.early.keys()].sort((one, other) => one - other)) {
      if (id > this.lastId + 1) return;
      const line = this.early.get(id) as string;
      this.early.delete(id);
      if (id === this.lastId + 1) this.applyLine(id, line);
    }
  }

  /** Reads what is missing, until nothing waits; tries again for as long as anybody looks. */
  private async fill(): Promise<void> {
    if (this.isReading) return;
    this.isReading = true;
    let failures = 0;
    while (!this.isClosed) {
      try {
        const { entries, more, isLost } = await this.around.reader.after(this.lastId, PAGE);
        if (this.isClosed) break;
        failures = 0;
        if (isLost) {
          this.forget();
          void this.open();
          break;
        }
        for (const entry of entries) this.apply(entry);
        // What the log does not have is not missing.
        if (entries.length === 0 && this.early.size > 0) this.lastId = Math.min(...this.early.keys()) - 1;
        this.takeEarly();
        this.flushSoon();
        if ((!more || entries.length === 0) && this.early.size === 0) break;
      } catch {
        await this.around.wait(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] as number);
        failures += 1;
      }
    }
    this.isReading = false;
  }

  /** What is shown is not the beginning of this log: nothing of it stays. */
  private forget(): void {
    this.leave?.();
    this.leave = null;
    this.reducer = new Reducer();
    this.olderTurns = [];
    this.olderRows = [];
    this.olderStatus = this.reducer.statusNow;
    this.firstId = null;
    this.lastId = 0;
    this.early.clear();
  }

  private flushSoon(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.around.schedule(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    if (this.isClosed) return;
    this.shown = this.look();
    for (const listener of this.listeners) listener();
  }

  private look(): StoreView {
    const view = this.reducer.view();
    const { phase, error, older, lastId } = this;
    const turns = this.olderTurns.length ? [...this.olderTurns, ...view.turns] : view.turns;
    const rows = this.olderRows.length ? [...this.olderRows, ...view.rows] : view.rows;
    const status = statusOver(this.olderStatus, view.status);
    return { ...view, turns, rows, status, lastId, phase, error, older };
  }
}
