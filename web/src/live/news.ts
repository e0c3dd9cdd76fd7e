// News make what was read before old: the one place where the stream meets the kept answers.
import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { BY_HAND, keys } from "../api/keys.ts";
import { patched } from "./patched.ts";
import type { News } from "./types.ts";

/** Lists are read again at most so often, however many of their records change. */
const LISTS_EVERY_MS = 1_000;

export class NewsDesk {
  private readonly client: QueryClient;
  private readonly due = new Map<string, QueryKey>();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private lastAt = 0;

  constructor(client: QueryClient) {
    this.client = client;
  }

  readonly take = (news: News): void => {
    switch (news.kind) {
      case "connected":
        this.isOld();
        return;
      case "session": {
        const { session } = news;
        this.client.setQueriesData({ queryKey: keys.sessions() }, (kept) => patched(kept, session));
        this.client.setQueryData(keys.session(session.id), (kept: object | undefined) =>
          kept === undefined ? undefined : { ...kept, ...session, resume: resumeOf(kept) },
        );
        return this.readSoon(keys.sessions());
      }
      case "approval":
        this.client.setQueriesData({ queryKey: keys.approvals() }, (kept) => patched(kept, news.approval));
        return this.isOld(keys.approvals());
      case "machine":
        this.isOld(keys.machine(news.id));
        return this.readSoon(keys.machines(), keys.sessions(), keys.openSessions(), keys.models(), keys.welcome());
      case "gone":
        if (news.what === "session") this.client.removeQueries({ queryKey: keys.session(news.id) });
        else this.isOld(keys.machine(news.id));
        return this.readSoon(keys.sessions(), keys.machines(), keys.approvals());
    }
  };

  private readSoon(...lists: QueryKey[]): void {
    for (const list of lists) this.due.set(JSON.stringify(list), list);
    if (this.timer !== null) return;
    const waitMs = Math.max(0, this.lastAt + LISTS_EVERY_MS - Date.now());
    this.timer = setTimeout(() => this.read(), waitMs);
  }

  private read(): void {
    this.timer = null;
    this.lastAt = Date.now();
    const lists = [...this.due.values()];
    this.due.clear();
    for (const list of lists) this.isOld(list);
  }

  /** Read again what is shown; but what does something whenever it is asked waits for a person. */
  private isOld(queryKey: QueryKey = []): void {
    void this.client.invalidateQueries({ queryKey, predicate: ({ meta }) => meta !== BY_HAND });
  }
}

/** How to go on by hand is not in lists, nor in news. */
function resumeOf(kept: object): unknown {
  return "resume" in kept ? kept.resume : null;
}
