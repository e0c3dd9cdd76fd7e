// The wizard: what it is, then the one thing to type or scan there, then waiting until it has come.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap } from "../../api/client";
import { useMe } from "../../api/me";
import { useWords } from "../../i18n";
import { Button, Dialog, ErrorNote, Field, Input } from "../../ui";
import { Arrival, Credentials, type Given, type Kind } from "./Connect";
import css from "./machines.module.css";
import { joinCode } from "./joinCode";
import { machinesChanged } from "./queries";
import { words } from "./words";

const PERSON_TAKES_S = 3600;

async function add(userId: string, kind: Kind, name: string): Promise<Given> {
  const params = { path: { user_id: userId } };
  const named = name === "" ? {} : { name };
  if (kind === "device") {
    const body = name === "" ? {} : { guid: name };
    const made = await unwrap(api.POST("/api/v1/users/{user_id}/devices", { params, body }));
    return { kind, machineId: made.machine_id, url: made.connect_url };
  }
  if (kind === "yeaft") {
    const made = await unwrap(
      api.POST("/api/v1/users/{user_id}/yeaft-agents", { params, body: named }),
    );
    return { kind, machineId: made.id, command: made.start_command };
  }
  if (kind === "vm") return joinCode(userId, named);
  const body =
    kind === "local"
      ? { ...named, provider: "local" as const }
      : { ...named, provider: "manual" as const, connect_within_s: PERSON_TAKES_S };
  const made = await unwrap(api.POST("/api/v1/users/{user_id}/vm", { params, body }));
  return { kind, machineId: made.vm_id, environment: made.environment };
}

export function AddMachine({ onClose }: { onClose: () => void }) {
  const t = useWords(words);
  const me = useMe();
  const [kind, setKind] = useState<Kind>("vm");
  const [name, setName] = useState("");
  const adding = useMutation({
    mutationFn: () => add(me.user.id, kind, name.trim()),
    onSuccess: machinesChanged,
  });
  if (adding.data !== undefined) return <Added given={adding.data} onClose={onClose} />;
  const kinds: [Kind, string, string][] = [
    ["vm", t.vm, t.vmHelp],
    ["device", t.device, t.deviceHelp],
    ["yeaft", t.yeaft, t.yeaftHelp],
    ["semibot", t.semibot, t.semibotHelp],
  ];
  if (me.user.role === "admin") kinds.splice(1, 0, ["local", t.local, t.localHelp]);
  const isDevice = kind === "device";
  return (
    <Dialog
      title={t.addTitle}
      onClose={onClose}
      onSubmit={() => adding.mutate()}
      actions={
        <Button type="submit" look="primary" disabled={adding.isPending}>
          {t.next}
        </Button>
      }
    >
      <fieldset className={css.kinds}>
        <legend>{t.which}</legend>
        {kinds.map(([value, label, help]) => (
          <label key={value} className={css.kind}>
            <input
              type="radio"
              name="kind"
              value={value}
              checked={kind === value}
              onChange={() => setKind(value)}
            />
            <span>{label}</span>
            <span className={css.kindHelp}>{help}</span>
          </label>
        ))}
      </fieldset>
      <Field label={isDevice ? t.guid : t.name} hint={isDevice ? t.guidHint : t.nameHint}>
        <Input value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
      </Field>
      {adding.error !== null && <ErrorNote error={adding.error} />}
    </Dialog>
  );
}

function Added({ given, onClose }: { given: Given; onClose: () => void }) {
  const t = useWords(words);
  return (
    <Dialog
      title={t.addTitle}
      onClose={onClose}
      actions={<Button onClick={onClose}>{t.closeIt}</Button>}
    >
      <Credentials given={given} />
      <Arrival given={given} onClose={onClose} />
    </Dialog>
  );
}
