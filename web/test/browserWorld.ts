// A server and the tabs of one browser, in memory: what tests of the live line look at.
import { Desk } from "../src/live/desk.ts";
import type { Around } from "../src/live/stream.ts";
import { Tabs, type Channel, type Locks } from "../src/live/tabs.ts";
import type { Line, LiveEvent, News } from "../src/live/types.ts";

/** Lets everything run that does not wait for the clock. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve));
}

type Open = {
  id: string;
  follows: Set<string>;
  write: (text: string) => void;
  end: () => void;
};

/** Serves streams as the control plane does, and counts them. */
export class World {
  readonly logs = new Map<string, string[]>();
  readonly streams: Open[] = [];
  asked: string[] = [];
  isUp = true;
  status = 200;
  now = 0;
  private timers: { at: number; call: () => void }[] = [];
  private opened = 0;

  readonly around: Around = {
    fetch: (path, init) => this.fetch(path, init),
    now: () => this.now,
    random: () => 0.5,
    after: (ms, call) => {
      const timer = { at: this.now + ms, call };
      this.timers.push(timer);
      return () => (this.timers = this.timers.filter((one) => one !== timer));
    },
  };

  /** Time passes; what falls due is done. */
  async pass(ms: number): Promise<void> {
    await settle();
    const end = this.now + ms;
    for (;;) {
      const due = this.timers.filter((one) => one.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.timers = this.timers.filter((one) => one !== due);
      this.now = Math.max(this.now, due.at);
      due.call();
      await settle();
    }
    this.now = end;
    await settle();
  }

  /** An event of a session, for whoever follows it. */
  say(sessionId: string, count = 1): void {
    const log = this.logs.get(sessionId) ?? [];
    this.logs.set(sessionId, log);
    for (let nth = 0; nth < count; nth++) {
      log.push(`${sessionId}${log.length + 1}`);
      for (const one of this.streams) {
        if (one.follows.has(sessionId)) one.write(frame(sessionId, log.length, log.at(-1) as string));
      }
    }
  }

  beat(): void {
    for (const one of this.streams) one.write(": heartbeat\n\n");
  }

  private async fetch(path: string, init: RequestInit): Promise<Response> {
    this.asked.push(path);
    if (!this.isUp) throw new TypeError("nobody there");
    if (this.status !== 200) return new Response("{}", { status: this.status });
    const url = new URL(path, "http://x");
    if (init.method === "POST") return this.change(url.pathname, JSON.parse(init.body as string));
    return this.open(url.searchParams.getAll("follow"), init.signal as AbortSignal);
  }

  private change(path: string, body: { session_id: string; after: number }): Response {
    const [, , , , id, what] = path.split("/");
    const stream = this.streams.find((one) => one.id === id);
    if (stream === undefined) return Response.json({ error: { code: "STREAM_NOT_FOUND" } }, { status: 404 });
    if (what === "leave") stream.follows.delete(body.session_id);
    else if (this.logs.has(body.session_id)) this.replay(stream, body.session_id, body.after);
    else return Response.json({ error: { code: "SESSION_NOT_FOUND" } }, { status: 404 });
    return new Response(null, { status: 204 });
  }

  private open(follow: string[], signal: AbortSignal): Response {
    const encoder = new TextEncoder();
    let stream: Open | null = null;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const close = (how: () => void) => {
          if (stream === null || !this.streams.includes(stream)) return;
          this.streams.splice(this.streams.indexOf(stream), 1);
          how();
        };
        stream = {
          id: `stream${++this.opened}`,
          follows: new Set(),
          write: (text) => controller.enqueue(encoder.encode(text)),
          end: () => close(() => controller.close()),
        };
        this.streams.push(stream);
        signal.addEventListener("abort", () => close(() => controller.error(new Error("cut"))));
        stream.write(`event: hello\ndata: {"stream_id":"${stream.id}","heartbeat_s":15}\n\n`);
        for (const one of follow) {
          const [sessionId, position] = one.split(":") as [string, string];
          if (this.logs.has(sessionId)) this.replay(stream, sessionId, Number(position));
          else stream.write(`event: gone\ndata: {"kind":"session","id":"${sessionId}"}\n\n`);
        }
      },
    });
    return new Response(body);
  }

  private replay(stream: Open, sessionId: string, after: number): void {
    stream.follows.add(sessionId);
    const log = this.logs.get(sessionId) as string[];
    log.slice(after).forEach((text, at) => stream.write(frame(sessionId, after + at + 1, text)));
  }
}

function frame(sessionId: string, id: number, text: string): string {
  return `id: ${sessionId}:${id}\ndata: ${text}\n\n`;
}

/** The locks and the channel of one browser. */
export class Browser {
  readonly world: World;
  readonly tabs: Tab[] = [];
  private queue: { tab: Tab; begin: () => void; lose: (error: Error) => void }[] = [];
  private holder: { tab: Tab; lose: (error: Error) => void } | null = null;

  constructor(world: World) {
    this.world = world;
  }

  open(): Tab {
    const tab = new Tab(this, `tab${this.tabs.length}`);
    this.tabs.push(tab);
    tab.start();
    return tab;
  }

  channelOf(tab: Tab): Channel {
    return {
      say: (said) => {
        if (tab.isFrozen || tab.isClosed) return;
        const copy = structuredClone(said);
        for (const other of this.tabs) if (other !== tab) queueMicrotask(() => other.hear(copy));
      },
      listen: (hear) => (tab.hearing = hear),
    };
  }

  locksOf(tab: Tab): Locks {
    return {
      hold: (steal, held) =>
        new Promise((_, lose) => {
          const begin = () => {
            this.holder = { tab, lose };
            void held();
          };
          if (steal) {
            this.holder?.lose(new Error("stolen"));
            begin();
          } else if (this.holder === null) begin();
          else this.queue.push({ tab, begin, lose });
        }),
    };
  }

  release(tab: Tab): void {
    this.queue = this.queue.filter((one) => one.tab !== tab);
    if (this.holder?.tab !== tab) return;
    this.holder = null;
    this.queue.shift()?.begin();
  }
}

export class Tab {
  hearing: (said: unknown) => void = () => undefined;
  isFrozen = false;
  isClosed = false;
  line: Line = "connecting";
  news: News[] = [];
  readonly desk: Desk;
  readonly tabs: Tabs;
  private readonly browser: Browser;

  constructor(browser: Browser, id: string) {
    this.browser = browser;
    const told = { onLine: (line: Line) => (this.line = line), onNews: (one: News) => this.news.push(one) };
    const { around } = browser.world;
    this.tabs = new Tabs(id, around, told, browser.channelOf(this), browser.locksOf(this));
    this.desk = new Desk(() => this.tabs.changed(), around.after);
  }

  start(): void {
    this.tabs.start(this.desk);
  }

  hear(said: unknown): void {
    if (!this.isFrozen && !this.isClosed) this.hearing(said);
  }

  /** Follows a session from a position on; what it gets is in `ids`. */
  follow(sessionId: string, position = 0): { ids: number[]; resyncs: number; leave: () => void } {
    const seen = { ids: [] as number[], resyncs: 0, leave: () => undefined as void };
    seen.leave = this.desk.follow(sessionId, {
      position: () => seen.ids.at(-1) ?? position,
      onEvents: (events: LiveEvent[]) => seen.ids.push(...events.map((event) => event.id)),
      onResync: () => (seen.resyncs += 1),
    });
    return seen;
  }

  close(): void {
    this.tabs.leave();
    this.isClosed = true;
    this.browser.release(this);
  }
}
