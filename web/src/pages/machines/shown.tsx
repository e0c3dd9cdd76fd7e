// How a machine is shown: its state, what it runs, how busy it is.
import type { Schemas } from "../../api/client";
import { useWords } from "../../i18n";
import type { Language } from "../../i18n/language";
import { Badge, type Tone } from "../../ui";
import { bytes } from "../../ui/numbers";
import { words } from "./words";

export type Machine = Schemas["Machine"];
type T = ReturnType<typeof useWords<(typeof words)["en"]>>;

const TONES: Record<Machine["state"], Tone> = {
  online: "good",
  offline: "warn",
  pending: "accent",
  failed: "fail",
  terminated: "neutral",
};

export function StateBadges({ machine }: { machine: Machine }) {
  const t = useWords(words);
  return (
    <>
      <Badge tone={TONES[machine.state]}>{t[machine.state]}</Badge>
      {machine.draining && <Badge tone="warn">{t.draining}</Badge>}
    </>
  );
}

export function kindOf(machine: Machine, t: T): string {
  return t[`kind_${machine.kind}`];
}

/** Those that it can run, with versions. */
export function runtimesOf(machine: Machine): string[] {
  return Object.entries(machine.runtimes ?? {})
    .filter(([, runtime]) => runtime.usable)
    .map(([name, runtime]) => (runtime.version ? `${name} ${runtime.version}` : name));
}

export function loadOf(machine: Machine, t: T, language: Language): string[] {
  const load = machine.load;
  if (load === null) return [];
  const said = [t.running(load.running, load.sessions_max)];
  if (load.resting > 0) said.push(t.resting(load.resting));
  if (load.cpu !== null && load.cpus !== null) said.push(t.cpu(load.cpu, load.cpus));
  if (load.memory_bytes !== null && load.memory_bytes_max !== null)
    said.push(t.memory(bytes(load.memory_bytes, language), bytes(load.memory_bytes_max, language)));
  return said;
}
