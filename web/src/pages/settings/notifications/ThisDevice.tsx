// What this device is told, and when not. Changes hold at once.
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, unwrap } from "../../../api/client";
import { useWords } from "../../../i18n";
import { keepChoice, unsubscribe, type Chosen, type Kind, type Subscription } from "../../../push/device";
import { Button, Checkbox, ErrorNote, Field, Input, Switch, toast } from "../../../ui";
import { readAgain } from ".";
import css from "./notifications.module.css";
import { words } from "./words";

const NIGHT = { from: "22:00", to: "07:00" };

export function ThisDevice({ subscription, publicKey }: { subscription: Subscription; publicKey: string }) {
  const t = useWords(words);
  const what = useId();
  const place = { params: { path: { subscription_id: subscription.id } } };
  const [name, setName] = useState(subscription.name);
  const change = useMutation({
    mutationFn: (body: Partial<Chosen>) =>
      unwrap(api.PATCH("/api/v1/push/subscriptions/{subscription_id}", { ...place, body })),
    onSuccess: (_, body) => keepChoice(body),
    onSettled: readAgain,
  });
  const test = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/push/subscriptions/{subscription_id}/test", place)),
    onSuccess: () => toast(t.tested),
    onSettled: readAgain,
  });
  const turnOff = useMutation({
    mutationFn: async () => {
      await unwrap(api.DELETE("/api/v1/push/subscriptions/{subscription_id}", place));
      await unsubscribe(publicKey);
    },
    onSettled: readAgain,
  });
  const { kinds, quiet } = subscription;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const tell = (kind: Kind, on: boolean) =>
    change.mutate({ kinds: on ? [...kinds, kind] : kinds.filter((one) => one !== kind) });
  const setQuiet = (given: Partial<typeof NIGHT>) =>
    change.mutate({ quiet: { from: NIGHT.from, to: NIGHT.to, ...quiet, ...given, time_zone: zone } });
  const error = change.error ?? test.error ?? turnOff.error;
  return (
    <div className={css.device}>
      <Field label={t.name}>
        <Input
          value={name}
          maxLength={200}
          onChange={(event) => setName(event.target.value)}
          onBlur={() => name.trim() && name !== subscription.name && change.mutate({ name: name.trim() })}
        />
      </Field>
      <div className={css.part} role="group" aria-labelledby={what}>
        <span id={what}>{t.what}</span>
        <Checkbox label={t.needsYou} checked={kinds.includes("needs_you")} onChange={(on) => tell("needs_you", on)} />
        <Checkbox label={t.done} checked={kinds.includes("done")} onChange={(on) => tell("done", on)} />
      </div>
      <div className={css.part}>
        <Switch
          label={t.quiet}
          checked={quiet !== null}
          onChange={(on) => (on ? setQuiet({}) : change.mutate({ quiet: null }))}
        />
        {quiet !== null && (
          <div className={css.row}>
            <Field label={t.from}>
              <Input type="time" required value={quiet.from} onChange={(event) => event.target.value && setQuiet({ from: event.target.value })} />
            </Field>
            <Field label={t.to}>
              <Input type="time" required value={quiet.to} onChange={(event) => event.target.value && setQuiet({ to: event.target.value })} />
            </Field>
          </div>
        )}
        <p className={css.help}>{t.quietHelp(quiet?.time_zone ?? zone)}</p>
      </div>
      {subscription.problem && test.error === null && <p className={css.warn}>{t.problem(subscription.problem)}</p>}
      {error !== null && <ErrorNote error={error} />}
      <div className={css.row}>
        <Button disabled={test.isPending} onClick={() => test.mutate()}>
          {t.test}
        </Button>
        <Button disabled={turnOff.isPending} onClick={() => turnOff.mutate()}>
          {t.turnOff}
        </Button>
      </div>
    </div>
  );
}
