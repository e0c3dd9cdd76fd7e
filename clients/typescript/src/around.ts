// What a stream needs of its surroundings; tests have their own.

export type Around = {
  fetch: (address: string, init: RequestInit) => Promise<Response>;
  now: () => number;
  random: () => number;
  /** Calls back after a while; returns how to stop that. */
  after: (ms: number, call: () => void) => () => void;
};

export function platform(fetcher: typeof fetch = (input, init) => fetch(input, init)): Around {
  return {
    fetch: fetcher,
    now: () => Date.now(),
    random: () => Math.random(),
    after: (ms, call) => {
      const timer = setTimeout(call, ms);
      return () => clearTimeout(timer);
    },
  };
}
