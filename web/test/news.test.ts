import assert from "node:assert/strict";
import { test } from "node:test";

import { QueryClient, QueryObserver } from "@tanstack/react-query";

import { BY_HAND } from "../src/api/keys.ts";
import { NewsDesk } from "../src/live/news.ts";

test("a line that came back has lists read again, but asks for nothing that a person asks for", async () => {
  const client = new QueryClient();
  const asked = { list: 0, link: 0 };
  const watch = (name: keyof typeof asked, meta?: Record<string, unknown>) =>
    new QueryObserver(client, {
      queryKey: [name],
      queryFn: () => (asked[name] += 1),
      staleTime: Infinity,
      ...(meta && { meta }),
    }).subscribe(() => undefined);
  const stops = [watch("list"), watch("link", BY_HAND)];
  const idle = async () => {
    while (client.isFetching() > 0) await new Promise(setImmediate);
  };
  await idle();
  new NewsDesk(client).take({ kind: "connected" });
  await idle();
  assert.deepEqual(asked, { list: 2, link: 1 });
  for (const stop of stops) stop();
  client.clear();
});
