// Who is logged in. The cookie is not readable here: the server is asked.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client";
import { keys } from "./keys";

export const meQuery = queryOptions({
  queryKey: keys.me(),
  queryFn: () => unwrap(api.GET("/api/v1/me")),
  staleTime: 60_000,
});

/** Below the shell, which asks first: there is always somebody. */
export function useMe(): Schemas["Me"] {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error("nobody is logged in");
  return data;
}
