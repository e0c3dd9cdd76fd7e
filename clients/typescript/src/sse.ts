// Reads server-sent events as the standard has them, whatever the pieces are in which they come.

import { StreamBroken } from "./errors.ts";

/** Of one event: twice of what the server takes from a machine at once. */
const CHARS_MAX = 20 * 1024 * 1024;

export type Frame = { event: string; id: string; data: string };

/** Takes text as it comes and hands over frames that are whole. */
export class FrameReader {
  private readonly onFrame: (frame: Frame) => void;
  private readonly onRetry: (ms: number) => void;
  private readonly charsMax: number;
  private rest = "";
  private held = 0;
  private isFirst = true;
  /** The last character was a CR: an LF that follows belongs to it. */
  private isAfterCr = false;
  private event = "";
  private data: string[] = [];
  private id = "";

  constructor(
    onFrame: (frame: Frame) => void,
    onRetry: (ms: number) => void = () => undefined,
    charsMax = CHARS_MAX,
  ) {
    this.onFrame = onFrame;
    this.onRetry = onRetry;
    this.charsMax = charsMax;
  }

  feed(text: string): void {
    if (text === "") return;
    if (this.isFirst) {
      this.isFirst = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (this.isAfterCr && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this.isAfterCr = text.endsWith("\r");
    let start = 0;
    for (;;) {
      const end = lineEnd(text, start);
      if (end < 0) break;
      const line = this.rest + text.slice(start, end);
      this.rest = "";
      start = text.charCodeAt(end) === 13 && text.charCodeAt(end + 1) === 10 ? end + 2 : end + 1;
      this.line(line);
    }
    this.rest += text.slice(start);
    if (this.held + this.rest.length > this.charsMax) {
      throw new StreamBroken(`an event of the stream has more than ${this.charsMax} characters`);
    }
  }

  private line(line: string): void {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const at = line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1;
    const value = colon < 0 ? "" : line.slice(at);
    this.held += line.length;
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id" && !value.includes("\0")) this.id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) this.onRetry(Number(value));
  }

  private dispatch(): void {
    const { data, event, id } = this;
    this.data = [];
    this.event = "";
    this.id = "";
    this.held = 0;
    if (data.length > 0) this.onFrame({ event: event || "message", id, data: data.join("\n") });
  }
}

function lineEnd(text: string, from: number): number {
  const lf = text.indexOf("\n", from);
  const cr = text.indexOf("\r", from);
  if (lf < 0 || cr < 0) return Math.max(lf, cr);
  return Math.min(lf, cr);
}
