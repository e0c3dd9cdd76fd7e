/**
 * Values that came from outside, read without believing them. Whoever asks for a text gets one or
 * nothing; nobody else in the bridge looks into unknown values.
 */

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The texts of a list, and no more of them than `most`. */
export function asTexts(value: unknown, most: number): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one): one is string => typeof one === "string").slice(0, most);
}

/** Paths that a call touches. Of more than `most`, the last is empty: what was left out is not
 * known, and not nothing. */
export function asPaths(value: unknown, most: number): string[] {
  const paths = asTexts(value, most + 1);
  return paths.length <= most ? paths : [...paths.slice(0, most - 1), ""];
}

/** The words of an error, whatever was thrown. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
