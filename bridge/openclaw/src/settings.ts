/**
 * What a session's configuration says about its turns: read from `start` and from
 * `config_update`. A value that makes no sense is left out, and said in words.
 */

import { asNumber, asObject, asText, asTexts, type Json } from "./json.ts";

const SKILLS_MAX = 200;
const TURN_TIMEOUT_S = 3600;
const APPROVAL_TIMEOUT_S = 300;
const PROFILES = ["minimal", "coding", "messaging", "full"];
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

export interface Settings {
  systemPrompt: string;
  model: string;
  temperature?: number;
  maxTokens?: number;
  toolProfile: string;
  /** OpenClaw's own skills that may be used; undefined: none was named. */
  skills?: string[];
  thinking?: string;
  timeoutSeconds: number;
  approvalTimeoutSeconds: number;
}

/** Where several name a setting, the last wins: the agent's, OpenClaw's own, the session's. */
export function configOf(start: Json): Json {
  const session = asObject(start["session_config"]);
  return {
    ...asObject(start["agent_config"]),
    ...asObject(start["openclaw_config"]),
    ...session,
    ...asObject(session["openclaw_config"]),
  };
}

export function readSettings(start: Json, problems: string[]): Settings {
  const all = configOf(start);
  const temperature = within(all, "temperature", 0, 2, problems);
  const maxTokens = within(all, "max_tokens", 1, 10_000_000, problems);
  const skills = Array.isArray(all["skills"]) ? asTexts(all["skills"], SKILLS_MAX) : undefined;
  const thinking = oneOf(all, "thinking", LEVELS, problems);
  return {
    systemPrompt: asText(all["system_prompt"]) ?? "",
    model: asText(all["model"]) ?? "",
    toolProfile: oneOf(all, "tool_profile", PROFILES, problems) ?? "coding",
    timeoutSeconds: within(all, "timeout_seconds", 0.001, 86_400, problems) ?? TURN_TIMEOUT_S,
    approvalTimeoutSeconds:
      within(all, "approval_timeout_seconds", 0.001, 604_800, problems) ?? APPROVAL_TIMEOUT_S,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens: Math.floor(maxTokens) }),
    ...(skills === undefined ? {} : { skills }),
    ...(thinking === undefined ? {} : { thinking }),
  };
}

function within(
  all: Json,
  name: string,
  least: number,
  most: number,
  problems: string[],
): number | undefined {
  const given = all[name];
  if (given === undefined || given === null) return undefined;
  const value = asNumber(given);
  if (value !== undefined && value >= least && value <= most) return value;
  problems.push(`${name} is no number between ${least} and ${most}; it is left out`);
  return undefined;
}

function oneOf(all: Json, name: string, known: string[], problems: string[]): string | undefined {
  const given = all[name];
  if (given === undefined || given === null) return undefined;
  if (typeof given === "string" && known.includes(given)) return given;
  problems.push(`${name} ${JSON.stringify(given)?.slice(0, 60)} is none of ${known.join(", ")}`);
  return undefined;
}
