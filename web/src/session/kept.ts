// Things that somebody looks at. What was left is kept for a while longer, so that going back to it
// shows it at once; of those the ones that were left longest ago go.

type One<T> = { thing: T; readers: number };

export class Kept<T> {
  private readonly all = new Map<string, One<T>>();
  private readonly make: (id: string) => T;
  private readonly close: (thing: T) => void;
  private readonly idleMax: number;

  constructor(idleMax: number, make: (id: string) => T, close: (thing: T) => void) {
    this.idleMax = idleMax;
    this.make = make;
    this.close = close;
  }

  get(id: string): T {
    let one = this.all.get(id);
    if (one === undefined) {
      one = { thing: this.make(id), readers: 0 };
      this.all.set(id, one);
    }
    return one.thing;
  }

  /** For as long as somebody looks; returns how to stop. */
  read(id: string): () => void {
    this.get(id);
    const one = this.all.get(id) as One<T>;
    one.readers += 1;
    return () => {
      one.readers -= 1;
      this.all.delete(id);
      this.all.set(id, one);
      // Who goes to another one stops before it begins there: that one is not idle.
      queueMicrotask(() => this.closeIdle());
    };
  }

  private closeIdle(): void {
    const idle = [...this.all].filter(([, one]) => one.readers === 0);
    for (const [id, one] of idle.slice(0, Math.max(0, idle.length - this.idleMax))) {
      this.all.delete(id);
      this.close(one.thing);
    }
  }
}
