// The browser as the stream and the tabs need it.
import { platform } from "@trunkline/client";
import type { Channel, Locks } from "./tabs.ts";

const NAME = "trunkline.live";

export const around = platform((input, init) => fetch(input, { credentials: "same-origin", ...init }));

/** Private windows and old browsers may have neither; then each tab has its own stream. */
export function channelOfTabs(): Channel | null {
  try {
    const channel = new BroadcastChannel(NAME);
    return {
      say: (said) => channel.postMessage(said),
      listen: (hear) => channel.addEventListener("message", (event) => hear(event.data)),
    };
  } catch {
    return null;
  }
}

export function locksOfTabs(): Locks | null {
  const locks = (navigator as { locks?: LockManager }).locks;
  if (locks === undefined) return null;
  return {
    hold: async (steal, held) => {
      await locks.request(NAME, { steal }, held);
    },
  };
}
