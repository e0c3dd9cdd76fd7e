// What was chosen for the last new chat, and is offered for the next one.
import { remember, remembered } from "../../../app/memory";
import type { Schemas } from "../../../api/client";

type Preset = NonNullable<Schemas["AcpProgram"]["preset"]>;
export type Mode = "" | "plan" | "ask" | "accept_edits" | "free";

export type Choice = {
  agentId: string;
  machineId: string;
  runtime: string;
  preset: string;
  model: string;
  folder: string;
  worktree: boolean;
  mode: Mode;
};

export const NOTHING: Choice = {
  agentId: "",
  machineId: "",
  runtime: "",
  preset: "",
  model: "",
  folder: "",
  worktree: false,
  mode: "",
};

const KEY = "chat.choice";

export function lastChoice(): Choice {
  try {
    const kept: unknown = JSON.parse(remembered(KEY) ?? "{}");
    if (typeof kept === "object" && kept !== null) return sound({ ...NOTHING, ...kept });
  } catch {
    // Nothing that could be understood.
  }
  return NOTHING;
}

export function keepChoice(choice: Choice): void {
  remember(KEY, JSON.stringify(choice));
}

/** Only what has the type that is expected. */
function sound(given: Record<string, unknown>): Choice {
  const entries = Object.entries(NOTHING).map(([name, usual]) => {
    const value = given[name];
    return [name, typeof value === typeof usual ? value : usual];
  });
  return Object.fromEntries(entries) as Choice;
}

/** Without an agent that says otherwise, a chat asks before something dangerous is done. */
export function bodyOf(choice: Choice): Schemas["NewSession"] {
  const mode = choice.mode || (choice.agentId ? "" : "ask");
  const config = {
    ...(mode && { permission_mode: mode }),
    ...(choice.model.trim() && { model: choice.model.trim() }),
    ...(choice.runtime === "acp" && choice.preset && { acp: { preset: choice.preset as Preset } }),
  };
  return {
    ...(choice.agentId && { agent_id: choice.agentId }),
    ...(choice.machineId && { machine_id: choice.machineId }),
    ...(choice.runtime && { runtime_type: choice.runtime }),
    ...(Object.keys(config).length > 0 && { agent_config: config }),
    ...(choice.folder.trim() && { workspace: choice.folder.trim() }),
    ...(choice.folder.trim() && choice.worktree && { worktree: true }),
  };
}
