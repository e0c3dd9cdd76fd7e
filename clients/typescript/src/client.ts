// One server, seen with one token.
import { createApi, type Api, type Schemas } from "./api.ts";
import { platform } from "./around.ts";
import { unwrap } from "./errors.ts";
import { Sessions } from "./sessions.ts";

export type ClientOptions = {
  /** `http://127.0.0.1:8080`; in a page of the server itself it can be left out. */
  url?: string;
  /** Without it the login of the browser counts. */
  token?: string;
  fetch?: typeof fetch;
};

/** `new Client({ url, token })`: sessions, and every other route as `client.api`. */
export class Client {
  readonly api: Api;
  readonly sessions: Sessions;

  constructor({ url = "", token, fetch: fetcher }: ClientOptions = {}) {
    const base = url.replace(/\/+$/, "");
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const around = platform(fetcher);
    const api = createApi({ baseUrl: base, headers, redirect: "error", ...(fetcher && { fetch: fetcher }) });
    const at = (sessionId: string) => ({ path: { session_id: sessionId } });
    this.api = api;
    this.sessions = new Sessions(
      api,
      {
        around,
        headers,
        address: (sessionId) => `${base}/api/v1/sessions/${encodeURIComponent(sessionId)}/stream`,
        page: (sessionId, after) =>
          unwrap(
            api.GET("/api/v1/sessions/{session_id}/events", { params: { ...at(sessionId), query: { after } } }),
          ),
      },
      `${base}/api/v1/stream`,
    );
  }

  /** Who this token is. */
  me(): Promise<Schemas["Me"]> {
    return unwrap(this.api.GET("/api/v1/me"));
  }
}
