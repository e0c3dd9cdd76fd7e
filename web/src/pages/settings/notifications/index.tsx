// Being told: by this browser while the page is open, by push while it is closed; device by device.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ApiError, unwrap } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useMe } from "../../../api/me";
import { queryClient } from "../../../api/queries";
import { remember, remembered } from "../../../app/memory";
import { NOTIFY_KEY } from "../../../approvals/badge";
import { useWords } from "../../../i18n";
import { deviceName, fingerprint, hindrance, subscribe, type Subscription } from "../../../push/device";
import { Button, ErrorNote, Section, Switch, Table, Time, Unread } from "../../../ui";
import { ThisDevice } from "./ThisDevice";
import css from "./notifications.module.css";
import { words } from "./words";

export function Notifications() {
  const t = useWords(words);
  return (
    <Section title={t.title}>
      <InPage />
      <Push />
    </Section>
  );
}

function InPage() {
  const t = useWords(words);
  const has = "Notification" in window;
  const [isOn, setOn] = useState(has && Notification.permission === "granted" && remembered(NOTIFY_KEY) === "on");
  const [isBlocked, setBlocked] = useState(has && Notification.permission === "denied");
  const change = async (on: boolean) => {
    setOn(on);
    const permission = on ? await Notification.requestPermission() : "granted";
    setBlocked(permission === "denied");
    setOn(on && permission === "granted");
    remember(NOTIFY_KEY, on && permission === "granted" ? "on" : "off");
  };
  return (
    <div className={css.part}>
      <Switch label={t.inPage} checked={isOn} disabled={!has} onChange={(on) => void change(on)} />
      <p className={css.help}>{has ? t.inPageHelp : t.noNotifications}</p>
      {isBlocked && <p className={css.warn}>{t.blocked}</p>}
    </div>
  );
}

export function readAgain(): void {
  void queryClient.invalidateQueries({ queryKey: keys.push() });
}

function Push() {
  const t = useWords(words);
  const state = useQuery({
    queryKey: keys.push(),
    queryFn: async () => {
      const found = await unwrap(api.GET("/api/v1/push"));
      return { ...found, own: hindrance() === null ? await fingerprint(found.public_key) : null };
    },
  });
  if (state.data === undefined) return <Unread of={state} />;
  const { public_key: publicKey, own, subscriptions } = state.data;
  const mine = subscriptions.find((one) => one.endpoint_sha256 === own);
  return (
    <>
      <div className={css.part}>
        <h3>{t.push}</h3>
        <p className={css.help}>{t.pushHelp}</p>
        {mine === undefined ? (
          <TurnOn publicKey={publicKey} />
        ) : (
          <ThisDevice key={mine.id} subscription={mine} publicKey={publicKey} />
        )}
      </div>
      <Others subscriptions={subscriptions.filter((one) => one !== mine)} />
    </>
  );
}

function TurnOn({ publicKey }: { publicKey: string }) {
  const t = useWords(words);
  const me = useMe();
  const [hindered, setHindered] = useState(hindrance);
  const turn = useMutation({
    mutationFn: () => subscribe(publicKey, me.user.id, { name: deviceName(), kinds: ["needs_you", "done"], quiet: null }),
    onSuccess: readAgain,
    onError: () => setHindered(hindrance()),
  });
  const why = { insecure: t.insecure, home_screen: t.homeScreen, unsupported: t.unsupported, denied: t.denied };
  if (hindered !== null) return <p className={css.warn}>{why[hindered]}</p>;
  return (
    <>
      {turn.error instanceof ApiError && <ErrorNote error={turn.error} />}
      {turn.error !== null && !(turn.error instanceof ApiError) && (
        <p className={css.warn} role="alert">
          {t.unreachable(turn.error.message)}
        </p>
      )}
      <div>
        <Button look="primary" disabled={turn.isPending} onClick={() => turn.mutate()}>
          {turn.isPending ? t.turningOn : t.turnOn}
        </Button>
      </div>
    </>
  );
}

function Others({ subscriptions }: { subscriptions: Subscription[] }) {
  const t = useWords(words);
  const remove = useMutation({
    mutationFn: (id: string) =>
      unwrap(
        api.DELETE("/api/v1/push/subscriptions/{subscription_id}", { params: { path: { subscription_id: id } } }),
      ),
    onSettled: readAgain,
  });
  const names = { needs_you: t.needsYou, done: t.done };
  return (
    <div className={css.part}>
      <h3>{t.otherDevices}</h3>
      {remove.error !== null && <ErrorNote error={remove.error} />}
      {subscriptions.length === 0 ? (
        <p className={css.help}>{t.noOthers}</p>
      ) : (
        <Table
          label={t.otherDevices}
          rows={subscriptions}
          rowKey={(one) => one.id}
          columns={[
            { head: t.name, cell: (one) => one.name },
            { head: t.service, cell: (one) => one.service },
            {
              head: t.told,
              cell: (one) => (
                <>
                  {one.kinds.map((kind) => names[kind]).join(", ") || t.nothing}
                  {one.quiet && ` · ${t.quietFrom(one.quiet.from, one.quiet.to)}`}
                  {one.problem && <div className={css.warn}>{t.problem(one.problem)}</div>}
                </>
              ),
            },
            { head: t.last, cell: (one) => <Time at={one.sent_at} /> },
            {
              head: "",
              end: true,
              cell: (one) => (
                <Button small aria-label={t.removeNamed(one.name)} onClick={() => remove.mutate(one.id)}>
                  {t.remove}
                </Button>
              ),
            },
          ]}
        />
      )}
    </div>
  );
}
