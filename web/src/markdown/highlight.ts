import { scriptAddress } from "../app/trusted.ts";
import { Highlighter, type Colours, type WorkerLike } from "./highlighter.ts";
import address from "./highlight.worker.ts?worker&url";

export { KINDS, type Colours } from "./highlighter.ts";

const highlighter = new Highlighter(
  () => new Worker(scriptAddress(address), { type: "module", name: "highlight" }) as unknown as WorkerLike,
);

/** The colours of a text that was asked for before. */
export function known(text: string, language: string): Colours | null {
  return highlighter.known(text, language);
}

/** The colours of a text, or null where there are none. */
export function highlight(text: string, language: string): Promise<Colours | null> {
  return highlighter.highlight(text, language);
}
