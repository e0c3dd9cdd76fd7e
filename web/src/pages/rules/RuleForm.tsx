// A new rule: how it is read is shown while it is written, and a call can be tried on it.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { api, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { useMe } from "../../api/me";
import { queryClient } from "../../api/queries";
import { useWords } from "../../i18n";
import { Badge, Button, Dialog, ErrorNote, explain, Field, Input, Select, type Choice } from "../../ui";
import { Inline } from "../../ui/Inline";
import { LEVELS, type Level } from ".";
import { words } from "./words";

type Effect = Schemas["Rule"]["effect"];

export function RuleForm({ onClose }: { onClose: () => void }) {
  const t = useWords(words);
  const me = useMe();
  const [effect, setEffect] = useState<Effect>("allow");
  const [level, setLevel] = useState<Level>("user");
  const [target, setTarget] = useState("");
  const [rule, setRule] = useState("");
  const [call, setCall] = useState("");
  const trial = useTrial(effect, rule, call);
  const names = { user: t.user, agent: t.agent, machine: t.machine, session: t.session, org: t.org };
  const isTargeted = level !== "user" && level !== "org";
  const add = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/rules", { body: { effect, rule, level, target: isTargeted ? target : null } })),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: keys.rules() });
      onClose();
    },
  });
  const levels = LEVELS.filter((one) => one !== "org" || me.user.role !== "member");
  const isReady = rule.trim() !== "" && trial.error === null && (!isTargeted || target !== "");
  return (
    <Dialog
      title={t.add}
      onClose={onClose}
      onSubmit={() => isReady && !add.isPending && add.mutate()}
      actions={
        <Button type="submit" look="primary" disabled={!isReady || add.isPending}>
          {t.save}
        </Button>
      }
    >
      <Field label={t.effect}>
        <Select
          value={effect}
          onChange={(event) => setEffect(event.target.value as Effect)}
          choices={[
            { value: "allow", label: t.allowHelp },
            { value: "ask", label: t.askHelp },
            { value: "deny", label: t.denyHelp },
          ]}
        />
      </Field>
      <Field
        label={t.rule}
        hint={trial.data ? t.readAs(trial.data.rule) : <Inline text={t.ruleHint} />}
        error={rule.trim() !== "" && trial.error !== null && explain(trial.error)}
      >
        <Input
          value={rule}
          maxLength={1000}
          autoFocus
          spellCheck={false}
          autoCapitalize="off"
          onChange={(event) => setRule(event.target.value)}
        />
      </Field>
      {trial.data && (
        <Trial about={trial.data.about} matches={call.trim() ? trial.data.matches : null} call={call} onCall={setCall} />
      )}
      <Field label={t.forWhom}>
        <Select
          value={level}
          onChange={(event) => {
            setLevel(event.target.value as Level);
            setTarget("");
          }}
          choices={levels.map((one) => ({ value: one, label: names[one] }))}
        />
      </Field>
      {isTargeted && <Target level={level} label={t.which(names[level])} value={target} onChange={setTarget} />}
      {add.error !== null && <ErrorNote error={add.error} />}
    </Dialog>
  );
}

function useTrial(effect: Effect, rule: string, call: string) {
  const wanted = useDeferredValue(rule.trim());
  const tried = useDeferredValue(call.trim());
  return useQuery({
    queryKey: keys.rules("trial", effect, wanted, tried),
    queryFn: () =>
      unwrap(api.GET("/api/v1/rules/trial", { params: { query: { effect, rule: wanted, call: tried } } })),
    enabled: wanted !== "",
    staleTime: Infinity,
    placeholderData: (before) => (wanted === "" ? undefined : before),
  });
}

function Trial(props: {
  about: Schemas["RuleTrial"]["about"];
  matches: boolean | null;
  call: string;
  onCall: (call: string) => void;
}) {
  const t = useWords(words);
  const hints = { command: t.tryCommand, path: t.tryPath, domain: t.tryDomain, tool: t.tryTool };
  return (
    <Field
      label={t.tryIt}
      hint={
        props.matches === null ? (
          hints[props.about]
        ) : (
          <Badge tone={props.matches ? "good" : "neutral"}>{props.matches ? t.matches : t.matchesNot}</Badge>
        )
      }
    >
      <Input
        value={props.call}
        maxLength={4000}
        spellCheck={false}
        autoCapitalize="off"
        onChange={(event) => props.onCall(event.target.value)}
      />
    </Field>
  );
}

function Target(props: {
  level: "agent" | "machine" | "session";
  label: string;
  value: string;
  onChange: (id: string) => void;
}) {
  const t = useWords(words);
  const { data, error } = useQuery({ queryKey: keys.rules("targets", props.level), queryFn: () => targets(props.level) });
  const choices: Choice[] = [{ value: "", label: t.choose, disabled: true }, ...(data ?? [])];
  return (
    <Field label={props.label} error={error !== null && explain(error)}>
      <Select value={props.value} choices={choices} onChange={(event) => props.onChange(event.target.value)} />
    </Field>
  );
}

async function targets(level: "agent" | "machine" | "session"): Promise<Choice[]> {
  const some = { params: { query: { limit: 200 } } };
  if (level === "agent") {
    const { items } = await unwrap(api.GET("/api/v1/agents", some));
    return items.map((one) => ({ value: one.id, label: one.name }));
  }
  if (level === "machine") {
    const { items } = await unwrap(api.GET("/api/v1/machines", some));
    return items.map((one) => ({ value: one.id, label: one.name }));
  }
  const { items } = await unwrap(api.GET("/api/v1/sessions", some));
  return items.map((one) => ({ value: one.id, label: one.title ?? one.id }));
}
