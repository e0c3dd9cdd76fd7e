// Keys that do something anywhere on the page. A sequence is written with spaces: "g c".
import { useEffect, useEffectEvent } from "react";
import { isComposing } from "../ui/composing.ts";

type Shortcut = { keys: string; label: string; run: () => void };

const PAUSE_MS = 1_000;
const active = new Set<Shortcut>();
let pressed: string[] = [];
let pressedAt = 0;

/** Those that work now, for the help sheet. */
export function shortcuts(): Shortcut[] {
  return [...active];
}

export function useShortcut(keys: string, label: string, run: () => void): void {
  const act = useEffectEvent(run);
  useEffect(() => {
    const shortcut: Shortcut = { keys, label, run: () => act() };
    active.add(shortcut);
    return () => {
      active.delete(shortcut);
    };
  }, [keys, label]);
}

function nameOf(event: KeyboardEvent): string {
  const held = event.ctrlKey || event.metaKey ? "mod+" : "";
  return held + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select");
}

function onKeyDown(event: KeyboardEvent): void {
  if (isComposing(event) || event.altKey || event.defaultPrevented) return;
  const name = nameOf(event);
  const isPlain = !name.startsWith("mod+");
  if (isPlain && (isWriting(event.target) || document.querySelector("dialog[open]") !== null)) return;
  if (event.timeStamp - pressedAt > PAUSE_MS) pressed = [];
  pressedAt = event.timeStamp;
  pressed = [...pressed, name].slice(-2);
  for (const sequence of [pressed.join(" "), name]) {
    for (const shortcut of active) {
      if (shortcut.keys !== sequence) continue;
      event.preventDefault();
      pressed = [];
      shortcut.run();
      return;
    }
  }
}

window.addEventListener("keydown", onKeyDown);
