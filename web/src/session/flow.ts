// What one speaker says and does, in order: a turn has one of these, so has each person of a group
// that is asked in it, and each sub-agent under the call that gave it its task.

import { Blocks, type Links } from "./blocks.ts";
import type { Answer, BlockRow, Lane, Person, Row, SpeakerRow, ThinkingRow, ToolRow } from "./model.ts";

export type Base = Pick<Row, "key" | "eventId" | "turnId" | "ts" | "person">;
type Touch = () => void;

const NO_LINKS: Links = {};

interface Part {
  rows(): readonly Row[];
}

/** A part that is one row. */
export class Item<R extends Row> implements Part {
  row: R;
  protected readonly touch: Touch;

  constructor(row: R, touch: Touch) {
    this.row = row;
    this.touch = touch;
  }

  set(changes: Partial<R>): void {
    this.row = { ...this.row, ...changes };
    this.touch();
  }

  rows(): readonly Row[] {
    return [this.row];
  }
}

/** A call, and below it the sub-agent that works for it. */
export class Call extends Item<ToolRow> {
  private inner: Flow | null = null;
  private isInnerNew = false;

  get flow(): Flow {
    this.inner ??= new Flow(() => {
      this.isInnerNew = true;
      this.touch();
    });
    return this.inner;
  }

  override rows(): readonly Row[] {
    if (this.isInnerNew && this.inner) {
      this.isInnerNew = false;
      this.row = { ...this.row, rows: this.inner.rows() };
    }
    return [this.row];
  }

  /** The turn is over: what still runs was stopped. */
  stop(ts: number | null, isCutOff = false): void {
    this.inner?.close();
    if (this.row.state === "running") this.set({ state: "stopped", endedTs: ts });
    // Whoever reads it wants to see how far it came, not that word.
    else if (isCutOff && this.row.state === "failed" && this.row.result === "cancelled") {
      this.set({ state: "stopped", result: null });
    }
  }
}

/** What one person of a group says when asked. */
export class Speech implements Part {
  readonly flow: Flow;
  private readonly touch: Touch;
  private speaker: SpeakerRow;
  private state: Omit<Lane, "rows">;

  constructor(base: Base, lane: Omit<Lane, "rows">, touch: Touch) {
    this.touch = touch;
    this.flow = new Flow(touch);
    this.state = lane;
    this.speaker = { ...base, kind: "speaker", lane: lane.key, state: lane.state, by: lane.by };
  }

  get person(): Person {
    return this.state.person;
  }

  get usage(): Lane["usage"] {
    return this.state.usage;
  }

  set(changes: Partial<Omit<Lane, "rows" | "key" | "person">>): void {
    this.state = { ...this.state, ...changes };
    const { state, by } = this.state;
    if (state !== this.speaker.state || by !== this.speaker.by) {
      this.speaker = { ...this.speaker, state, by };
    }
    this.touch();
  }

  get isSpeaking(): boolean {
    return this.state.state === "speaking";
  }

  lane(): Lane {
    return { ...this.state, rows: this.flow.rows() };
  }

  rows(): readonly Row[] {
    return [this.speaker, ...this.flow.rows()];
  }
}

/** What is said in one go; its rows are Markdown blocks. */
class Talk implements Part {
  isOver = false;
  /** The last that was said in a turn. */
  isAnswer = false;
  private readonly base: Base;
  private blocks = new Blocks();
  private closed: BlockRow[] = [];
  private links = NO_LINKS;
  private readonly answer: Answer = { text: () => this.blocks.text };

  constructor(base: Base) {
    this.base = base;
  }

  get text(): string {
    return this.blocks.text;
  }

  push(piece: string): void {
    this.blocks.push(piece);
  }

  replace(text: string): void {
    this.blocks = new Blocks();
    this.blocks.push(text);
    if (this.isOver) this.blocks.end();
  }

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.blocks.end();
  }

  rows(): readonly Row[] {
    if (!this.isOver) this.blocks.settle();
    const known = Object.keys(this.blocks.links).length;
    if (known !== Object.keys(this.links).length) this.links = { ...this.blocks.links };
    const { closed, tail } = this.blocks;
    this.closed.length = Math.min(this.closed.length, closed.length);
    for (let index = 0; index < closed.length; index += 1) {
      const isLast = this.isAnswer && index === closed.length - 1;
      const raw = closed[index] as string;
      const before = this.closed[index];
      const isSame = before?.raw === raw && before.links === this.links && before.isLast === isLast;
      if (!isSame) this.closed[index] = this.row(index, raw, false, isLast);
    }
    if (this.isOver || tail.trim() === "") return [...this.closed];
    return [...this.closed, this.row(closed.length, tail, true, false)];
  }

  private row(index: number, raw: string, isOpen: boolean, isLast: boolean): BlockRow {
    const { base, links, answer } = this;
    return { ...base, key: `${base.key}.${index}`, kind: "block", raw, isOpen, isLast, links, answer };
  }
}

export class Flow {
  private parts: Part[] = [];
  private talk: Talk | null = null;
  private thinking: Item<ThinkingRow> | null = null;
  private known: readonly Row[] | null = null;
  private readonly changed: Touch;

  constructor(changed: Touch) {
    this.changed = changed;
  }

  readonly touch = (): void => {
    this.known = null;
    this.changed();
  };

  rows(): readonly Row[] {
    this.known ??= this.parts.flatMap((part) => part.rows());
    return this.known;
  }

  say(base: Base, piece: string): void {
    if (piece === "") return;
    this.endThinking();
    if (!this.talk || this.talk.isOver) {
      this.talk = new Talk(base);
      this.parts.push(this.talk);
    }
    this.talk.push(piece);
    this.touch();
  }

  think(base: Base, stage: string, piece: string): void {
    if (piece === "") return;
    const row = this.thinking?.row;
    if (row && row.isOpen && row.stage === stage) {
      // Only what a model thinks comes in pieces; the others are sentences of their own.
      const between = stage === "reasoning" || row.text.endsWith("\n") ? "" : "\n";
      this.thinking?.set({ text: row.text + between + piece });
      return;
    }
    this.interrupt();
    this.thinking = this.add({ ...base, kind: "thinking", stage, text: piece, isOpen: true });
  }

  /** Something of its own between what is said: the next piece of text begins anew. */
  interrupt(): void {
    this.talk?.close();
    this.endThinking();
    this.touch();
  }

  add<R extends Row>(row: R): Item<R> {
    return this.put(new Item(row, this.touch));
  }

  put<P extends Part>(part: P): P {
    this.parts.push(part);
    this.touch();
    return part;
  }

  remove(part: Part): void {
    this.parts = this.parts.filter((one) => one !== part);
    this.touch();
  }

  /** It has ended, with this as all of its answer: what was missed of it is put in its place. */
  close(base?: Base, answer = "", isLost = false): void {
    this.interrupt();
    if (!base) return;
    this.heal(base, answer, isLost);
    const last = this.parts.findLast((part): part is Talk => part instanceof Talk);
    if (last) last.isAnswer = true;
    this.touch();
  }

  private heal(base: Base, answer: string, isLost: boolean): void {
    const wanted = squeezed(answer);
    if (wanted === "") return;
    const talks = this.parts.filter((part) => part instanceof Talk);
    const said = squeezed(talks.map((talk) => talk.text).join(""));
    if (said.includes(wanted)) return;
    const last = talks.at(-1);
    if (last && (isLost || wanted.startsWith(squeezed(last.text)))) last.replace(answer);
    else if (!last || isLost) this.say(base, answer);
    this.interrupt();
  }

  private endThinking(): void {
    if (this.thinking?.row.isOpen) this.thinking.set({ isOpen: false });
  }
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, "");
}
