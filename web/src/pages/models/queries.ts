// What the page of models reads and changes.
import { queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { queryClient } from "../../api/queries";

export type Tested = Schemas["ModelList"];

export const modelsQuery = queryOptions({
  queryKey: keys.models(),
  queryFn: () => unwrap(api.GET("/api/v1/models")),
});

const paramsOf = (userId: string, provider: string) => ({
  path: { user_id: userId, provider },
});

export function testKey(
  userId: string,
  provider: string,
  body: Schemas["CredentialTest"],
): Promise<Tested> {
  const params = paramsOf(userId, provider);
  return unwrap(
    api.POST("/api/v1/users/{user_id}/credentials/{provider}/test", { params, body }),
  );
}

export async function saveKey(
  userId: string,
  provider: string,
  body: Schemas["NewCredential"],
): Promise<void> {
  const params = paramsOf(userId, provider);
  await unwrap(api.PUT("/api/v1/users/{user_id}/credentials/{provider}", { params, body }));
  await modelsChanged();
}

export async function setDefault(
  userId: string,
  provider: string,
  model: string | null,
): Promise<void> {
  const params = paramsOf(userId, provider);
  const body = { default_model: model };
  await unwrap(api.PATCH("/api/v1/users/{user_id}/credentials/{provider}", { params, body }));
  await modelsChanged();
}

export async function removeKey(userId: string, provider: string): Promise<void> {
  const params = paramsOf(userId, provider);
  await unwrap(api.DELETE("/api/v1/users/{user_id}/credentials/{provider}", { params }));
  await modelsChanged();
}

async function modelsChanged(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: keys.models() });
  await queryClient.invalidateQueries({ queryKey: keys.welcome() });
}
