// A log is read backwards in whole turns, so that what is older can be shown by itself.

import { isOpening, text, textOrNull, turnOf, type Event } from "./event.ts";

export type Entry = { id: number; event: Event };

/** Reads the log; both give events oldest first. */
export type Reader = {
  /** Up to `limit` events behind `id`; `more`: whether there are further ones. `isLost`: that is no
   * place in the log any more, it was cut off or a backup was restored. */
  after: (id: number, limit: number) => Promise<{ entries: Entry[]; more: boolean; isLost: boolean }>;
  /** Up to `limit` events before `id`; the newest ones if that is null. */
  before: (id: number | null, limit: number) => Promise<Entry[]>;
};

/** How many events are read at once: as many as the API gives. */
export const PAGE = 1000;
/** How many pages are shown at once, if turns allow it. */
const PAGES = 2;
/** A turn that is longer is shown from its middle on. */
const ENTRIES_MAX = 40_000;

/** Events before `id` that begin with a turn, and of which none is of a turn before that.
 * `isFirst`: the log begins with them. `pagesMin`: so many are read, if there are. */
export async function readBack(
  reader: Reader,
  id: number | null,
  pagesMin: number = PAGES,
): Promise<{ entries: Entry[]; isFirst: boolean }> {
  let entries: Entry[] = [];
  for (let pages = 1; ; pages += 1) {
    const before = entries[0]?.id ?? id;
    let page: Entry[];
    try {
      page = before === 1 ? [] : await reader.before(before, PAGE);
    } catch (error) {
      // Whole turns that were read are shown: offline there may be no more than the newest page.
      const from = cutOf(entries);
      if (from === null) throw error;
      return { entries: entries.slice(from), isFirst: false };
    }
    entries = [...page, ...entries];
    const isFirst = page.length === 0 || page[0]?.id === 1;
    if (isFirst) return { entries, isFirst };
    if (pages < pagesMin) continue;
    const cut = cutOf(entries);
    if (cut !== null) return { entries: entries.slice(cut), isFirst: false };
    if (entries.length > ENTRIES_MAX) return { entries, isFirst: false };
  }
}

/** The first place where a turn opens and no earlier turn goes on behind it. */
function cutOf(entries: Entry[]): number | null {
  let found: number | null = null;
  const wanted = new Set<string>();
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    const { event } = entries[index] as Entry;
    const turnId = turnOf(event);
    // A message for a turn that ran becomes a turn of its own if that one misses it.
    if (event.type === "user_message" && !isOpening(event)) wanted.delete(text(event["message_id"]));
    if (isOpening(event)) {
      if (turnId) wanted.delete(turnId);
      if (wanted.size === 0) found = index;
    } else if (turnId) wanted.add(turnId);
    const steered = textOrNull(event["steers"]);
    if (steered) wanted.add(steered);
  }
  return found;
}
