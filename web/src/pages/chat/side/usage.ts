// What a chat has used, summed up by the server.
import { queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import type { Session } from "../list/sessions";

type Sum = Schemas["UsageSum"];
export type Total = Pick<Sum, "calls" | "tokens_in" | "tokens_out" | "cost" | "unpriced_calls">;

/** Read again when a turn has ended. */
export function usageQuery(session: Session) {
  return queryOptions({
    queryKey: keys.usage("session", session.id, session.last_turn?.ended_at ?? 0),
    queryFn: async () => {
      const query = { group_by: "model" as const, session_id: session.id };
      const { items } = await unwrap(api.GET("/api/v1/usage", { params: { query } }));
      return { models: items, total: totalOf(items) };
    },
    placeholderData: (before) => before,
  });
}

/** Costs are summed where they are in one currency. */
function totalOf(items: readonly Sum[]): Total {
  const total: Total = { calls: 0, tokens_in: 0, tokens_out: 0, cost: null, unpriced_calls: 0 };
  for (const one of items) {
    total.calls += one.calls;
    total.tokens_in += one.tokens_in;
    total.tokens_out += one.tokens_out;
    total.unpriced_calls += one.unpriced_calls;
    if (one.cost !== null && (total.cost === null || total.cost.currency === one.cost.currency)) {
      total.cost = { ...one.cost, amount: one.cost.amount + (total.cost?.amount ?? 0) };
    }
  }
  return total;
}
