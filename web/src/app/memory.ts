// Small choices that this browser keeps. Storage may be forbidden or full: then they last as long
// as the page.
const PREFIX = "trunkline.";
const fallback = new Map<string, string>();

export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key) ?? fallback.get(key) ?? null;
  } catch {
    return fallback.get(key) ?? null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
    fallback.delete(key);
  } catch {
    fallback.set(key, value);
  }
}

export function forget(key: string): void {
  fallback.delete(key);
  try {
    localStorage.removeItem(PREFIX + key);
  } catch {
    // Nothing was kept.
  }
}

/** Calls when another tab of this browser has chosen anew. */
export function onElsewhere(key: string, chosen: () => void): void {
  window.addEventListener("storage", (event) => {
    if (event.key === PREFIX + key) chosen();
  });
}
