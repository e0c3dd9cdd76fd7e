// The fields of an agent's form, in three groups.
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, unwrap } from "../../../api/client";
import { agentsQuery } from "../../../api/names";
import { useWords } from "../../../i18n";
import { Field, Input, records, Section, Select, Textarea } from "../../../ui";
import { useModelNames } from "../../models/names";
import css from "./agents.module.css";
import { Choose } from "./Choose";
import { lines, type Draft } from "./draft";
import { words } from "./words";

export type FieldsProps = { draft: Draft; set: (change: Partial<Draft>) => void };

const PRESETS = ["copilot", "opencode", "gemini", "codex", "goose"];

export function Basics({ draft, set }: FieldsProps) {
  const t = useWords(words);
  const list = useId();
  const [isAsked, setAsked] = useState(false);
  const models = useModelNames(isAsked);
  return (
    <Section title={t.basics}>
      <div className={records.form}>
        <Field label={t.name}>
          <Input
            required
            maxLength={200}
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        </Field>
        <Field label={t.description} hint={t.descriptionHint}>
          <Input value={draft.description} onChange={(event) => set({ description: event.target.value })} />
        </Field>
        <Field label={t.prompt} hint={t.promptHint}>
          <Textarea
            rows={10}
            value={draft.system_prompt}
            onChange={(event) => set({ system_prompt: event.target.value })}
          />
        </Field>
        <div className={records.columns}>
          <Field label={t.model} hint={t.modelHint}>
            <Input
              list={list}
              autoComplete="off"
              spellCheck={false}
              value={draft.model}
              onFocus={() => setAsked(true)}
              onChange={(event) => set({ model: event.target.value })}
            />
          </Field>
          <datalist id={list}>
            {models.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <Field label={t.runtime} hint={t.runtimeHint}>
            <Select
              value={draft.runtime_type ?? ""}
              onChange={(event) => set({ runtime_type: event.target.value as Draft["runtime_type"] })}
              choices={[
                { value: "", label: t.runtimeDefault },
                { value: "semigraph", label: t.semigraph },
                { value: "claude-code", label: t.claudeCode },
                { value: "openclaw", label: t.openclaw },
                { value: "acp", label: t.acp },
              ]}
            />
          </Field>
        </div>
        {draft.runtime_type === "acp" && <Program draft={draft} set={set} />}
        <Field label={t.folder} hint={t.folderHint}>
          <Input
            spellCheck={false}
            autoComplete="off"
            value={draft.workspace}
            onChange={(event) => set({ workspace: event.target.value })}
          />
        </Field>
      </div>
    </Section>
  );
}

function Program({ draft, set }: FieldsProps) {
  const t = useWords(words);
  return (
    <>
      <Field label={t.program}>
        <Select
          value={draft.preset}
          onChange={(event) => set({ preset: event.target.value })}
          choices={[
            ...PRESETS.map((value) => ({ value, label: value })),
            { value: "", label: t.ownCommand },
          ]}
        />
      </Field>
      {draft.preset === "" && (
        <Field label={t.command} hint={t.commandHint}>
          <Textarea
            rows={2}
            spellCheck={false}
            value={draft.command}
            onChange={(event) => set({ command: event.target.value })}
          />
        </Field>
      )}
    </>
  );
}

export function Permissions({ draft, set }: FieldsProps) {
  const t = useWords(words);
  return (
    <Section title={t.asks}>
      <div className={records.columns}>
        <Field label={t.mode} hint={t.modeHint}>
          <Select
            value={draft.permission_mode}
            onChange={(event) =>
              set({ permission_mode: event.target.value as Draft["permission_mode"] })
            }
            choices={[
              { value: "", label: t.modeConfirm },
              { value: "plan", label: t.modePlan },
              { value: "ask", label: t.modeAsk },
              { value: "accept_edits", label: t.modeAcceptEdits },
              { value: "free", label: t.modeFree },
            ]}
          />
        </Field>
        {draft.permission_mode === "" && (
          <Field label={t.confirm}>
            <Select
              value={draft.confirm}
              onChange={(event) => set({ confirm: event.target.value as Draft["confirm"] })}
              choices={[
                { value: "dangerous", label: t.confirmDangerous },
                { value: "always", label: t.confirmAlways },
                { value: "never", label: t.confirmNever },
              ]}
            />
          </Field>
        )}
      </div>
      <Reach draft={draft} set={set} />
    </Section>
  );
}

/** Tools, skills and servers: all, or those that are named. */
function Reach({ draft, set }: FieldsProps) {
  const t = useWords(words);
  const { data } = useQuery({
    queryKey: ["tools"],
    queryFn: () => unwrap(api.GET("/api/v1/tools")),
  });
  const known = data?.items ?? [];
  const named = (kind: (typeof known)[number]["kind"]) =>
    known.filter((one) => one.kind === kind).map((one) => one.name);
  const isOurs = draft.runtime_type === "" || draft.runtime_type === "semigraph";
  return (
    <>
      <Choose
        label={t.tools}
        known={isOurs ? named("built_in") : []}
        chosen={draft.tools}
        onChange={(tools) => set({ tools })}
        other={{ label: t.toolsOther, hint: t.toolsOtherHint }}
        noneMeans={t.toolsNone}
      />
      <Choose
        label={t.skills}
        known={named("skill")}
        chosen={draft.skills}
        onChange={(skills) => set({ skills })}
      />
      <Choose
        label={t.servers}
        known={named("mcp_server")}
        chosen={draft.mcp_servers}
        onChange={(mcp_servers) => set({ mcp_servers })}
      />
    </>
  );
}

export function More({ draft, set, agentId }: FieldsProps & { agentId: string | null }) {
  const t = useWords(words);
  const { data } = useQuery(agentsQuery);
  const others = (data ?? []).filter((one) => one.id !== agentId);
  const number = (name: "temperature" | "max_tokens" | "max_turns" | "timeout_seconds" | "thinking_tokens") => ({
    type: "number",
    value: draft[name],
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  return (
    <details className={css.more}>
      <summary>{t.more}</summary>
      <div className={records.form}>
        <div className={records.columns}>
          <Field label={t.temperature} hint={t.temperatureHint}>
            <Input min={0} max={2} step={0.1} {...number("temperature")} />
          </Field>
          <Field label={t.maxTokens}>
            <Input min={1} {...number("max_tokens")} />
          </Field>
          <Field label={t.thinking}>
            <Input min={0} {...number("thinking_tokens")} />
          </Field>
          <Field label={t.maxTurns}>
            <Input min={1} max={1000} placeholder="50" {...number("max_turns")} />
          </Field>
          <Field label={t.timeout}>
            <Input min={1} placeholder="3600" {...number("timeout_seconds")} />
          </Field>
          <Field label={t.network}>
            <Select
              value={draft.network}
              onChange={(event) => set({ network: event.target.value as Draft["network"] })}
              choices={[
                { value: "", label: t.networkDefault },
                { value: "open", label: t.networkOpen },
                { value: "off", label: t.networkOff },
                { value: "list", label: t.networkList },
              ]}
            />
          </Field>
        </div>
        {draft.network === "list" && (
          <Field label={t.hosts} hint={t.hostsHint}>
            <Textarea
              rows={Math.max(2, lines(draft.network_hosts).length + 1)}
              spellCheck={false}
              value={draft.network_hosts}
              onChange={(event) => set({ network_hosts: event.target.value })}
            />
          </Field>
        )}
        <Choose
          label={t.helpers}
          none={t.noHelpers}
          known={others.map((one) => one.id)}
          names={Object.fromEntries(others.map((one) => [one.id, one.name]))}
          chosen={draft.sub_agents}
          onChange={(chosen) => set({ sub_agents: chosen ?? [] })}
          neverAll
        />
      </div>
    </details>
  );
}
