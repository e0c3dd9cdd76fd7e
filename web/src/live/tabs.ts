// The tabs of one browser share one stream: a tab that has the lock holds it, the others say what
// they follow and hear what it brings. Where tabs cannot share, each has a stream of its own.
import { Board, type Want } from "./board.ts";
import type { Desk } from "./desk.ts";
import { Stream, type Around, type Heard } from "./stream.ts";
import type { Line, LiveEvent, News } from "./types.ts";

type Said =
  /** All that a tab follows. `asks`: it wants to know how the line is. */
  | { kind: "wants"; tab: string; wants: Want[]; asks?: boolean }
  | { kind: "bye"; tab: string }
  | { kind: "nudge" }
  /** Of the tab that holds the stream. `isNew`: it has just begun to. */
  | { kind: "line"; line: Line; isNew?: boolean }
  | { kind: "events"; sessionId: string; events: LiveEvent[] }
  | { kind: "resync"; sessionId: string; upto: number }
  | { kind: "news"; news: News };

/** As much of a BroadcastChannel and of the Web Locks as is needed. */
export type Channel = {
  say: (said: unknown) => void;
  listen: (hear: (said: unknown) => void) => void;
};
export type Locks = {
  /** Calls when the lock is held, until what that returns is settled; rejects when it is taken away. */
  hold: (steal: boolean, held: () => Promise<void>) => Promise<void>;
};

const ROLL_CALL_MS = 60_000; // tabs that do not answer two of them are gone
const ANSWER_MS = 8_000; // for the one that holds the stream; then it is taken over

export type Told = {
  onLine: (line: Line) => void;
  onNews: (news: News) => void;
};

export class Tabs {
  private readonly id: string;
  private readonly around: Around;
  private readonly told: Told;
  private readonly channel: Channel | null;
  private readonly locks: Locks | null;
  private desk!: Desk;
  private board: Board | null = null;
  private stream: Stream | null = null;
  private line: Line = "connecting";
  private readonly answered = new Map<string, number>();
  private stopCalling: (() => void) | null = null;
  private stopExpecting: (() => void) | null = null;

  constructor(id: string, around: Around, told: Told, channel: Channel | null, locks: Locks | null) {
    this.id = id;
    this.around = around;
    this.told = told;
    this.channel = locks === null ? null : channel;
    this.locks = channel === null ? null : locks;
  }

  start(desk: Desk): void {
    this.desk = desk;
    this.channel?.listen((said) => this.hear(said as Said));
    if (this.locks === null) return this.lead();
    this.say({ kind: "wants", tab: this.id, wants: [], asks: true });
    void this.stand(false);
    this.expect();
  }

  /** What this tab follows is different. */
  changed(): void {
    const wants = this.desk.wants();
    if (this.board !== null) this.stream?.tell(this.board.take(this.id, wants));
    else this.say({ kind: "wants", tab: this.id, wants });
  }

  /** Somebody looks at this tab. */
  nudge(): void {
    if (this.stream !== null) return this.stream.nudge();
    this.say({ kind: "nudge" });
    this.say({ kind: "wants", tab: this.id, wants: this.desk.wants(), asks: true });
    this.expect();
  }

  /** The network came or went. */
  reset(): void {
    this.stream?.reset();
  }

  leave(): void {
    this.stopExpecting?.();
    this.stopCalling?.();
    if (this.board === null) this.say({ kind: "bye", tab: this.id });
    else this.stream?.stop();
  }

  private async stand(steal: boolean): Promise<void> {
    for (;;) {
      try {
        await this.locks?.hold(steal, () => new Promise(() => this.lead()));
      } catch {
        // Where locks are forbidden, each tab has its own stream.
        if (this.board === null) return this.lead();
        // Taken over by a tab that had no answer from this one.
        this.resign();
      }
      steal = false;
    }
  }

  private lead(): void {
    if (this.board !== null) return;
    this.stopExpecting?.();
    const heard: Heard = {
      onLine: (line) => {
        this.say({ kind: "line", line });
        this.lineIs(line);
      },
      onEvents: (sessionId, events) => {
        if (board.isWantedBeside(this.id, sessionId)) this.say({ kind: "events", sessionId, events });
        this.desk.events(sessionId, events);
      },
      onResync: (sessionId, upto) => {
        this.say({ kind: "resync", sessionId, upto });
        this.desk.resync(sessionId, upto);
      },
      onNews: (news) => {
        this.say({ kind: "news", news });
        this.told.onNews(news);
      },
    };
    const board = new Board();
    this.board = board;
    this.stream = new Stream(this.around, board, heard);
    board.take(this.id, this.desk.wants());
    this.say({ kind: "line", line: "connecting", isNew: true });
    this.stream.start();
    this.callRoll();
  }

  private resign(): void {
    this.stopCalling?.();
    this.stream?.stop();
    this.stream = null;
    this.board = null;
    this.say({ kind: "wants", tab: this.id, wants: this.desk.wants(), asks: true });
    this.expect();
  }

  private hear(said: Said): void {
    // Before it has begun, it will ask by itself.
    if (this.desk === undefined) return;
    if (this.board !== null && this.stream !== null) this.hearTab(this.board, this.stream, said);
    else this.hearLeader(said);
  }

  private hearTab(board: Board, stream: Stream, said: Said): void {
    switch (said.kind) {
      case "wants":
        this.answered.set(said.tab, this.around.now());
        stream.tell(board.take(said.tab, said.wants));
        if (said.asks) this.say({ kind: "line", line: this.line });
        return;
      case "bye":
        this.answered.delete(said.tab);
        stream.tell(board.gone(said.tab));
        return;
      case "nudge":
        stream.nudge();
    }
  }

  private hearLeader(said: Said): void {
    switch (said.kind) {
      case "line":
        this.stopExpecting?.();
        this.lineIs(said.line);
        if (said.isNew) this.say({ kind: "wants", tab: this.id, wants: this.desk.wants() });
        return;
      case "events":
        return this.desk.events(said.sessionId, said.events);
      case "resync":
        return this.desk.resync(said.sessionId, said.upto);
      case "news":
        this.told.onNews(said.news);
    }
  }

  private lineIs(line: Line): void {
    if (line === this.line) return;
    this.line = line;
    this.told.onLine(line);
  }

  /** Once a minute: who is still there. A tab that was closed without a word is forgotten. */
  private callRoll(): void {
    if (this.channel === null) return;
    this.stopCalling = this.around.after(ROLL_CALL_MS, () => {
      const now = this.around.now();
      for (const [tab, at] of this.answered) {
        if (now - at < 2.5 * ROLL_CALL_MS) continue;
        this.answered.delete(tab);
        if (this.board !== null) this.stream?.tell(this.board.gone(tab));
      }
      this.say({ kind: "line", line: this.line, isNew: true });
      this.callRoll();
    });
  }

  /** The tab that holds the stream may be frozen: then it is taken from it. */
  private expect(): void {
    this.stopExpecting?.();
    this.stopExpecting = this.around.after(ANSWER_MS, () => {
      if (this.board === null) void this.stand(true);
    });
  }

  private say(said: Said): void {
    this.channel?.say(said);
  }
}
