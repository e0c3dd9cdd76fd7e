// What can be done with a machine, each with a word about what follows.
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, unwrap } from "../../api/client";
import { useWords } from "../../i18n";
import { Button, ConfirmDialog, Dialog, ErrorNote, Field, Input, Menu, toast } from "../../ui";
import { Arrival, Credentials, type Given } from "./Connect";
import { joinCode } from "./joinCode";
import { machinesChanged } from "./queries";
import type { Machine } from "./shown";
import { words } from "./words";

type Doing = "rename" | "drain" | "renew" | "revoke" | "giveUp" | null;
type Shown = { machine: Machine; onClose: () => void };

const pathOf = (machine: Machine) => ({ path: { machine_id: machine.id } });

async function setDraining(machine: Machine, drain: boolean): Promise<void> {
  const params = pathOf(machine);
  await unwrap(api.POST("/api/v1/machines/{machine_id}/drain", { params, body: { drain } }));
  await machinesChanged();
}

async function revoke(machine: Machine): Promise<void> {
  await unwrap(
    api.POST("/api/v1/machines/{machine_id}/revoke-token", { params: pathOf(machine) }),
  );
  await machinesChanged();
}

async function giveUp(machine: Machine): Promise<void> {
  await unwrap(api.DELETE("/api/v1/machines/{machine_id}", { params: pathOf(machine) }));
  await machinesChanged();
}

async function renew(machine: Machine): Promise<Given> {
  const params = { path: { user_id: machine.user_id } };
  const body = { id: machine.id };
  if (machine.kind === "agp") {
    const made = await unwrap(api.POST("/api/v1/users/{user_id}/devices", { params, body }));
    return { kind: "device", machineId: machine.id, url: made.connect_url };
  }
  if (machine.kind === "yeaft") {
    const made = await unwrap(api.POST("/api/v1/users/{user_id}/yeaft-agents", { params, body }));
    return { kind: "yeaft", machineId: machine.id, command: made.start_command };
  }
  return joinCode(machine.user_id, { machine_id: machine.id });
}

export function MachineMenu({ machine, leaves }: { machine: Machine; leaves?: boolean }) {
  const t = useWords(words);
  const navigate = useNavigate();
  const [doing, setDoing] = useState<Doing>(null);
  const close = () => setDoing(null);
  const isOver = machine.state === "terminated";
  const isRenewable = machine.provider === "manual" && !isOver;
  const undrain = () => void setDraining(machine, false).catch(toast);
  const drain = machine.draining
    ? { label: t.undrain, onSelect: undrain }
    : { label: t.drain, onSelect: () => setDoing("drain") };
  return (
    <>
      <Menu
        label={t.actions(machine.name)}
        items={[
          { label: t.rename, onSelect: () => setDoing("rename") },
          isOver ? null : drain,
          isRenewable ? { label: t.renew, onSelect: () => setDoing("renew") } : null,
          isOver ? null : "line",
          isOver ? null : { label: t.revoke, onSelect: () => setDoing("revoke"), danger: true },
          isOver ? null : { label: t.giveUp, onSelect: () => setDoing("giveUp"), danger: true },
        ]}
      />
      {doing === "rename" && <Rename machine={machine} onClose={close} />}
      {doing === "renew" && <Renew machine={machine} onClose={close} />}
      {doing === "drain" && (
        <ConfirmDialog
          title={t.drainTitle(machine.name)}
          confirm={t.drain}
          onConfirm={() => setDraining(machine, true)}
          onClose={close}
        >
          <p>{t.drainHelp}</p>
        </ConfirmDialog>
      )}
      {doing === "revoke" && (
        <ConfirmDialog
          title={t.revokeTitle(machine.name)}
          confirm={t.revoke}
          danger
          onConfirm={() => revoke(machine)}
          onClose={close}
        >
          <p>{t.revokeHelp}</p>
        </ConfirmDialog>
      )}
      {doing === "giveUp" && (
        <ConfirmDialog
          title={t.giveUpTitle(machine.name)}
          confirm={t.giveUp}
          danger
          onConfirm={async () => {
            await giveUp(machine);
            if (leaves) await navigate({ to: "/machines" });
          }}
          onClose={close}
        >
          <p>{t.giveUpHelp}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function Rename({ machine, onClose }: Shown) {
  const t = useWords(words);
  const [name, setName] = useState(machine.name);
  const saving = useMutation({
    mutationFn: async () => {
      const params = pathOf(machine);
      await unwrap(
        api.PATCH("/api/v1/machines/{machine_id}", { params, body: { name: name.trim() } }),
      );
      await machinesChanged();
    },
    onSuccess: onClose,
  });
  return (
    <Dialog
      title={t.rename}
      onClose={onClose}
      onSubmit={() => saving.mutate()}
      actions={
        <Button type="submit" look="primary" disabled={saving.isPending || !name.trim()}>
          {t.save}
        </Button>
      }
    >
      <Field label={t.name}>
        <Input
          value={name}
          maxLength={200}
          autoFocus
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      {saving.error !== null && <ErrorNote error={saving.error} />}
    </Dialog>
  );
}

function Renew({ machine, onClose }: Shown) {
  const t = useWords(words);
  const renewing = useMutation({ mutationFn: () => renew(machine) });
  const given = renewing.data;
  return (
    <Dialog
      title={t.renewTitle(machine.name)}
      onClose={onClose}
      actions={
        given === undefined ? (
          <Button look="primary" disabled={renewing.isPending} onClick={() => renewing.mutate()}>
            {t.renew}
          </Button>
        ) : (
          <Button onClick={onClose}>{t.done}</Button>
        )
      }
    >
      <p>{machine.kind === "vm" ? t.renewVmHelp : t.renewOtherHelp}</p>
      {renewing.error !== null && <ErrorNote error={renewing.error} />}
      {given !== undefined && <Credentials given={given} />}
      {given !== undefined && !machine.online && <Arrival given={given} onClose={onClose} />}
    </Dialog>
  );
}
