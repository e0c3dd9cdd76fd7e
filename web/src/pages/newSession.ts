// Makes a session, and lists of sessions read again.
import { api, unwrap, type Schemas } from "../api/client";
import { keys } from "../api/keys";
import { queryClient } from "../api/queries";

export async function newSession(chosen: Schemas["NewSession"]): Promise<Schemas["Session"]> {
  const session = await unwrap(api.POST("/api/v1/sessions", { body: chosen }));
  await queryClient.invalidateQueries({ queryKey: keys.sessions() });
  return session;
}
