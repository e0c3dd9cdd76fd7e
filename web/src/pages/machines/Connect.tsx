// What is typed or scanned on a machine so that it connects, and the waiting until it has.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { lazy, Suspense, useEffect } from "react";
import { useWords } from "../../i18n";
import { Button, CodeLine, ErrorNote, Spinner, Waiting } from "../../ui";
import { usePhrase } from "../../ui/said";
import { newSession } from "../newSession";
import css from "./machines.module.css";
import { machineQuery, machinesChanged } from "./queries";
import { words } from "./words";

const Qr = lazy(() => import("../../ui/Qr"));
const LOOK_MS = 1_500;

export type Kind = "vm" | "local" | "device" | "yeaft" | "semibot";

/** As the server composed it; nothing is made up here. */
export type Given = {
  kind: Kind;
  machineId: string;
  command?: string;
  /** The same where the program is not installed. */
  withoutInstall?: string;
  /** Whether no other machine reaches the address in it; else the page's own tells. */
  isLocal?: boolean;
  environment?: Record<string, string>;
  url?: string;
};

const LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]"];

export function Credentials({ given }: { given: Given }) {
  const t = useWords(words);
  const isLocal =
    given.isLocal ?? (given.kind !== "local" && LOCAL_NAMES.includes(location.hostname));
  return (
    <>
      <Typed given={given} />
      {isLocal && <p className={css.warn}>{t.localAddress}</p>}
    </>
  );
}

function Typed({ given }: { given: Given }) {
  const t = useWords(words);
  if (given.kind === "device" && given.url !== undefined)
    return (
      <>
        <Suspense fallback={<Waiting />}>
          <Qr text={given.url} label={t.deviceCode} />
        </Suspense>
        <CodeLine label={t.deviceUrl} text={given.url} hint={t.deviceUrlHint} />
      </>
    );
  if (given.kind === "semibot" && given.environment !== undefined)
    return (
      <CodeLine
        label={t.environment}
        text={Object.entries(given.environment)
          .map(([name, value]) => `${name}=${value}`)
          .join("\n")}
        hint={t.environmentHint}
      />
    );
  if (given.kind === "yeaft" && given.command)
    return <CodeLine label={t.yeaftRun} text={given.command} hint={t.yeaftRunHint} />;
  if (given.command && given.withoutInstall)
    return (
      <>
        <CodeLine label={t.vmRun} text={given.command} hint={t.vmRunHint} />
        <CodeLine label={t.vmRunPlain} text={given.withoutInstall} hint={t.vmRunPlainHint} />
      </>
    );
  return <p>{t.localStarts}</p>;
}

/** Looks at the record until the machine is there, and says so. */
export function Arrival({ given, onClose }: { given: Given; onClose: () => void }) {
  const t = useWords(words);
  const navigate = useNavigate();
  const { data: machine, error } = useQuery(machineQuery(given.machineId, LOOK_MS));
  const isOnline = machine?.online ?? false;
  useEffect(() => {
    if (isOnline) void machinesChanged();
  }, [isOnline]);
  const starting = useMutation({
    mutationFn: () => newSession({ machine_id: given.machineId }),
    onSuccess: ({ id: sessionId }) => {
      onClose();
      return navigate({ to: "/chat/$sessionId", params: { sessionId } });
    },
  });
  const phrase = usePhrase();
  const name = machine?.name ?? "";
  const isOver = machine?.state === "failed" || machine?.state === "terminated";
  return (
    <div role="status" aria-live="polite">
      {error !== null && <ErrorNote error={error} />}
      {isOnline && (
        <>
          <p className={css.came}>
            <Check size={18} aria-hidden />
            {t.came(name)} {t.cameHelp}
          </p>
          {starting.error !== null && <ErrorNote error={starting.error} />}
          <Button look="primary" disabled={starting.isPending} onClick={() => starting.mutate()}>
            {t.startChat}
          </Button>
        </>
      )}
      {machine !== undefined && !isOnline && isOver && (
        <ErrorNote error={new Error(t.didNotCome(phrase(machine.detail ?? "")))} />
      )}
      {machine !== undefined && !isOnline && !isOver && (
        <>
          <p className={css.waiting}>
            <Spinner label={t.waits(name)} />
            {t.waits(name)}
          </p>
          <p className={css.soft}>
            {t.waitsDevice} {given.kind === "vm" && t.waitsCode}
            {given.kind === "semibot" && t.waitsHour}
          </p>
        </>
      )}
    </div>
  );
}
