// Sums of usage as the page shows them. Pure.
export type Measure = "cost" | "tokens" | "calls";

export type Sum = {
  key: string | null;
  day: string | null;
  calls: number;
  tokens_in: number;
  tokens_out: number;
  cost: { amount: number; currency: string } | null;
  unpriced_calls: number;
};

/** `rest`: what is too small for a part of its own, together. */
export type Part = { key: string | null; rest: boolean; values: number[] };

export type Total = { calls: number; tokensIn: number; tokensOut: number; cost: number; currency: string | null; unpriced: number };

const DAY_MS = 86_400_000;

export function amount(sum: Sum, measure: Measure): number {
  if (measure === "cost") return sum.cost?.amount ?? 0;
  return measure === "calls" ? sum.calls : sum.tokens_in + sum.tokens_out;
}

/** The beginning of the first of so many days, today included: Unix ms. Days are UTC's, as sums are. */
export function firstDay(now: number, days: number): number {
  return now - (now % DAY_MS) - (days - 1) * DAY_MS;
}

/** Every day from then until now, also those without usage. */
export function daysFrom(since: number, now: number): string[] {
  const days: string[] = [];
  for (let day = since; day <= now; day += DAY_MS) days.push(new Date(day).toISOString().slice(0, 10));
  return days;
}

export function secondsOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / 1000;
}

/** What each key had on each day: the largest first, the smallest ones together. */
export function parts(sums: readonly Sum[], days: readonly string[], measure: Measure, most = 5): Part[] {
  const place = new Map(days.map((day, at) => [day, at]));
  const found = new Map<string | null, Part>();
  for (const sum of sums) {
    const at = sum.day === null ? undefined : place.get(sum.day);
    if (at === undefined) continue;
    let part = found.get(sum.key);
    if (part === undefined) {
      part = { key: sum.key, rest: false, values: days.map(() => 0) };
      found.set(sum.key, part);
    }
    part.values[at] = (part.values[at] ?? 0) + amount(sum, measure);
  }
  const sorted = [...found.values()].sort((a, b) => whole(b) - whole(a));
  if (sorted.length <= most + 1) return sorted;
  const small = sorted.slice(most);
  const rest = days.map((_, at) => small.reduce((total, part) => total + (part.values[at] ?? 0), 0));
  return [...sorted.slice(0, most), { key: null, rest: true, values: rest }];
}

function whole(part: Part): number {
  return part.values.reduce((total, value) => total + value, 0);
}

export function totalOf(sums: readonly Sum[]): Total {
  const total: Total = { calls: 0, tokensIn: 0, tokensOut: 0, cost: 0, currency: null, unpriced: 0 };
  for (const sum of sums) {
    total.calls += sum.calls;
    total.tokensIn += sum.tokens_in;
    total.tokensOut += sum.tokens_out;
    total.cost += sum.cost?.amount ?? 0;
    total.currency ??= sum.cost?.currency ?? null;
    total.unpriced += sum.unpriced_calls;
  }
  return total;
}

/** Sums of the days, the newest first. */
export function perDay(sums: readonly Sum[]): (Total & { day: string })[] {
  const days = new Map<string, Sum[]>();
  for (const sum of sums) {
    if (sum.day === null) continue;
    const others = days.get(sum.day);
    if (others === undefined) days.set(sum.day, [sum]);
    else others.push(sum);
  }
  return [...days]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([day, ofDay]) => ({ day, ...totalOf(ofDay) }));
}
