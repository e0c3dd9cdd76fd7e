// What the pages of machines read. Numbers change with each heartbeat, so they are read again.
import { queryOptions } from "@tanstack/react-query";
import { queryClient } from "../../api/queries";
import { api, unwrap } from "../../api/client";
import { keys } from "../../api/keys";
import { machinesQuery } from "../../api/names";

const HEARTBEAT_MS = 10_000;

export const shownQuery = queryOptions({
  ...machinesQuery,
  select: (machines) => machines.filter((machine) => machine.kind !== "group"),
  refetchInterval: HEARTBEAT_MS,
});

export const machineQuery = (id: string, everyMs = HEARTBEAT_MS) =>
  queryOptions({
    queryKey: keys.machine(id),
    queryFn: () =>
      unwrap(api.GET("/api/v1/machines/{machine_id}", { params: { path: { machine_id: id } } })),
    refetchInterval: everyMs,
  });

/** Something about machines, or about what runs there, has changed here. */
export async function machinesChanged(): Promise<void> {
  await Promise.all(
    [keys.machines(), ["machine"], keys.sessions(), keys.welcome()].map((queryKey) =>
      queryClient.invalidateQueries({ queryKey }),
    ),
  );
}
