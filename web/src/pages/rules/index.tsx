// The rules of what agents may do, by whose sessions they are for; each can be taken back.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { queryClient } from "../../api/queries";
import { useMe } from "../../api/me";
import { useAgentName, useMachineName, useSessionRecord } from "../../approvals/names";
import { useWords } from "../../i18n";
import {
  AddButton,
  Badge,
  Button,
  ConfirmDialog,
  Empty,
  Page,
  Table,
  Time,
  toast,
  type Tone,
  Unread,
} from "../../ui";
import { Tabs } from "../../ui/Tabs";
import { Inline } from "../../ui/Inline";
import { RuleForm } from "./RuleForm";
import { words } from "./words";

type Rule = Schemas["Rule"];

export const LEVELS = ["user", "agent", "machine", "session", "org"] as const;
export type Level = (typeof LEVELS)[number];

const TONES: Record<Rule["effect"], Tone> = { allow: "good", ask: "warn", deny: "fail" };

export default function RulesPage() {
  const t = useWords(words);
  const [level, setLevel] = useState("all");
  const [isAdding, setAdding] = useState(false);
  const names = { all: t.all, user: t.users, agent: t.agents, machine: t.machines, session: t.sessions, org: t.orgs };
  const add = <AddButton onClick={() => setAdding(true)}>{t.add}</AddButton>;
  return (
    <Page title={t.rules} intro={<Inline text={t.intro} />} actions={add}>
      <Tabs
        label={t.filter}
        value={level}
        onChange={setLevel}
        tabs={(["all", ...LEVELS] as const).map((one) => ({
          value: one,
          label: names[one],
          content: one === level && <RuleList level={one === "all" ? null : one} />,
        }))}
      />
      {isAdding && <RuleForm onClose={() => setAdding(false)} />}
    </Page>
  );
}

function RuleList({ level }: { level: Level | null }) {
  const t = useWords(words);
  const [taken, setTaken] = useState<Rule | null>(null);
  const found = useInfiniteQuery({
    queryKey: keys.rules("list", level),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => {
      const query = { limit: 100, ...(level && { level }), ...(pageParam && { cursor: pageParam }) };
      return unwrap(api.GET("/api/v1/rules", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const rules = found.data?.pages.flatMap((page) => page.items);
  if (rules === undefined) return <Unread of={found} />;
  if (rules.length === 0) {
    const isAll = level === null;
    return <Empty title={isAll ? t.none : t.noneOfLevel}>{isAll ? t.noneHelp : t.noneOfLevelHelp}</Empty>;
  }
  return (
    <>
      <Table
        label={t.rules}
        rows={rules}
        rowKey={(rule) => rule.id}
        stacks
        columns={[
          { head: t.effect, cell: (rule) => <Badge tone={TONES[rule.effect]}>{t[rule.effect]}</Badge> },
          { head: t.rule, cell: (rule) => <code>{rule.rule}</code> },
          { head: t.holds, cell: (rule) => <Holds rule={rule} /> },
          { head: t.made, cell: (rule) => <Time at={rule.created_at} /> },
          { head: "", end: true, cell: (rule) => <TakeBack rule={rule} onTake={() => setTaken(rule)} /> },
        ]}
      />
      {found.hasNextPage && <Button onClick={() => void found.fetchNextPage()}>{t.more}</Button>}
      {taken !== null && <Taking rule={taken} onClose={() => setTaken(null)} />}
    </>
  );
}

function Holds({ rule }: { rule: Rule }) {
  const t = useWords(words);
  const me = useMe();
  const machine = useMachineName(rule.machine_id);
  const agent = useAgentName(rule.agent_id);
  const isOthers = rule.user_id !== null && rule.user_id !== me.user.id;
  const whose = isOthers ? ` (${t.ofSomebody})` : "";
  if (rule.session_id !== null) return <SessionName id={rule.session_id} />;
  if (rule.agent_id !== null) return `${t.agent}: ${agent}${whose}`;
  if (rule.machine_id !== null) return `${t.machine}: ${machine}${whose}`;
  return rule.user_id === null ? t.org : isOthers ? t.ofSomebody : t.user;
}

function SessionName({ id }: { id: string }) {
  const t = useWords(words);
  const session = useSessionRecord(id);
  return `${t.session}: ${session?.title ?? id}`;
}

/** Whoever wrote it, or an administrator. */
function TakeBack({ rule, onTake }: { rule: Rule; onTake: () => void }) {
  const t = useWords(words);
  const me = useMe();
  if (rule.created_by !== me.user.id && me.user.role === "member") return null;
  return (
    <Button small onClick={onTake} aria-label={`${t.remove}: ${rule.effect} ${rule.rule}`}>
      {t.remove}
    </Button>
  );
}

function Taking({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const t = useWords(words);
  const take = async () => {
    await unwrap(api.DELETE("/api/v1/rules/{rule_id}", { params: { path: { rule_id: rule.id } } }));
    await queryClient.invalidateQueries({ queryKey: keys.rules() });
    toast(t.removed);
  };
  return (
    <ConfirmDialog title={t.removeTitle} confirm={t.remove} danger onConfirm={take} onClose={onClose}>
      <p>
        <code>
          {rule.effect} {rule.rule}
        </code>
      </p>
      <p>{t.removeHelp}</p>
    </ConfirmDialog>
  );
}
