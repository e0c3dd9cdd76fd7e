// Words in both languages, in a `words.ts` beside the code that shows them. The types make a key
// that one language lacks an error of the build.
import { language, useLanguage, type Language } from "./language";

type Word = string | ((...given: never[]) => string);
type Words = Record<string, Word>;
type Same<T extends Words> = { [K in keyof T]: T[K] extends string ? string : T[K] };

export type Dictionary<T extends Words> = { [L in Language]: Same<T> };

export function dictionary<T extends Words>(both: { en: T; zh: Same<T> }): Dictionary<T> {
  return { en: both.en as unknown as Same<T>, zh: both.zh };
}

export function useWords<T extends Words>(words: Dictionary<T>): Same<T> {
  return words[useLanguage()];
}

/** For what is said outside of a component, as a notification. */
export function wordsNow<T extends Words>(words: Dictionary<T>): Same<T> {
  return words[language()];
}
