// The rules of one agent. They hold at once, also without saving the form.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { usePages } from "../../../api/pages";
import { useWords } from "../../../i18n";
import {
  Badge,
  Button,
  ErrorNote,
  Field,
  IconButton,
  Input,
  Listing,
  RecordItem,
  Records,
  records,
  Section,
  Select,
  toast,
  type Tone,
} from "../../../ui";
import { Inline } from "../../../ui/Inline";
import css from "./agents.module.css";
import { words } from "./words";

type Effect = Schemas["Rule"]["effect"];
const TONES: Record<Effect, Tone> = { allow: "good", ask: "warn", deny: "fail" };

export function Rules({ agentId }: { agentId: string | null }) {
  const t = useWords(words);
  return (
    <Section title={t.rules}>
      <p className={records.soft}>
        <Inline text={agentId === null ? t.rulesLater : t.rulesHelp} />
      </p>
      {agentId !== null && <Held agentId={agentId} />}
    </Section>
  );
}

function Held({ agentId }: { agentId: string }) {
  const t = useWords(words);
  const client = useQueryClient();
  const changed = () => client.invalidateQueries({ queryKey: keys.rules() });
  const list = usePages(keys.rules("agent", agentId), (cursor) =>
    unwrap(api.GET("/api/v1/rules", { params: { query: { agent_id: agentId, cursor } } })),
  );
  const removing = useMutation({
    mutationFn: (id: string) =>
      unwrap(api.DELETE("/api/v1/rules/{rule_id}", { params: { path: { rule_id: id } } })),
    onSuccess: changed,
    onError: toast,
  });
  return (
    <>
      <Listing of={list} empty={<p className={records.soft}>{t.noRules}</p>}>
        {(items) => (
          <Records label={t.rules}>
            {items.map((rule) => (
              <RecordItem
                key={rule.id}
                title={
                  <>
                    <Badge tone={TONES[rule.effect]}>{t[rule.effect]}</Badge>
                    <code>{rule.rule}</code>
                  </>
                }
                actions={
                  <IconButton label={t.removeRule(rule.rule)} onClick={() => removing.mutate(rule.id)}>
                    <X size={16} />
                  </IconButton>
                }
              />
            ))}
          </Records>
        )}
      </Listing>
      <NewRule agentId={agentId} onAdded={changed} />
    </>
  );
}

function NewRule({ agentId, onAdded }: { agentId: string; onAdded: () => Promise<void> }) {
  const t = useWords(words);
  const [effect, setEffect] = useState<Effect>("deny");
  const [rule, setRule] = useState("");
  const adding = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/rules", { body: { effect, rule, level: "agent", target: agentId } })),
    onSuccess: async () => {
      setRule("");
      await onAdded();
    },
  });
  return (
    <form
      className={css.newRule}
      onSubmit={(event) => {
        event.preventDefault();
        adding.mutate();
      }}
    >
      <Field label={t.effect}>
        <Select
          value={effect}
          onChange={(event) => setEffect(event.target.value as Effect)}
          choices={(["deny", "ask", "allow"] as const).map((value) => ({ value, label: t[value] }))}
        />
      </Field>
      <Field label={t.rule} hint={<Inline text={t.ruleHint} />}>
        <Input
          spellCheck={false}
          autoComplete="off"
          value={rule}
          onChange={(event) => setRule(event.target.value)}
        />
      </Field>
      <Button type="submit" disabled={rule.trim() === "" || adding.isPending}>
        {t.addRule}
      </Button>
      {adding.error && <ErrorNote error={adding.error} />}
    </form>
  );
}
