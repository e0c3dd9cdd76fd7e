// What changes between two texts, line by line, and a unified diff as the same runs of lines.

export type Run = { kind: "same" | "added" | "removed" | "place"; lines: string[] };

/** Above so many comparisons, what differs is shown as removed and added as a whole. */
const WORK_MAX = 1_000_000;

export function changes(before: string, after: string): Run[] {
  const old = linesOf(before);
  const next = linesOf(after);
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < next.length - start &&
    old[old.length - 1 - end] === next[next.length - 1 - end]
  )
    end++;
  const runs: Run[] = [];
  add(runs, "same", old.slice(0, start));
  middle(runs, old.slice(start, old.length - end), next.slice(start, next.length - end));
  add(runs, "same", old.slice(old.length - end));
  return runs;
}

/** The lines of a unified diff, or of a patch in another form: nothing is left out. */
export function unified(diff: string): Run[] {
  const runs: Run[] = [];
  for (const line of linesOf(diff)) {
    if (/^(@@|---|\+\+\+|diff |index |\*\*\*)/.test(line)) add(runs, "place", [line]);
    else if (line.startsWith("+")) add(runs, "added", [line.slice(1)]);
    else if (line.startsWith("-")) add(runs, "removed", [line.slice(1)]);
    else add(runs, "same", [line.startsWith(" ") ? line.slice(1) : line]);
  }
  return runs;
}

export function counted(runs: readonly Run[]): { added: number; removed: number } {
  const count = (kind: Run["kind"]) =>
    runs.reduce((sum, run) => sum + (run.kind === kind ? run.lines.length : 0), 0);
  return { added: count("added"), removed: count("removed") };
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

function add(runs: Run[], kind: Run["kind"], lines: readonly string[]): void {
  if (lines.length === 0) return;
  const last = runs.at(-1);
  if (last?.kind === kind) last.lines.push(...lines);
  else runs.push({ kind, lines: [...lines] });
}

/** By the longest common subsequence. */
function middle(runs: Run[], old: readonly string[], next: readonly string[]): void {
  const width = next.length + 1;
  if (old.length * next.length > WORK_MAX || old.length === 0 || next.length === 0) {
    add(runs, "removed", old);
    add(runs, "added", next);
    return;
  }
  const common = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      common[i * width + j] =
        old[i] === next[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  let i = 0;
  let j = 0;
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i] === next[j]) {
      add(runs, "same", [old[i]!]);
      i++;
      j++;
    } else if (j >= next.length || (i < old.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      add(runs, "removed", [old[i]!]);
      i++;
    } else {
      add(runs, "added", [next[j]!]);
      j++;
    }
  }
}
