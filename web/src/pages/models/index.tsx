// Models: which one is used, whose keys there are, who uses which, what they cost.
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { agentsQuery } from "../../api/names";
import { useWords } from "../../i18n";
import {
  AddButton,
  Badge,
  type Column,
  ErrorNote,
  Facts,
  Input,
  Page,
  Section,
  Table,
  Waiting,
} from "../../ui";
import { KeyForm } from "./KeyForm";
import { Providers } from "./Providers";
import css from "./models.module.css";
import { modelsQuery } from "./queries";
import { words } from "./words";

type Models = Schemas["ModelOverview"];
type Price = Schemas["ModelPrice"];
type Agent = Schemas["Agent"];

export default function ModelsPage() {
  const t = useWords(words);
  const asked = useLocation({ select: (location) => location.hash === "add" });
  const [isAdding, setAdding] = useState(asked);
  const { data, error, refetch } = useQuery(modelsQuery);
  const add = <AddButton onClick={() => setAdding(true)}>{t.add}</AddButton>;
  return (
    <Page title={t.title} intro={t.intro} actions={add}>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && (
        <>
          <InUse models={data} />
          <Providers providers={data.providers} />
          <UsedByAgents models={data} />
          <Prices models={data} />
        </>
      )}
      {isAdding && <KeyForm onClose={() => setAdding(false)} />}
    </Page>
  );
}

function InUse({ models }: { models: Models }) {
  const t = useWords(words);
  const used = models.default;
  if (used === null)
    return (
      <Section title={t.inUse}>
        <p className={css.soft}>{t.unknown}</p>
      </Section>
    );
  const why = { user: t.byUser, setting: t.bySetting, keys: t.byKeys, nobody: t.builtInHelp };
  return (
    <Section title={t.inUse}>
      <Facts
        of={[
          [
            t.default,
            <span className={css.use}>
              <strong>{used.name}</strong>
              {used.is_built_in && <Badge tone="accent">{t.builtIn}</Badge>}
              <span className={css.soft}>{why[used.chosen_by]}</span>
            </span>,
          ],
          models.fallback ? [t.fallback, models.fallback] : null,
        ]}
      />
    </Section>
  );
}

/** As the server finds prices: by the whole name, else without its provider's. */
function priceOf(models: Models, name: string): Price | undefined {
  const plain = name.slice(name.lastIndexOf("/") + 1);
  const byName = (wanted: string) => models.prices.find((price) => price.name === wanted);
  return byName(name) ?? byName(plain);
}

function UsedByAgents({ models }: { models: Models }) {
  const t = useWords(words);
  const { data, error } = useQuery(agentsQuery);
  const columns: Column<Agent>[] = [
    {
      head: t.agent,
      cell: (agent) => (
        <Link to="/agents/$agentId" params={{ agentId: agent.id }}>
          {agent.name}
        </Link>
      ),
    },
    {
      head: t.model,
      cell: (agent) => agent.model ?? <span className={css.soft}>{t.theDefault}</span>,
    },
    {
      head: t.price,
      cell: (agent) => {
        const name = agent.model ?? models.default?.name;
        const price = name === undefined ? undefined : priceOf(models, name);
        if (price === undefined) return <span className={css.soft}>{t.noPrice}</span>;
        return t.priceOf(String(price.input), String(price.output));
      },
    },
  ];
  return (
    <Section title={t.agents}>
      {error !== null && <ErrorNote error={error} />}
      {data?.length === 0 && <p className={css.soft}>{t.noAgents}</p>}
      {data !== undefined && data.length > 0 && (
        <Table label={t.agents} columns={columns} rows={data} rowKey={(agent) => agent.id} />
      )}
    </Section>
  );
}

function Prices({ models }: { models: Models }) {
  const t = useWords(words);
  const [wanted, setWanted] = useState("");
  const shown = models.prices.filter((price) => price.name.includes(wanted.trim().toLowerCase()));
  const columns: Column<Price>[] = [
    { head: t.model, cell: (price) => price.name },
    { head: t.input, end: true, cell: (price) => price.input },
    { head: t.output, end: true, cell: (price) => price.output },
    { head: t.cacheRead, end: true, cell: (price) => price.cache_read ?? "" },
  ];
  return (
    <Section title={t.prices}>
      <p className={css.soft}>{t.pricesIntro(models.currency)}</p>
      <Input
        type="search"
        className={css.filter}
        aria-label={t.filter}
        placeholder={t.filter}
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
      />
      {shown.length === 0 ? (
        <p className={css.soft}>{t.noneFits}</p>
      ) : (
        <Table label={t.prices} columns={columns} rows={shown} rowKey={(price) => price.name} />
      )}
    </Section>
  );
}
