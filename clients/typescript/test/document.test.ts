// The document that the types are made of: whoever generates a client of it finds names, descriptions
// and nothing that leads nowhere.
import { createConfig, lint } from "@redocly/openapi-core";
import assert from "node:assert/strict";
import { test } from "node:test";

test("the linter of OpenAPI documents finds nothing", async () => {
  const rules = { "operation-operationId": "error", "parameter-description": "error", "tag-description": "error" } as const;
  const config = await createConfig({ extends: ["recommended-strict"], rules });
  const found = await lint({ ref: "openapi.json", config });
  assert.deepEqual(found.map((one) => `${one.ruleId} ${one.message} ${one.location[0]?.pointer}`), []);
});
