// The keys and addresses that there are; those of the server's environment can only be looked at.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useMe } from "../../api/me";
import { useWords } from "../../i18n";
import {
  Badge,
  Button,
  ConfirmDialog,
  Dialog,
  Empty,
  Menu,
  Section,
  Time,
  toast,
} from "../../ui";
import { KeyForm } from "./KeyForm";
import css from "./models.module.css";
import { Outcome } from "./Outcome";
import { removeKey, setDefault, testKey } from "./queries";
import { words } from "./words";

type Provider = Schemas["KnownProvider"];
type Doing = { what: "test" | "change" | "default" | "remove"; provider: Provider } | null;

export function Providers({ providers }: { providers: Provider[] }) {
  const t = useWords(words);
  const me = useMe();
  const [doing, setDoing] = useState<Doing>(null);
  const close = () => setDoing(null);
  const chosen = doing?.provider;
  return (
    <Section title={t.keys}>
      {providers.length === 0 ? (
        <Empty title={t.noKeys}>{t.noKeysHelp}</Empty>
      ) : (
        <ul className={css.list}>
          {providers.map((one) => (
            <li key={one.provider} className={css.provider}>
              <strong>{one.provider}</strong>
              <span className={css.soft}>{one.base_url ?? t.ownAddress}</span>
              <span>
                {one.default_model !== null && (
                  <Badge tone="accent">
                    {t.defaultModel}: {one.default_model}
                  </Badge>
                )}
              </span>
              <span className={css.soft}>
                {one.source === "server" ? t.fromServer : <Time at={one.created_at} />}
              </span>
              <span className={css.menu}>
                <Actions of={one} onDo={setDoing} userId={me.user.id} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {doing?.what === "test" && <TestDialog provider={doing.provider.provider} onClose={close} />}
      {(doing?.what === "change" || doing?.what === "default") && chosen !== undefined && (
        <KeyForm
          provider={chosen.provider}
          baseUrl={chosen.base_url}
          isKept={doing.what === "default"}
          onClose={close}
        />
      )}
      {doing?.what === "remove" && chosen !== undefined && (
        <ConfirmDialog
          title={t.removeTitle(chosen.provider)}
          confirm={t.remove}
          danger
          onConfirm={() => removeKey(me.user.id, chosen.provider)}
          onClose={close}
        >
          <p>{t.removeHelp}</p>
        </ConfirmDialog>
      )}
    </Section>
  );
}

const SEARCHERS = ["tavily", "brave", "searxng"];

function Actions(props: { of: Provider; userId: string; onDo: (doing: Doing) => void }) {
  const t = useWords(words);
  const { of: provider, userId, onDo } = props;
  const isStored = provider.source === "stored";
  const hasModels = !SEARCHERS.includes(provider.provider);
  if (!isStored && !hasModels) return null;
  const forget = () => void setDefault(userId, provider.provider, null).catch(toast);
  return (
    <Menu
      label={t.actions(provider.provider)}
      items={[
        hasModels ? { label: t.test, onSelect: () => onDo({ what: "test", provider }) } : null,
        isStored ? { label: t.change, onSelect: () => onDo({ what: "change", provider }) } : null,
        isStored && hasModels
          ? { label: t.chooseDefault, onSelect: () => onDo({ what: "default", provider }) }
          : null,
        isStored && provider.default_model !== null
          ? { label: t.removeDefault, onSelect: forget }
          : null,
        isStored ? "line" : null,
        isStored
          ? { label: t.remove, danger: true, onSelect: () => onDo({ what: "remove", provider }) }
          : null,
      ]}
    />
  );
}

function TestDialog({ provider, onClose }: { provider: string; onClose: () => void }) {
  const t = useWords(words);
  const me = useMe();
  const testing = useMutation({ mutationFn: () => testKey(me.user.id, provider, {}) });
  const models = testing.data?.models ?? [];
  return (
    <Dialog
      title={`${t.test}: ${provider}`}
      onClose={onClose}
      onSubmit={() => testing.mutate()}
      actions={
        <Button type="submit" look="primary" disabled={testing.isPending}>
          {t.test}
        </Button>
      }
    >
      <Outcome tested={testing.data} isPending={testing.isPending} failure={testing.error} />
      {models.length > 0 && (
        <ul aria-label={t.models}>
          {models.map((model) => (
            <li key={model}>{model}</li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
