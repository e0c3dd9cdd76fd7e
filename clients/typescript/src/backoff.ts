// How long to wait before the stream is tried again: longer each time, and not all browsers at once.
const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/** `random`: from 0 to 1. `asked`: what the server said when it went down. */
export function delayMs(failures: number, random: number, asked = 0): number {
  const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.max(asked, most / 2) + (random * most) / 2;
}

const GRACE_MS = 5_000;

/** Nothing, not even a heartbeat, for so long: the line is dead, and nobody said so. */
export function silenceMs(heartbeatS: number): number {
  return heartbeatS * 2_000 + GRACE_MS;
}
