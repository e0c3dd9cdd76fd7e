// When something was, in the reader's words; the exact time is its tooltip.
import { useSyncExternalStore } from "react";
import { useLanguage, type Language } from "../i18n/language";
import { useWords } from "../i18n";
import { words } from "./words";

const TICK_MS = 30_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  now = Date.now();
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function relative(age: number, language: Language): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  if (Math.abs(age) < HOUR) return format.format(-Math.round(age / MINUTE), "minute");
  if (Math.abs(age) < DAY) return format.format(-Math.round(age / HOUR), "hour");
  return format.format(-Math.round(age / DAY), "day");
}

/** `at`: Unix milliseconds. Older than a month: the date. */
export function Time({ at }: { at: number | null | undefined }) {
  const t = useWords(words);
  const language = useLanguage();
  const current = useSyncExternalStore(subscribe, () => now);
  if (at === null || at === undefined) return <span>{t.never}</span>;
  const date = new Date(at);
  const age = current - at;
  let text: string;
  if (Math.abs(age) < MINUTE) text = t.now;
  else if (Math.abs(age) < 30 * DAY) text = relative(age, language);
  else text = date.toLocaleDateString(language);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString(language)}>
      {text}
    </time>
  );
}
