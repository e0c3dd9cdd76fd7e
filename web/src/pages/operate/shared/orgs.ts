import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import { everything } from "../../../api/pages";
import { keys } from "../../../api/keys";

export const orgsQuery = queryOptions({
  queryKey: keys.orgs(),
  queryFn: () =>
    everything((cursor) =>
      unwrap(api.GET("/api/v1/orgs", { params: { query: { limit: 200, cursor } } })),
    ),
});

type Runtime = "semigraph" | "openclaw" | "claude-code" | "acp";

const NAMES: Record<Runtime, string> = {
  semigraph: "SemiGraph",
  "claude-code": "Claude Code",
  openclaw: "OpenClaw",
  acp: "ACP",
};

/** For a choice; the first is for none. */
export function runtimeChoices(none: string): { value: string; label: string }[] {
  return [
    { value: "", label: none },
    ...Object.entries(NAMES).map(([value, label]) => ({ value, label })),
  ];
}

export function runtimeOf(value: string): Runtime | null {
  return value in NAMES ? (value as Runtime) : null;
}
