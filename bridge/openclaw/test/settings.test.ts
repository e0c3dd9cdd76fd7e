import assert from "node:assert/strict";
import { test } from "node:test";
import { earlier } from "../src/history.ts";
import { readSettings } from "../src/settings.ts";

test("the session's own settings win over OpenClaw's, and those over the agent's", () => {
  const settings = readSettings(
    {
      agent_config: { model: "a", temperature: 0.1, max_tokens: 10, system_prompt: "Be kind." },
      openclaw_config: { tool_profile: "minimal", skills: ["pdf"], temperature: 0.2 },
      session_config: { model: "c", timeout_seconds: 5 },
    },
    [],
  );
  assert.equal(settings.model, "c");
  assert.equal(settings.temperature, 0.2);
  assert.equal(settings.maxTokens, 10);
  assert.equal(settings.systemPrompt, "Be kind.");
  assert.equal(settings.toolProfile, "minimal");
  assert.deepEqual(settings.skills, ["pdf"]);
  assert.equal(settings.timeoutSeconds, 5);
});

test("what makes no sense is left out, and said in words", () => {
  const problems: string[] = [];
  const settings = readSettings(
    {
      agent_config: { temperature: "hot", max_tokens: -1, system_prompt: 3 },
      openclaw_config: { tool_profile: "data-analysis", skills: "all", thinking: "wild" },
    },
    problems,
  );
  assert.equal(problems.length, 4);
  assert.equal(settings.temperature, undefined);
  assert.equal(settings.toolProfile, "coding");
  assert.equal(settings.systemPrompt, "");
});

test("nothing at all is a session with the defaults", () => {
  const problems: string[] = [];
  assert.equal(readSettings({ agent_config: null, session_config: [] }, problems).toolProfile, "coding");
  assert.deepEqual(problems, []);
});

test("the newest of what was said before fits in a note", () => {
  const long = "x".repeat(39_985);
  const note = earlier([
    { role: "user", content: "first" },
    { role: "assistant", content: long },
    7,
  ]);
  assert.match(note, /assistant: x/);
  assert.doesNotMatch(note, /first/);
  assert.equal(earlier([]), "");
  assert.equal(earlier("no"), "");
});
