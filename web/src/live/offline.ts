// The service worker beside the page: it keeps the page itself, and what was last read, for when the
// server cannot be reached.
import { scriptAddress } from "../app/trusted";
import { DATA_CACHE, FRESHER } from "../worker/names.ts";

/** Only secure places have one; without it the page works, but not offline. `onFresher`: what was shown
 * as it was kept has changed. */
export function keepAlive(onFresher: () => void): void {
  const workers = (navigator as { serviceWorker?: ServiceWorkerContainer }).serviceWorker;
  if (workers === undefined || import.meta.env.DEV) return;
  workers.register(scriptAddress("/sw.js"), { updateViaCache: "none" }).catch((error: unknown) => {
    console.warn("the page is not kept for use offline", error);
  });
  workers.addEventListener("message", ({ data }) => {
    if (data === FRESHER) onFresher();
  });
}

/** The login has ended: what was read with it is nobody's any more. */
export async function forgetKept(): Promise<void> {
  if ("caches" in globalThis) await caches.delete(DATA_CACHE);
}
