// What a list or a transcript shows: from the server, else as it was last read. No I/O of its own.
import { isAway } from "./rules.ts";

/** The page itself and what it shows come from what is kept when a line hangs for so long. */
export const WAIT_MS = 4_000;

type Around = {
  ask: () => Promise<Response>;
  /** As it was last read. Looked up only when it is wanted: until then it may become somebody else's. */
  kept: () => Promise<Response | undefined>;
  wait: (ms: number) => Promise<unknown>;
};

/** What to keep. `isLate`: what was kept before has been shown instead. */
type Answer = { response: Response; isLate: boolean };

export function dataOf(around: Around): { shown: Promise<Response>; answer: Promise<Answer | null> } {
  const asked = around.ask().catch(() => null); // nobody there
  const copied = asked.then((one) => (one === null || isAway(one.status) ? null : one.clone()));
  const chosen = choose(asked, around);
  const answer = async () => {
    const response = await copied;
    return response && { response, isLate: (await chosen).isKept };
  };
  return { shown: chosen.then((one) => one.response), answer: answer() };
}

async function choose(asked: Promise<Response | null>, around: Around) {
  const first = await Promise.race([asked, around.wait(WAIT_MS).then(() => null)]);
  if (first !== null && !isAway(first.status)) return { response: first, isKept: false };
  const kept = await around.kept();
  if (kept !== undefined) return { response: kept, isKept: true };
  return { response: (await asked) ?? Response.error(), isKept: false };
}
