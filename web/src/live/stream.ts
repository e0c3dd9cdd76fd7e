// The one stream of a browser: what it follows, and what it brings. The package's line keeps it open.
import { Line as Connection, readAccountFrame, type Around, type Frame } from "@trunkline/client";
import type { Board, Step } from "./board.ts";
import type { Line, LiveEvent, News } from "./types.ts";

export type { Around } from "@trunkline/client";

export type Heard = {
  onLine: (line: Line) => void;
  onEvents: (sessionId: string, events: LiveEvent[]) => void;
  onResync: (sessionId: string, upto: number) => void;
  onNews: (news: News) => void;
};

const PATH = "/api/v1/stream";

export class Stream {
  private readonly around: Around;
  private readonly board: Board;
  private readonly heard: Heard;
  private readonly line: Connection;
  private streamId: string | null = null;
  /** What it was asked to follow when it was opened. */
  private begunWith: ReadonlyMap<string, number> = new Map();
  /** Changes of what is followed are told one after the other. */
  private telling: Promise<void> = Promise.resolve();

  constructor(around: Around, board: Board, heard: Heard) {
    this.around = around;
    this.board = board;
    this.heard = heard;
    this.line = new Connection({
      around,
      ask: () => ({ address: this.address() }),
      // A login that has ended does not come back by asking: somebody has to be there.
      onRefusal: async (answer) => (answer.status === 401 ? "wait" : "again"),
      onBreak: (wasLive, isWaiting) => {
        this.streamId = null;
        this.heard.onLine(isWaiting ? "stranger" : wasLive ? "connecting" : "offline");
      },
    });
  }

  start(): void {
    this.heard.onLine("connecting");
    void this.run();
  }

  stop(): void {
    this.line.stop();
    this.streamId = null;
  }

  nudge(): void {
    this.line.nudge();
  }

  reset(): void {
    this.line.reset();
  }

  tell(steps: readonly Step[]): void {
    if (this.streamId === null) return; // the next stream begins with all of it
    for (const step of steps) {
      const streamId = this.streamId;
      this.telling = this.telling.then(() => this.tellOne(streamId, step));
    }
  }

  private async tellOne(streamId: string, step: Step): Promise<void> {
    if (this.streamId !== streamId) return;
    const after = step.do === "follow" ? { after: step.after } : {};
    try {
      const answer = await this.around.fetch(`/api/v1/streams/${streamId}/${step.do}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ session_id: step.sessionId, ...after }),
      });
      if (answer.ok) return;
      const said = (await answer.json()) as { error?: { code?: string } };
      if (said.error?.code === "SESSION_NOT_FOUND") return this.board.refuse(step.sessionId);
    } catch {
      // Without an answer, or with one that is none, it is not known what the stream follows.
    }
    if (this.streamId === streamId) this.line.cut();
  }

  private async run(): Promise<void> {
    try {
      for await (const frames of this.line) this.takeOrCut(frames);
    } catch (error) {
      console.error("the stream cannot be read", error);
      this.heard.onLine("offline");
    }
  }

  /** What the page cannot take may be read better from the beginning. */
  private takeOrCut(frames: readonly Frame[]): void {
    try {
      this.take(frames);
    } catch (error) {
      console.error("what the stream brought cannot be shown", error);
      this.line.cut();
    }
  }

  private address(): string {
    this.begunWith = new Map(this.board.positions);
    const query = [...this.begunWith].map(([one, at]) => `follow=${encodeURIComponent(one)}:${at}`);
    return query.length > 0 ? `${PATH}?${query.join("&")}` : PATH;
  }

  private take(frames: readonly Frame[]): void {
    let events = new Map<string, LiveEvent[]>();
    const flush = () => {
      const some = events;
      events = new Map();
      for (const [sessionId, list] of some) this.heard.onEvents(sessionId, list);
    };
    for (const frame of frames) {
      const taken = readAccountFrame(frame);
      if (taken === null) continue;
      if (taken.kind === "event") {
        this.board.heard(taken.sessionId, taken.event.id);
        const list = events.get(taken.sessionId);
        if (list === undefined) events.set(taken.sessionId, [taken.event]);
        else list.push(taken.event);
        continue;
      }
      flush(); // in the order in which it came
      if (taken.kind === "hello") this.opened(taken.streamId, taken.heartbeatS);
      else if (taken.kind === "resync") this.resync(taken.sessionId, taken.upto);
      else this.news(taken.news);
    }
    flush();
  }

  private opened(streamId: string, heartbeatS: number): void {
    this.streamId = streamId;
    this.line.begun(heartbeatS);
    this.tell(stepsBetween(this.begunWith, this.board.positions));
    this.heard.onLine("live");
    this.heard.onNews({ kind: "connected" });
  }

  private resync(sessionId: string, upto: number): void {
    this.board.skipped(sessionId, upto);
    this.heard.onResync(sessionId, upto);
  }

  private news(news: News): void {
    if (news.kind === "gone" && news.what === "session") this.board.refuse(news.id);
    this.heard.onNews(news);
  }
}

/** What changed while the stream was being opened. */
function stepsBetween(begun: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): Step[] {
  const left = [...begun.keys()].filter((one) => !now.has(one));
  const leave = left.map((sessionId): Step => ({ do: "leave", sessionId }));
  const behind = [...now].filter(([one, at]) => at < (begun.get(one) ?? Infinity));
  return [...leave, ...behind.map(([sessionId, after]): Step => ({ do: "follow", sessionId, after }))];
}
