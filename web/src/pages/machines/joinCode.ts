// A code with which a computer lets itself in: one short line to paste there.
import { api, unwrap } from "../../api/client";
import type { Given } from "./Connect";

type Wanted = { name?: string; machine_id?: string };

/** For a new machine, or for one that is there and is to be let in again. */
export async function joinCode(userId: string, body: Wanted): Promise<Given> {
  const params = { path: { user_id: userId } };
  const made = await unwrap(api.POST("/api/v1/users/{user_id}/join-codes", { params, body }));
  return {
    kind: "vm",
    machineId: made.machine_id,
    command: made.command,
    withoutInstall: made.command_without_install,
    isLocal: made.reach === "local",
  };
}
