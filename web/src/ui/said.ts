// What others said in fixed words, in the page's language.
import { dictionary, useWords } from "../i18n";
import { fenceInChinese } from "./fenceWords";
import { phraseInChinese } from "./phrases";

const asItIs = (said: string) => said;
const fence = dictionary({ en: { said: asItIs }, zh: { said: fenceInChinese } });
const phrases = dictionary({ en: { said: asItIs }, zh: { said: phraseInChinese } });

/** A machine's words for its fence. */
export function useFenceWords(): (said: string) => string {
  return useWords(fence).said;
}

/** What happened to a machine, what a runtime lacks, what the server runs with. */
export function usePhrase(): (said: string) => string {
  return useWords(phrases).said;
}
