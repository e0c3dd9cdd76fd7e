// An agent as its form holds it: every field a string or a list, empty where nothing is said.
import type { Schemas } from "../../../api/client";

type Agent = Schemas["Agent"];
type NewAgent = Schemas["NewAgent"];

export type Draft = {
  name: string;
  description: string;
  system_prompt: string;
  model: string;
  runtime_type: Agent["runtime_type"] | "";
  /** A preset of ACP, or empty with a `command`. */
  preset: string;
  command: string;
  workspace: string;
  permission_mode: NonNullable<Agent["permission_mode"]> | "";
  confirm: Agent["confirm"];
  /** Null: all of them. */
  tools: string[] | null;
  skills: string[] | null;
  mcp_servers: string[] | null;
  sub_agents: string[];
  temperature: string;
  max_tokens: string;
  max_turns: string;
  timeout_seconds: string;
  thinking_tokens: string;
  network: "" | "open" | "off" | "list";
  network_hosts: string;
};

type Config = Record<string, unknown>;
const NUMBERS = ["max_turns", "timeout_seconds", "thinking_tokens"] as const;

export const EMPTY: Draft = {
  name: "",
  description: "",
  system_prompt: "",
  model: "",
  runtime_type: "",
  preset: "",
  command: "",
  workspace: "",
  permission_mode: "",
  confirm: "dangerous",
  tools: null,
  skills: null,
  mcp_servers: null,
  sub_agents: [],
  temperature: "",
  max_tokens: "",
  max_turns: "",
  timeout_seconds: "",
  thinking_tokens: "",
  network: "",
  network_hosts: "",
};

export function draftOf(agent: Agent): Draft {
  const config = (agent.session_config ?? {}) as Config;
  const network = config["network"];
  return {
    name: agent.name,
    description: agent.description ?? "",
    system_prompt: agent.system_prompt ?? "",
    model: agent.model ?? "",
    runtime_type: agent.runtime_type ?? "",
    preset: agent.acp?.preset ?? "",
    command: agent.acp?.command?.join("\n") ?? "",
    workspace: agent.workspace ?? "",
    permission_mode: ownMode(agent.permission_mode),
    confirm: agent.confirm,
    // No tools at all means all of them too: see docs/guide/agents.md.
    tools: agent.tools?.length ? agent.tools : null,
    skills: agent.skills ?? null,
    mcp_servers: agent.mcp_servers ?? null,
    sub_agents: agent.sub_agents ?? [],
    temperature: numberText(agent.temperature),
    max_tokens: numberText(agent.max_tokens),
    max_turns: numberText(config["max_turns"]),
    timeout_seconds: numberText(config["timeout_seconds"]),
    thinking_tokens: numberText(config["thinking_tokens"]),
    network: network === "open" || network === "off" || network === "list" ? network : "",
    network_hosts: Array.isArray(config["network_hosts"]) ? config["network_hosts"].join("\n") : "",
  };
}

/** What the form says; null clears a field. `before`: its record, whose other settings stay. */
export function saidBy(draft: Draft, before: Agent | null): NewAgent {
  return {
    name: draft.name.trim(),
    description: draft.description.trim() || null,
    system_prompt: draft.system_prompt.trim() ? draft.system_prompt : null,
    model: draft.model.trim() || null,
    runtime_type: draft.runtime_type || null,
    acp: acpOf(draft, before),
    workspace: draft.workspace.trim() || null,
    permission_mode: draft.permission_mode || null,
    confirm: draft.confirm,
    tools: draft.tools,
    skills: draft.skills,
    mcp_servers: draft.mcp_servers,
    sub_agents: draft.sub_agents.length > 0 ? draft.sub_agents : null,
    temperature: numberOf(draft.temperature),
    max_tokens: numberOf(draft.max_tokens),
    session_config: configOf(draft, before),
  };
}

function acpOf(draft: Draft, before: Agent | null): NewAgent["acp"] {
  if (draft.runtime_type !== "acp") return null;
  const env = before?.acp?.env && { env: before.acp.env };
  if (draft.preset) return { preset: draft.preset as "copilot", ...env };
  const command = lines(draft.command);
  return command.length > 0 ? { command, ...env } : null;
}

function configOf(draft: Draft, before: Agent | null): NewAgent["session_config"] {
  const config: Config = { ...before?.session_config };
  for (const name of NUMBERS) put(config, name, numberOf(draft[name]));
  put(config, "network", draft.network || null);
  put(config, "network_hosts", draft.network === "list" ? lines(draft.network_hosts) : null);
  return Object.keys(config).length > 0 ? config : null;
}

function put(config: Config, name: string, value: unknown): void {
  if (value === null) delete config[name];
  else config[name] = value;
}

export function lines(text: string): string[] {
  return text.split("\n").map((one) => one.trim()).filter((one) => one !== "");
}

function numberOf(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

function numberText(value: unknown): string {
  return typeof value === "number" ? String(value) : "";
}

/** What Claude Code calls two of the modes is shown as ours. */
function ownMode(mode: Agent["permission_mode"]): Draft["permission_mode"] {
  if (mode === "acceptEdits") return "accept_edits";
  return mode === "default" || mode == null ? "" : mode;
}

export function isSame(one: Draft, other: Draft): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
