// The language of the page: the person's choice, else the browser's. Kept in this browser.
import { useSyncExternalStore } from "react";
import { onElsewhere, remember, remembered } from "../app/memory";

export type Language = "en" | "zh";

const KEY = "language";
const listeners = new Set<() => void>();

function fromBrowser(): Language {
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function chosen(): Language | null {
  const kept = remembered(KEY);
  return kept === "en" || kept === "zh" ? kept : null;
}

let current: Language = chosen() ?? fromBrowser();

export function language(): Language {
  return current;
}

export function setLanguage(next: Language): void {
  remember(KEY, next);
  show(next);
}

function show(next: Language): void {
  current = next;
  document.documentElement.lang = next;
  for (const listener of listeners) listener();
}

onElsewhere(KEY, () => show(chosen() ?? fromBrowser()));

export function useLanguage(): Language {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, language);
}
