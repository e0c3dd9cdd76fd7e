import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "../../api/client";
import { agentsQuery } from "../../api/names";
import { useWords } from "../../i18n";
import { Button, Dialog, ErrorNote, Field, Input, Select, Textarea, toast } from "../../ui";
import { homesQuery, useChange, type Person } from "./data";
import { words } from "./words";

type Draft = Pick<Person, "name" | "prompt" | "model" | "machine_id" | "runtime_type" | "confirm">;

const NEW: Draft = {
  name: "",
  prompt: "",
  model: null,
  machine_id: null,
  runtime_type: null,
  confirm: "dangerous",
};
const RUNTIMES = ["semigraph", "claude-code", "openclaw", "acp"] as const;

/** A new person, or one that is changed. */
export function PersonDialog({ person, onClose }: { person: Person | null; onClose: () => void }) {
  const t = useWords(words);
  const [draft, setDraft] = useState<Draft>(person ?? NEW);
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const save = useChange(async (given: Draft) => {
    const { name, prompt, model, machine_id, runtime_type, confirm } = given;
    const body = { name, prompt, model, machine_id, runtime_type, confirm };
    if (person === null) return unwrap(api.POST("/api/v1/persons", { body }));
    const params = { path: { person_id: person.id } };
    return unwrap(api.PATCH("/api/v1/persons/{person_id}", { params, body }));
  });
  const submit = () =>
    save.mutate(draft, {
      onSuccess: () => {
        toast(person === null ? t.made(draft.name) : t.saved);
        onClose();
      },
    });
  return (
    <Dialog
      title={person === null ? t.newPerson : t.editPerson(person.name)}
      onClose={onClose}
      onSubmit={submit}
      wide
      actions={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button type="submit" look="primary" disabled={save.isPending || draft.name.trim() === ""}>
            {person === null ? t.create : t.save}
          </Button>
        </>
      }
    >
      <Field label={t.name} hint={t.nameHint}>
        <Input
          value={draft.name}
          autoFocus
          required
          maxLength={60}
          autoComplete="off"
          onChange={(event) => change({ name: event.target.value.replace(/^[@＠]/, "") })}
        />
      </Field>
      {person === null && <FromAgent onTake={change} />}
      <Field label={t.prompt} hint={t.promptHint}>
        <Textarea value={draft.prompt} rows={6} onChange={(event) => change({ prompt: event.target.value })} />
      </Field>
      <MachineField value={draft.machine_id} onChange={(machine_id) => change({ machine_id })} />
      <Field label={t.model}>
        <Input
          value={draft.model ?? ""}
          placeholder={t.defaultModel}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => change({ model: event.target.value.trim() || null })}
        />
      </Field>
      <Field label={t.runtime}>
        <Select
          value={draft.runtime_type ?? ""}
          choices={[
            { value: "", label: t.defaultRuntime },
            ...RUNTIMES.map((name) => ({ value: name, label: name })),
          ]}
          onChange={(event) => {
            const chosen = RUNTIMES.find((name) => name === event.target.value);
            change({ runtime_type: chosen ?? null });
          }}
        />
      </Field>
      <Field label={t.confirm}>
        <Select
          value={draft.confirm}
          choices={[
            { value: "dangerous", label: t.confirmDangerous },
            { value: "always", label: t.confirmAlways },
            { value: "never", label: t.confirmNever },
          ]}
          onChange={(event) => change({ confirm: event.target.value as Draft["confirm"] })}
        />
      </Field>
      {save.error !== null && <ErrorNote error={save.error} />}
    </Dialog>
  );
}

function FromAgent({ onTake }: { onTake: (changes: Partial<Draft>) => void }) {
  const t = useWords(words);
  const { data: agents = [] } = useQuery(agentsQuery);
  if (agents.length === 0) return null;
  const take = (agentId: string) => {
    const agent = agents.find((one) => one.id === agentId);
    if (agent === undefined) return;
    const { model, runtime_type, confirm } = agent;
    onTake({ prompt: agent.system_prompt ?? "", model, runtime_type, confirm });
  };
  return (
    <Field label={t.fromAgent} hint={t.fromAgentHint}>
      <Select
        defaultValue=""
        choices={[
          { value: "", label: t.fromAgentNone },
          ...agents.map((agent) => ({ value: agent.id, label: agent.name })),
        ]}
        onChange={(event) => take(event.target.value)}
      />
    </Field>
  );
}

function MachineField(props: { value: string | null; onChange: (machineId: string | null) => void }) {
  const t = useWords(words);
  const { data: machines = [] } = useQuery(homesQuery);
  const choices = machines.map((machine) => ({
    value: machine.id,
    label: machine.online ? machine.name : `${machine.name} (${t.offline})`,
  }));
  if (props.value !== null && machines.length > 0 && !machines.some((one) => one.id === props.value)) {
    choices.push({ value: props.value, label: `${props.value} (${t.gone})` });
  }
  return (
    <Field label={t.machine}>
      <Select
        value={props.value ?? ""}
        choices={[{ value: "", label: t.anyMachine }, ...choices]}
        onChange={(event) => props.onChange(event.target.value || null)}
      />
    </Field>
  );
}
