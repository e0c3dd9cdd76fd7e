// Every route of the API, typed by its OpenAPI document (schema.ts is generated).
import createClient, { type Client as Routes, type ClientOptions } from "openapi-fetch";
import type { components, paths } from "./schema.ts";

export type Schemas = components["schemas"];
/** `api.GET("/api/v1/agents")`; see `unwrap`. */
export type Api = Routes<paths>;

export function createApi(options: ClientOptions): Api {
  return createClient<paths>(options);
}
