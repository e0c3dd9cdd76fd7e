// Which requests the worker serves, and how. No I/O.

type Way =
  /** Not the worker's business. */
  | "leave"
  /** The page itself: from the server, else as it was kept. */
  | "document"
  /** A file with a hash in its name: as it was kept, else from the server. */
  | "asset"
  /** What a list or a transcript shows: from the server, else as it was last read. */
  | "data";

const KEPT = [
  /^\/api\/v1\/me$/,
  /^\/api\/v1\/server$/,
  /^\/api\/v1\/sessions$/,
  /^\/api\/v1\/sessions\/[^/]+$/,
  /^\/api\/v1\/sessions\/[^/]+\/events$/,
  /^\/api\/v1\/approvals$/,
  /^\/api\/v1\/machines$/,
  /^\/api\/v1\/groups$/,
  /^\/api\/v1\/persons$/,
  /^\/api\/v1\/agents$/,
];
const NOT_THE_PAGES = /^\/(?:api|ws|docs|login|metrics|healthz|readyz|openapi\.json|asyncapi\.json)(?:\/|$)/;

type Asked = { method: string; mode: string; url: string; hasRange: boolean };

export function wayOf(asked: Asked, origin: string): Way {
  const { origin: where, pathname } = new URL(asked.url);
  if (asked.method !== "GET" || where !== origin || asked.hasRange) return "leave";
  if (pathname.startsWith("/assets/")) return "asset";
  if (KEPT.some((one) => one.test(pathname))) return "data";
  if (asked.mode === "navigate" && !NOT_THE_PAGES.test(pathname)) return "document";
  return /^\/(?:theme\.js|icon.*|manifest\.webmanifest)$/.test(pathname) ? "asset" : "leave";
}

/** A server that is away behind a proxy that is not. */
export function isAway(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}
