// What the tabs of a browser follow, as the one that holds the stream keeps it. No I/O.

/** One session that a tab follows: from where, and the how-manieth time that is. */
export type Want = { sessionId: string; position: number; turn: number };

/** What the stream is to be told. */
export type Step =
  | { do: "follow"; sessionId: string; after: number }
  | { do: "leave"; sessionId: string };

/** What one stream may follow (docs/protocols/events.md). */
const SESSIONS_MAX = 50;

export class Board {
  private readonly tabs = new Map<string, Map<string, Want>>();
  /** By session, the newest id that the stream has brought without a gap; or from where it was asked
   * for. */
  private readonly followed = new Map<string, number>();
  private readonly refused = new Set<string>();

  /** A tab says all that it follows. Who is behind is caught up by a replay from its position:
   * those who have it all take nothing twice. */
  take(tab: string, wants: readonly Want[]): Step[] {
    const before = this.tabs.get(tab);
    this.tabs.delete(tab);
    this.tabs.set(tab, new Map(wants.map((want) => [want.sessionId, want])));
    const steps = this.leave();
    for (const { sessionId, position, turn } of wants) {
      if (before?.get(sessionId)?.turn === turn) continue;
      this.refused.delete(sessionId);
      const at = this.followed.get(sessionId);
      if (at !== undefined && position < at) steps.push(this.follow(sessionId, position));
    }
    return [...steps, ...this.join()];
  }

  gone(tab: string): Step[] {
    this.tabs.delete(tab);
    return [...this.leave(), ...this.join()];
  }

  /** Whether a tab other than this one follows it. */
  isWantedBeside(tab: string, sessionId: string): boolean {
    return [...this.tabs].some(([other, wants]) => other !== tab && wants.has(sessionId));
  }

  /** The stream has brought this. What is live while a replay is on its way does not count yet. */
  heard(sessionId: string, id: number): void {
    if (this.followed.get(sessionId) === id - 1) this.followed.set(sessionId, id);
  }

  /** The stream goes on behind this one, whatever was before. */
  skipped(sessionId: string, id: number): void {
    if (this.followed.has(sessionId)) this.followed.set(sessionId, id);
  }

  /** The server has no such session, or does not show it. */
  refuse(sessionId: string): void {
    this.followed.delete(sessionId);
    this.refused.add(sessionId);
  }

  /** What a new stream begins with. */
  get positions(): ReadonlyMap<string, number> {
    return this.followed;
  }

  private leave(): Step[] {
    const unwanted = [...this.followed.keys()].filter((one) => !this.isWanted(one));
    for (const sessionId of unwanted) this.followed.delete(sessionId);
    return unwanted.map((sessionId) => ({ do: "leave", sessionId }));
  }

  /** The newest tabs first, as far as there is room. */
  private join(): Step[] {
    const steps: Step[] = [];
    for (const wants of [...this.tabs.values()].reverse()) {
      for (const { sessionId, position } of wants.values()) {
        const isOpen = this.followed.has(sessionId) || this.refused.has(sessionId);
        if (!isOpen && this.followed.size < SESSIONS_MAX) steps.push(this.follow(sessionId, position));
      }
    }
    return steps;
  }

  private follow(sessionId: string, after: number): Step {
    this.followed.set(sessionId, after);
    return { do: "follow", sessionId, after };
  }

  private isWanted(sessionId: string): boolean {
    return [...this.tabs.values()].some((wants) => wants.has(sessionId));
  }
}
