// Figures in the reader's own form.
export function count(value: number, language: string): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(value);
}

/** Short, for axes and tiles: 12.3K. */
export function compact(value: number, language: string): string {
  return new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** Cents matter, and of a cheap model their parts do. */
export function money(amount: number, currency: string, language: string): string {
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  const form = { minimumFractionDigits: 2, maximumFractionDigits: digits };
  try {
    return new Intl.NumberFormat(language, { style: "currency", currency, ...form }).format(amount);
  } catch {
    // What a runtime calls its currency is not always one.
    return `${new Intl.NumberFormat(language, form).format(amount)} ${currency}`;
  }
}

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

export function bytes(value: number, language: string): string {
  let unit = 0;
  let shown = value;
  while (shown >= 1000 && unit < UNITS.length - 1) {
    shown /= 1000;
    unit += 1;
  }
  return new Intl.NumberFormat(language, {
    style: "unit",
    unit: UNITS[unit] ?? "byte",
    unitDisplay: unit === 0 ? "long" : "short",
    maximumFractionDigits: shown < 10 ? 1 : 0,
  }).format(shown);
}

const TENTHS_BELOW = 10_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long: its two largest units, or a part of one where it is short. */
export function duration(ms: number, language: string): string {
  const inUnit = (value: number, unit: string) =>
    new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "narrow", maximumFractionDigits: 1 }).format(value);
  if (ms < 1000) return inUnit(Math.max(0, Math.round(ms)), "millisecond");
  if (ms < TENTHS_BELOW) return inUnit(ms / 1000, "second");
  const parts: [number, string][] = [
    [Math.floor(ms / DAY), "day"],
    [Math.floor((ms % DAY) / HOUR), "hour"],
    [Math.floor((ms % HOUR) / MINUTE), "minute"],
    [Math.floor((ms % MINUTE) / 1000), "second"],
  ];
  const largest = parts.findIndex(([value]) => value > 0);
  const from = largest === -1 ? parts.length - 1 : largest;
  return parts
    .slice(from, from + 2)
    .map(([value, unit]) => inUnit(value, unit))
    .join(" ");
}
