// Who answers in a new chat, where, with which program, in which folder, and what it may do.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { agentsQuery, machinesQuery } from "../../../api/names";
import { useWords } from "../../../i18n";
import { Button, Checkbox, Dialog, Empty, ErrorNote, Field, Input, Select } from "../../../ui";
import { Tabs } from "../../../ui/Tabs";
import { useModelNames } from "../../models/names";
import { Adopt } from "./Adopt";
import { bodyOf, keepChoice, lastChoice, type Choice, type Mode } from "./choice";
import { presetsOf, runtimesOf, type Machine } from "./machines";
import { useMake } from "./make";
import css from "./start.module.css";
import { words } from "./words";

export function NewChatDialog(props: { problem: Error | null; onClose: () => void }) {
  const t = useWords(words);
  const { data } = useQuery(machinesQuery);
  const machines = (data ?? []).filter((one) => one.kind !== "group");
  const [tab, setTab] = useState("new");
  const make = useMake();
  const [choice, setChoice] = useState(lastChoice);
  const begin = () => {
    keepChoice(choice);
    make.mutate(bodyOf(choice), { onSuccess: props.onClose });
  };
  const error = make.error ?? (make.isIdle ? props.problem : null);
  const isNobody = data !== undefined && !machines.some((machine) => machine.online);
  return (
    <Dialog
      title={t.newChat}
      onClose={props.onClose}
      onSubmit={() => tab === "new" && begin()}
      actions={
        tab === "new" && (
          <>
            <Button onClick={props.onClose}>{t.cancel}</Button>
            <Button type="submit" look="primary" disabled={make.isPending}>
              {t.begin}
            </Button>
          </>
        )
      }
    >
      {isNobody && (
        <Empty title={t.noMachine} action={<Link to="/machines">{t.toMachines}</Link>}>
          {t.noMachineHelp}
        </Empty>
      )}
      {error !== null && <ErrorNote error={error} />}
      <Tabs
        label={t.newChat}
        value={tab}
        onChange={setTab}
        tabs={[
          {
            value: "new",
            label: t.made,
            content: <Fields machines={machines} choice={choice} onChange={setChoice} />,
          },
          {
            value: "adopt",
            label: t.adopt,
            content: tab === "adopt" && <Adopt machines={machines} onDone={props.onClose} />,
          },
        ]}
      />
    </Dialog>
  );
}

type FieldsProps = { machines: Machine[]; choice: Choice; onChange: (choice: Choice) => void };

function Fields({ machines, choice, onChange }: FieldsProps) {
  const t = useWords(words);
  const { data: agents } = useQuery(agentsQuery);
  const list = useId();
  const [isAsked, setAsked] = useState(false);
  const models = useModelNames(isAsked);
  const set = (change: Partial<Choice>) => onChange({ ...choice, ...change });
  const runtimes = runtimesOf(machines, choice.machineId);
  const presets = presetsOf(machines, choice.machineId);
  const named = [choice.runtime, ...runtimes].filter((one, at, all) => one && all.indexOf(one) === at);
  const modes: [Mode, string][] = [
    ["", t.modeUsual],
    ["plan", t.modePlan],
    ["ask", t.modeAsk],
    ["accept_edits", t.modeEdits],
    ["free", t.modeFree],
  ];
  return (
    <div className={css.adopt}>
      <Field label={t.agent}>
        <Select
          value={agents?.some((agent) => agent.id === choice.agentId) ? choice.agentId : ""}
          choices={[
            { value: "", label: t.noAgent },
            ...(agents ?? []).map((agent) => ({ value: agent.id, label: agent.name })),
          ]}
          onChange={(event) => set({ agentId: event.target.value })}
        />
      </Field>
      <Field label={t.machine}>
        <Select
          value={machines.some((machine) => machine.id === choice.machineId) ? choice.machineId : ""}
          choices={[
            { value: "", label: t.anyMachine },
            ...machines.map((machine) => ({
              value: machine.id,
              label: machine.online ? machine.name : t.machineOffline(machine.name),
            })),
          ]}
          onChange={(event) => set({ machineId: event.target.value })}
        />
      </Field>
      <Field label={t.runtime}>
        <Select
          value={choice.runtime}
          choices={[
            { value: "", label: t.usualRuntime },
            ...named.map((name) => ({ value: name, label: name, disabled: !runtimes.includes(name) })),
          ]}
          onChange={(event) => set({ runtime: event.target.value })}
        />
      </Field>
      {choice.runtime === "acp" && (
        <Field label={t.program}>
          <Select
            value={choice.preset}
            choices={["", ...presets].map((name) => ({ value: name, label: name || t.usualRuntime }))}
            onChange={(event) => set({ preset: event.target.value })}
          />
        </Field>
      )}
      <Field label={t.model} hint={t.modelHint}>
        <Input
          list={list}
          autoComplete="off"
          spellCheck={false}
          value={choice.model}
          maxLength={200}
          onFocus={() => setAsked(true)}
          onChange={(event) => set({ model: event.target.value })}
        />
      </Field>
      <datalist id={list}>
        {models.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field label={t.folder} hint={t.folderHint}>
        <Input value={choice.folder} maxLength={4000} onChange={(event) => set({ folder: event.target.value })} />
      </Field>
      {choice.folder.trim() !== "" && (
        <Checkbox label={t.worktree} checked={choice.worktree} onChange={(worktree) => set({ worktree })} />
      )}
      <Field label={t.mode}>
        <Select
          value={choice.mode}
          choices={modes.map(([value, label]) => ({ value, label }))}
          onChange={(event) => set({ mode: event.target.value as Mode })}
        />
      </Field>
    </div>
  );
}
