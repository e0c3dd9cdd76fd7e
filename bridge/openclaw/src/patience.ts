/**
 * Waiting: for work that may be given up, and for a gateway that is busy with itself. On a busy
 * machine its own threads keep each other from its state for some seconds; and it is told of
 * another session while a turn of this one begins, which it had prepared with what it knew before.
 * It refuses then what is right in itself: that is asked again.
 */

import { wordsOf } from "./json.ts";

const BUSY =
  /another OpenClaw process owns state-|prepared (model runtime|plugin) .*(superseded|retired)|runtime config .*superseded/i;
export const TRIES_MAX = 20;
const TRY_AGAIN_MS = 250;
const TRY_AGAIN_MS_MAX = 5_000;

export function isBusy(error: unknown): boolean {
  return BUSY.test(wordsOf(error));
}

/** Work that can be done twice. Throws what it throws, or the signal's reason. */
export async function patiently<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || tries === TRIES_MAX) throw error;
      await pause(tries, signal);
    }
  }
}

/**
 * Before something is tried again, each time longer: whoever asks on and on keeps it busy. About a
 * minute and a half together.
 */
export function pause(tries: number, signal?: AbortSignal): Promise<void> {
  const ms = Math.min(TRY_AGAIN_MS * 2 ** (tries - 1), TRY_AGAIN_MS_MAX);
  const over = new Promise<void>((resolve) => setTimeout(resolve, ms));
  return signal === undefined ? over : until(over, signal);
}

/** The promise, or the signal's reason as soon as it is given. */
export async function until<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
