// An agent's form gives back what it was given, and changes nothing that it does not show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { draftOf, EMPTY, isSame, saidBy } from "../src/pages/operate/agents/draft.ts";

const AGENT = {
  id: "a",
  org_id: "o",
  user_id: "u",
  name: "Coder",
  description: null,
  system_prompt: "Be careful.\n",
  model: "m",
  temperature: 0,
  max_tokens: null,
  tools: ["bash"],
  confirm: "always" as const,
  permission_mode: "acceptEdits" as const,
  runtime_type: "acp" as const,
  skills: [],
  mcp_servers: null,
  sub_agents: ["b"],
  session_config: { max_turns: 8, evolution: true, network: "list" as const, network_hosts: ["a.example"] },
  openclaw_config: { x: 1 },
  agent_app: null,
  workspace: "~/src",
  acp: { command: ["my agent", "--acp"], env: { A: "1" } },
  created_at: 1,
};

test("what the form does not show stays", () => {
  const said = saidBy(draftOf(AGENT), AGENT);
  assert.deepEqual(said.session_config, AGENT.session_config);
  assert.deepEqual(said.acp, AGENT.acp);
  assert.deepEqual([said.temperature, said.tools, said.skills, said.mcp_servers], [0, ["bash"], [], null]);
  assert.equal(said.permission_mode, "accept_edits");
  assert.ok(!("openclaw_config" in said) && !("agent_app" in said));
});

test("what is emptied is cleared", () => {
  const said = saidBy({ ...draftOf(AGENT), max_turns: "", network: "", runtime_type: "", model: " " }, AGENT);
  assert.deepEqual(said.session_config, { evolution: true });
  assert.deepEqual([said.acp, said.runtime_type, said.model], [null, null, null]);
  assert.deepEqual(saidBy({ ...EMPTY, name: " x " }, null).session_config, null);
});

test("a form that was changed back is not changed", () => {
  assert.ok(isSame({ ...draftOf(AGENT), name: "Coder" }, draftOf(AGENT)));
  assert.ok(!isSame({ ...draftOf(AGENT), name: "Other" }, draftOf(AGENT)));
});
