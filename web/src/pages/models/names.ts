// Names of models that can be suggested: the default, what other agents use, and what the providers
// list that there are keys for. Those are asked when somebody is about to choose.
import { useQueries, useQuery } from "@tanstack/react-query";
import { BY_HAND } from "../../api/keys";
import { useMe } from "../../api/me";
import { agentsQuery } from "../../api/names";
import { modelsQuery, testKey } from "./queries";

const ASKED_EVERY_MS = 600_000;
/** As the router finds who serves a model that names no provider. */
const BY_NAME = /^(?:gpt-|chatgpt-|codex-|o\d|claude)/i;

export function useModelNames(isAsked: boolean): string[] {
  const userId = useMe().user.id;
  const overview = useQuery(modelsQuery);
  const agents = useQuery(agentsQuery);
  const providers = overview.data?.providers ?? [];
  const lists = useQueries({
    queries: providers.map(({ provider }) => ({
      queryKey: [...modelsQuery.queryKey, "list", provider],
      queryFn: () => testKey(userId, provider, {}),
      enabled: isAsked,
      staleTime: ASKED_EVERY_MS,
      meta: BY_HAND,
      retry: false,
    })),
  });
  const listed = lists.flatMap(({ data }, at) =>
    (data?.models ?? []).map((name) => fullName(providers[at]?.provider ?? "", name)),
  );
  const used = (agents.data ?? []).flatMap((agent) => agent.model ?? []);
  return [...new Set([...used, ...listed, ...(overview.data?.default ? [overview.data.default.name] : [])])].sort();
}

function fullName(provider: string, name: string): string {
  return BY_NAME.test(name) ? name : `${provider}/${name}`;
}
