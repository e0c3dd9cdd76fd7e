// The names under which answers are kept. News of the stream (live/) makes them read again.
/** `meta` of what is asked for because a person says so: it makes a login link, calls a provider or
 * starts a server's test, so that no news of the stream asks for it again. */
export const BY_HAND = { isByHand: true };

export const keys = {
  me: () => ["me"] as const,
  server: () => ["server"] as const,
  sessions: (...filter: unknown[]) => ["sessions", ...filter] as const,
  session: (id: string) => ["session", id] as const,
  openSessions: () => ["session"] as const,
  approvals: (...filter: unknown[]) => ["approvals", ...filter] as const,
  rules: (...filter: unknown[]) => ["rules", ...filter] as const,
  machines: (...filter: unknown[]) => ["machines", ...filter] as const,
  machine: (id: string) => ["machine", id] as const,
  agents: () => ["agents"] as const,
  persons: () => ["persons"] as const,
  groups: () => ["groups"] as const,
  skills: () => ["skills"] as const,
  evolutions: () => ["evolutions"] as const,
  memories: (...filter: unknown[]) => ["memories", ...filter] as const,
  mcpServers: () => ["mcp-servers"] as const,
  models: () => ["models"] as const,
  welcome: () => ["welcome"] as const,
  credentials: (userId: string) => ["credentials", userId] as const,
  quotas: () => ["quotas"] as const,
  usage: (...filter: unknown[]) => ["usage", ...filter] as const,
  audit: (...filter: unknown[]) => ["audit", ...filter] as const,
  users: () => ["users"] as const,
  tokens: (userId: string) => ["tokens", userId] as const,
  orgs: () => ["orgs"] as const,
  retention: (orgId: string) => ["retention", orgId] as const,
  health: () => ["health"] as const,
  push: () => ["push"] as const,
};
