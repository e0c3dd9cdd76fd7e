// Where a chat can run.
import type { Schemas } from "../../../api/client";

export type Machine = Schemas["Machine"];

/** The runtimes that can be chosen there; with none named, those of every machine that is online. */
export function runtimesOf(machines: readonly Machine[], machineId: string): string[] {
  const asked = machines.filter((one) => (machineId === "" ? one.online : one.id === machineId));
  const found = asked.flatMap((machine) =>
    Object.entries(machine.runtimes ?? {})
      .filter(([, runtime]) => runtime.usable)
      .map(([name]) => name),
  );
  return [...new Set(found)].sort();
}

/** The programs behind `acp` that can be chosen there. */
export function presetsOf(machines: readonly Machine[], machineId: string): string[] {
  const asked = machines.filter((one) => (machineId === "" ? one.online : one.id === machineId));
  const found = asked.flatMap((machine) =>
    Object.entries(machine.runtimes?.["acp"]?.presets ?? {})
      .filter(([, preset]) => preset.usable)
      .map(([name]) => name),
  );
  return [...new Set(found)].sort();
}
