// What a list or a transcript shows: from the server, else as it was last read. No I/O of its own.
import { isAway } from "./rules.ts";

/** The page itself and what it shows come from what is kept when a line hangs for so long. */
export const WAIT_MS = 4_000;

type Around = {
  ask: () => Promise<Response>;
  /** As it was last read. */
  kept: () => Promise<Response | undefined>;
  wait: (ms: number) => Promise<unknown>;
};

/** `answer`: what to keep, also when it comes too late to be shown. */
export function dataOf(around: Around): { shown: Promise<Response>; answer: Promise<Response | null> } {
  const asked = around.ask().catch(() => null); // nobody there
  const copied = asked.then((one) => (one === null || isAway(one.status) ? null : one.clone()));
  const shown = async () => {
    const kept = await around.kept();
    const first = kept === undefined ? await asked : await Promise.race([asked, around.wait(WAIT_MS).then(() => null)]);
    if (first !== null && !isAway(first.status)) return first;
    return kept ?? first ?? Response.error();
  };
  return { shown: shown(), answer: copied };
}
