// Random numbers with a seed, so that a failure can be had again.

export type Random = () => number;

/** mulberry32 */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function below(random: Random, end: number): number {
  return Math.floor(random() * end);
}

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[below(random, from.length)] as T;
}

/** The text in pieces of up to `longest` characters. */
export function cut(random: Random, text: string, longest: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + below(random, longest);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}
