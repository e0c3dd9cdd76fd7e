// A stream of server-sent events that is opened again whenever it breaks. What its frames mean, and
// where it goes on, is for its reader to say.
import type { Around } from "./around.ts";
import { delayMs, silenceMs } from "./backoff.ts";
import { StreamBroken } from "./errors.ts";
import { FrameReader, type Frame } from "./sse.ts";

export type Asked = { address: string; headers?: Record<string, string> };

export type LineOptions = {
  around: Around;
  /** What to ask for; called before each attempt. */
  ask: () => Asked;
  /** The server answers, but with no stream. Throws to end the stream; `wait`: until a nudge. */
  onRefusal?: (answer: Response) => Promise<"again" | "wait">;
  /** It broke, and is opened again; `wasLive`: after it had begun. */
  onBreak?: (wasLive: boolean, isWaiting: boolean) => void;
  /** In a row, without a stream that has begun. */
  attemptsMax?: number;
};

const STALE_GRACE_MS = 5_000;
const HEARTBEAT_S = 15;

/** `for await (const frames of line)`: what came, piece by piece; nothing in it is a heartbeat. */
export class Line {
  private readonly options: LineOptions;
  private cutting: AbortController | null = null;
  private goOn: (() => void) | null = null;
  private stopWatching: (() => void) | null = null;
  private failures = 0;
  private askedMs = 0;
  private heartbeatS = HEARTBEAT_S;
  private heardAt = 0;
  private isStopped = false;
  private hasBegun = false;
  /** Waits for what comes next, and not for its reader. */
  private isReading = true;

  constructor(options: LineOptions) {
    this.options = options;
  }

  /** The reader has seen that the stream is what it wants. */
  begun(heartbeatS = HEARTBEAT_S): void {
    this.hasBegun = true;
    this.failures = 0;
    this.heartbeatS = heartbeatS;
  }

  stop(): void {
    this.isStopped = true;
    this.goOn?.();
    this.stopWatching?.();
    this.cutting?.abort();
  }

  /** This connection is of no use: another one. */
  cut(): void {
    this.cutting?.abort();
  }

  /** Somebody looks, or the network is back: no more waiting, and no trust in a connection that has
   * been silent for longer than it should, as after a phone's sleep. */
  nudge(): void {
    if (this.goOn !== null) this.goOn();
    else if (this.hasBegun && this.silentMs() > this.heartbeatS * 1_000 + STALE_GRACE_MS) this.cut();
  }

  /** The network went or came: what was open is not trusted. */
  reset(): void {
    this.failures = 0;
    if (this.goOn !== null) this.goOn();
    else this.cut();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame[], void, void> {
    const { around, attemptsMax = Infinity } = this.options;
    while (!this.isStopped) {
      let refusal: Response | null = null;
      let problem: unknown = "the server ended it";
      const cutting = new AbortController();
      this.cutting = cutting;
      this.hasBegun = false;
      this.watch();
      try {
        const { address, headers } = this.options.ask();
        const answer = await around.fetch(address, {
          headers: { Accept: "text/event-stream", ...headers },
          cache: "no-store",
          redirect: "error",
          signal: cutting.signal,
        });
        if (answer.ok && answer.body !== null) yield* this.read(answer.body);
        else refusal = answer;
      } catch (error) {
        if (error instanceof StreamBroken) throw error;
        problem = error; // it broke, was cut, or nobody is there: it is opened again
      } finally {
        if (refusal === null) cutting.abort();
        this.stopWatching?.();
      }
      if (this.isStopped) return;
      const next = refusal === null ? "again" : await this.refused(refusal);
      cutting.abort();
      const wasLive = this.hasBegun;
      this.hasBegun = false;
      this.options.onBreak?.(wasLive, next === "wait");
      this.failures = wasLive ? 0 : this.failures + 1;
      if (this.failures > attemptsMax) {
        throw new StreamBroken(`the stream broke, and ${this.failures} attempts failed`, { cause: problem });
      }
      const waitMs = delayMs(this.failures, around.random(), this.askedMs);
      this.askedMs = 0;
      await this.pause(next === "wait" ? null : waitMs);
    }
  }

  private async refused(answer: Response): Promise<"again" | "wait"> {
    return (await this.options.onRefusal?.(answer)) ?? "again";
  }

  /** For as long, or until a nudge. */
  private pause(ms: number | null): Promise<void> {
    if (this.isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = ms === null ? () => undefined : this.options.around.after(ms, () => this.goOn?.());
      this.goOn = () => {
        this.goOn = null;
        stop();
        resolve();
      };
    });
  }

  private async *read(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame[], void, void> {
    let frames: Frame[] = [];
    const parser = new FrameReader(
      (frame) => frames.push(frame),
      (ms) => (this.askedMs = ms),
    );
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      this.isReading = true;
      const { done, value } = await reader.read();
      this.isReading = false;
      if (done) return;
      this.heardAt = this.options.around.now();
      parser.feed(decoder.decode(value, { stream: true }));
      const some = frames;
      frames = [];
      yield some;
    }
  }

  private silentMs(): number {
    return this.options.around.now() - this.heardAt;
  }

  /** Cuts a connection on which not even a heartbeat comes. */
  private watch(): void {
    const { around } = this.options;
    this.heardAt = around.now();
    this.isReading = true;
    const look = () => {
      if (!this.isReading) this.heardAt = around.now(); // its reader is slow, not the line
      const leftMs = silenceMs(this.heartbeatS) - this.silentMs();
      if (leftMs <= 0) this.cut();
      else this.stopWatching = around.after(leftMs, look);
    };
    this.stopWatching?.();
    this.stopWatching = around.after(silenceMs(this.heartbeatS), look);
  }
}
