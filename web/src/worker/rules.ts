// Which requests the worker serves, and how. No I/O.

type Way =
  /** Not the worker's business. */
  | "leave"
  /** Nor is this, but who comes now may be somebody else. */
  | "login"
  /** The page itself: from the server, else as it was kept. */
  | "document"
  /** A file with a hash in its name: as it was kept, else from the server. */
  | "asset"
  /** What a list or a transcript shows: from the server, else as it was last read. */
  | "data";

/** Lists that pages begin with. Users, tokens and the audit log are not left in a browser. */
const LISTS =
  "agents|approvals|evolutions|groups|machines|mcp-servers|memories|models|persons|quotas|rules|sessions|skills|usage|welcome";
const KEPT = [
  /^\/api\/v1\/(?:me|server)$/,
  new RegExp(`^/api/v1/(?:${LISTS})$`),
  /^\/api\/v1\/(?:agents|groups|machines|sessions|skills)\/(?!search$)[^/]+$/,
  /^\/api\/v1\/sessions\/[^/]+\/events$/,
];
const NOT_THE_PAGES = /^\/(?:api|ws|docs|login|metrics|healthz|readyz|openapi\.json|asyncapi\.json)(?:\/|$)/;

type Asked = { method: string; mode: string; url: string; hasRange: boolean };

export function wayOf(asked: Asked, origin: string): Way {
  const { origin: where, pathname, searchParams } = new URL(asked.url);
  if (asked.method !== "GET" || where !== origin || asked.hasRange) return "leave";
  if (pathname.startsWith("/assets/")) return "asset";
  if (pathname === "/login") return "login";
  // What came behind an event is asked for to miss nothing: an old answer would.
  if (searchParams.has("after")) return "leave";
  if (KEPT.some((one) => one.test(pathname))) return "data";
  if (asked.mode === "navigate" && !NOT_THE_PAGES.test(pathname)) return "document";
  return /^\/(?:theme\.js|icon.*|manifest\.webmanifest)$/.test(pathname) ? "asset" : "leave";
}

/** A server that is away behind a proxy that is not. */
export function isAway(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}
