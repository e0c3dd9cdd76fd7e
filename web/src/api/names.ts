// All records of a kind, for choices and for the names that stand behind ids.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import { keys } from "./keys";
import { everything } from "./pages";

const STALE_MS = 60_000;
const LIMIT = 200;

export type Names = ReadonlyMap<string, string>;

export const usersQuery = queryOptions({
  queryKey: keys.users(),
  queryFn: () =>
    everything((cursor) =>
      unwrap(api.GET("/api/v1/users", { params: { query: { limit: LIMIT, cursor } } })),
    ),
  staleTime: STALE_MS,
});

/** Also those that were given up: what is older names them. */
export const allMachinesQuery = queryOptions({
  queryKey: keys.machines("all"),
  queryFn: () =>
    everything((cursor) =>
      unwrap(
        api.GET("/api/v1/machines", { params: { query: { limit: LIMIT, cursor, terminated: true } } }),
      ),
    ),
  staleTime: STALE_MS,
});

/** Those that there are. */
export const machinesQuery = queryOptions({
  queryKey: keys.machines(),
  queryFn: () =>
    everything((cursor) =>
      unwrap(api.GET("/api/v1/machines", { params: { query: { limit: LIMIT, cursor } } })),
    ),
});

export const agentsQuery = queryOptions({
  queryKey: keys.agents(),
  queryFn: () =>
    everything((cursor) =>
      unwrap(api.GET("/api/v1/agents", { params: { query: { limit: LIMIT, cursor } } })),
    ),
  staleTime: STALE_MS,
});

type Named = { id: string; name: string };

function namesOf(records: readonly Named[] | undefined): Names {
  return new Map((records ?? []).map((one) => [one.id, one.name]));
}

export function useUserNames(): Names {
  return namesOf(useQuery(usersQuery).data);
}

/** Only what is asked for is read. */
export function useNames(of: "user" | "machine" | "agent" | "none"): Names {
  const users = useQuery({ ...usersQuery, enabled: of === "user" });
  const machines = useQuery({ ...allMachinesQuery, enabled: of === "machine" });
  const agents = useQuery({ ...agentsQuery, enabled: of === "agent" });
  if (of === "none") return new Map();
  return namesOf({ user: users, machine: machines, agent: agents }[of].data);
}
