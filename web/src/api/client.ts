// The one client of the public API in this page: the package that others use too, with the login of
// the browser.
import { createApi } from "@trunkline/client";

export { ApiError, errorOf, unwrap, type Schemas } from "@trunkline/client";

export const api = createApi({ credentials: "same-origin" });
