// What a session, its machine and its agent are called, for whoever is asked.
import { useQuery } from "@tanstack/react-query";
import { agentsQuery, allMachinesQuery } from "../api/names";
import { sessionQuery } from "../api/session";

export function useSessionRecord(sessionId: string) {
  return useQuery(sessionQuery(sessionId)).data;
}

export function useMachineName(machineId: string | null | undefined): string {
  const { data } = useQuery({ ...allMachinesQuery, enabled: Boolean(machineId) });
  return nameIn(data, machineId);
}

export function useAgentName(agentId: string | null | undefined): string {
  const { data } = useQuery({ ...agentsQuery, enabled: Boolean(agentId) });
  return nameIn(data, agentId);
}

/** Empty until it is known; the id of one that is not in the list. */
function nameIn(found: readonly { id: string; name: string }[] | undefined, id: string | null | undefined): string {
  if (found === undefined || !id) return "";
  return found.find((one) => one.id === id)?.name ?? id;
}
