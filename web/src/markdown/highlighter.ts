// Asks a worker for the colours of code. One that fails or is slow leaves the text as it is.

export const KINDS = ["plain", "comment", "keyword", "string", "number", "function", "type"] as const;

/** Kind (an index of KINDS) and length in turn. */
export type Colours = readonly number[];
export type Job = { id: number; text: string; language: string };
export type Answer = { id: number; colours: Colours | null };

export type WorkerLike = {
  postMessage: (job: Job) => void;
  terminate: () => void;
  onmessage: ((message: { data: Answer }) => void) | null;
  onerror: ((error: unknown) => void) | null;
};

const CHARS_MAX = 60_000;
const KEPT_MAX = 300;
const QUEUE_MAX = 60;
const ANSWER_MS = 10_000;
/** So often it is started again; then there are no colours. */
const FAILURES_MAX = 3;

type Waiting = Job & { done: (colours: Colours | null) => void };

export class Highlighter {
  private readonly make: () => WorkerLike;
  private readonly answerMs: number;
  private worker: WorkerLike | null = null;
  private failures = 0;
  private kept = new Map<string, Colours>();
  private asked = new Map<string, Promise<Colours | null>>();
  private queue: Waiting[] = [];
  private current: Waiting | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastId = 0;

  constructor(make: () => WorkerLike, answerMs = ANSWER_MS) {
    this.make = make;
    this.answerMs = answerMs;
  }

  known(text: string, language: string): Colours | null {
    return this.kept.get(`${language}\n${text}`) ?? null;
  }

  highlight(text: string, language: string): Promise<Colours | null> {
    if (!language || text.length > CHARS_MAX || this.failures >= FAILURES_MAX) return Promise.resolve(null);
    const key = `${language}\n${text}`;
    const kept = this.kept.get(key);
    if (kept) return Promise.resolve(kept);
    const before = this.asked.get(key);
    if (before) return before;
    const answer = new Promise<Colours | null>((done) => {
      this.queue.push({ id: ++this.lastId, text, language, done });
    }).then((colours) => {
      this.asked.delete(key);
      if (colours) this.keep(key, colours);
      return colours;
    });
    this.asked.set(key, answer);
    // What came long ago has been scrolled away.
    if (this.queue.length > QUEUE_MAX) this.queue.shift()?.done(null);
    this.next();
    return answer;
  }

  private keep(key: string, colours: Colours): void {
    this.kept.set(key, colours);
    if (this.kept.size > KEPT_MAX) this.kept.delete(this.kept.keys().next().value as string);
  }

  private next(): void {
    if (this.current || this.queue.length === 0) return;
    if (this.failures >= FAILURES_MAX) {
      for (const one of this.queue.splice(0)) one.done(null);
      return;
    }
    this.current = this.queue.shift() as Waiting;
    this.timer = setTimeout(() => this.failed(), this.answerMs);
    try {
      this.worker ??= this.started();
      const { id, text, language } = this.current;
      this.worker.postMessage({ id, text, language });
    } catch {
      this.failed();
    }
  }

  private started(): WorkerLike {
    const worker = this.make();
    worker.onmessage = ({ data }) => {
      if (data.id === this.current?.id) this.finish(data.colours);
    };
    worker.onerror = () => this.failed();
    return worker;
  }

  private failed(): void {
    this.failures += 1;
    this.worker?.terminate();
    this.worker = null;
    this.finish(null);
  }

  private finish(colours: Colours | null): void {
    clearTimeout(this.timer);
    this.current?.done(colours);
    this.current = null;
    this.next();
  }
}
