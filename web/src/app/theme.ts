// Light, dark, or as the system has it. Colours follow `color-scheme` alone (ui/tokens.css).
import { useSyncExternalStore } from "react";
import { forget, onElsewhere, remember, remembered } from "./memory";

export type Theme = "system" | "light" | "dark";

const KEY = "theme";
const listeners = new Set<() => void>();

export function theme(): Theme {
  const kept = remembered(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(next: Theme): void {
  if (next === "system") forget(KEY);
  else remember(KEY, next);
  show(next);
}

function show(next: Theme): void {
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  for (const listener of listeners) listener();
}

onElsewhere(KEY, () => show(theme()));

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, theme);
}
