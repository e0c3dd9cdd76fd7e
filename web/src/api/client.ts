// The one client of the public API in this page: the package that others use too, with the login of
// the browser.
import { ApiError, createApi, errorOf } from "@trunkline/client";

export { ApiError, errorOf, unwrap, type Schemas } from "@trunkline/client";

/** What is there, or the error in the server's words. */
export async function fetched(address: string): Promise<Response> {
  const response = await fetch(address).catch((error: unknown) => {
    throw new ApiError("UNREACHABLE", String(error), 0);
  });
  if (!response.ok) throw errorOf(await response.json().catch(() => null), response);
  return response;
}

export const api = createApi({ credentials: "same-origin" });
