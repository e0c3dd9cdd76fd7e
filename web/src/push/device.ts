// This browser as a device that is told: whether it can be, and its subscription with its maker's
// push service. The server keeps the rest.
import { api, unwrap, type Schemas } from "../api/client";
import { forget, remember, remembered } from "../app/memory";

export type Subscription = Schemas["PushSubscription"];
export type Kind = Subscription["kinds"][number];
export type Quiet = NonNullable<Subscription["quiet"]>;
export type Chosen = { name: string; kinds: Kind[]; quiet: Quiet | null };

/** Why this browser cannot be told; `home_screen`: an iPhone's page outside of its home screen. */
type Hindrance = "insecure" | "home_screen" | "unsupported" | "denied";

/** What was chosen for this browser, and by whom: renewed after a new login of the same person. */
const KEY = "push";
const WORKER_WAIT_MS = 10_000;

class PushServiceError extends Error {}

export function hindrance(): Hindrance | null {
  if (!isSecureContext) return "insecure";
  if (!("serviceWorker" in navigator) || !("Notification" in window)) return apart();
  if (!("PushManager" in window)) return apart();
  return Notification.permission === "denied" ? "denied" : null;
}

function apart(): Hindrance {
  return /iPhone|iPad/.test(navigator.userAgent) ? "home_screen" : "unsupported";
}

async function worker(): Promise<ServiceWorkerRegistration> {
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new PushServiceError("no service worker")), WORKER_WAIT_MS),
  );
  return Promise.race([navigator.serviceWorker.ready, late]);
}

/** The browser's own subscription, if it has one with this server's key. */
async function existing(publicKey: string): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker?.getRegistration();
  const found = (await registration?.pushManager?.getSubscription()) ?? null;
  if (found === null) return null;
  const key = found.options.applicationServerKey;
  if (key === null || base64url(new Uint8Array(key)) === publicKey) return found;
  await found.unsubscribe(); // the server has another key now
  return null;
}

/** By which the server's list tells which of them this browser is. */
export async function fingerprint(publicKey: string): Promise<string | null> {
  const found = await existing(publicKey);
  if (found === null) return null;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(found.endpoint));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Asks the person for permission, the push service for an address, and tells the server. */
export async function subscribe(publicKey: string, userId: string, chosen: Chosen): Promise<Subscription> {
  if ((await Notification.requestPermission()) !== "granted") throw new PushServiceError("denied");
  const found = (await existing(publicKey)) ?? (await made(publicKey));
  const sent = await send(found, chosen);
  remember(KEY, JSON.stringify({ userId, ...chosen }));
  return sent;
}

async function made(publicKey: string): Promise<PushSubscription> {
  const { pushManager } = await worker();
  try {
    return await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
  } catch (error) {
    throw new PushServiceError(error instanceof Error ? error.message : String(error));
  }
}

async function send(found: PushSubscription, chosen: Chosen): Promise<Subscription> {
  const { endpoint, keys } = found.toJSON();
  const { p256dh, auth } = keys ?? {};
  if (!endpoint || !p256dh || !auth) throw new PushServiceError("the browser gave no keys");
  return unwrap(api.POST("/api/v1/push/subscriptions", { body: { endpoint, keys: { p256dh, auth }, ...chosen } }));
}

export async function unsubscribe(publicKey: string): Promise<void> {
  forget(KEY);
  await (await existing(publicKey))?.unsubscribe();
}

/** After a new login, or when the browser has got another address: what was chosen holds still. */
export async function renew(userId: string): Promise<void> {
  const kept = remembered(KEY);
  if (kept === null || hindrance() !== null || Notification.permission !== "granted") return;
  const { userId: whose, ...chosen } = JSON.parse(kept) as Chosen & { userId: string };
  if (whose !== userId) return;
  const { public_key: publicKey, subscriptions } = await unwrap(api.GET("/api/v1/push"));
  const own = await fingerprint(publicKey);
  if (own !== null && subscriptions.some((one) => one.endpoint_sha256 === own)) return;
  await send((await existing(publicKey)) ?? (await made(publicKey)), chosen);
}

/** A change of what this browser is told, kept for its next login too. */
export function keepChoice(changed: Partial<Chosen>): void {
  const kept = remembered(KEY);
  if (kept !== null) remember(KEY, JSON.stringify({ ...(JSON.parse(kept) as object), ...changed }));
}

export function deviceName(): string {
  const agent = navigator.userAgent;
  const browser = /Edg\//.test(agent) ? "Edge" : /Firefox\//.test(agent) ? "Firefox" : /Chrom/.test(agent) ? "Chrome" : /Safari\//.test(agent) ? "Safari" : "";
  const system = /iPhone|iPad|Android|Windows|Mac OS|Linux/.exec(agent)?.[0] ?? "";
  return [browser, system.replace("Mac OS", "macOS")].filter(Boolean).join(", ") || "Browser";
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
