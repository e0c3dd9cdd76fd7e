// Figures over time, drawn by uPlot, which is read when the first chart is shown. The picture has a
// name; whoever cannot see it reads the table beside it.
import { useEffect, useRef, useState } from "react";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useTheme } from "../../../app/theme";
import { useWords } from "../../../i18n";
import { useLanguage } from "../../../i18n/language";
import { Spinner } from "../../../ui";
import css from "./chart.module.css";
import { words } from "./words";

export type Line = { name: string; values: readonly (number | null)[] };

type Props = {
  /** What it shows, in a sentence. */
  label: string;
  /** Unix seconds, one for each value. */
  times: readonly number[];
  /** Bars stand on each other, the first at the bottom. */
  lines: readonly Line[];
  kind: "bars" | "line";
  format: (value: number) => string;
  formatTime: (seconds: number) => string;
  height?: number;
};

const SHADES = 6;
const GAP = 0.25;

/** One accent in steps, so that the parts can be told apart without more colours. */
function shade(at: number): string {
  const strength = 100 - Math.min(at, SHADES - 1) * (78 / (SHADES - 1));
  return `color-mix(in srgb, var(--accent) ${strength}%, var(--bg))`;
}

export function Chart(props: Props) {
  const t = useWords(words);
  const { lines, times } = props;
  const [shown, setShown] = useState<number | null>(null);
  const at = shown !== null && shown < times.length ? shown : null;
  const time = at === null ? undefined : times[at];
  return (
    <figure>
      <Canvas {...props} onPoint={setShown} />
      {props.kind === "bars" && (
        <ul className={css.legend} aria-hidden="true">
          <li className={css.when}>{time === undefined ? t.total : props.formatTime(time)}</li>
          {lines.map((line, index) => (
            <li key={index}>
              <span className={css.swatch} style={{ background: shade(index) }} />
              {line.name}
              <b>{props.format((at === null ? sum(line.values) : line.values[at]) ?? 0)}</b>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

function Canvas(props: Props & { onPoint: (at: number | null) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [isReady, setReady] = useState(false);
  const scheme = useScheme();
  const language = useLanguage();
  const latest = useRef(props);
  latest.current = props;
  const data = dataOf(props);
  const known = useRef(data);
  known.current = data;
  const { kind } = props;
  const size = props.lines.length;

  useEffect(() => {
    let isGone = false;
    let watcher: ResizeObserver | undefined;
    void import("uplot").then(({ default: UPlot }) => {
      const place = host.current;
      if (isGone || place === null) return;
      const made = new UPlot(options(UPlot, place, kind, size, latest), known.current, place);
      plot.current = made;
      setReady(true);
      watcher = new ResizeObserver(() =>
        made.setSize({ width: place.clientWidth, height: place.clientHeight }),
      );
      watcher.observe(place);
    });
    return () => {
      isGone = true;
      watcher?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [kind, size, scheme, language]);

  useEffect(() => plot.current?.setData(known.current), [props.lines, props.times]);

  return (
    <div
      ref={host}
      role="img"
      aria-label={props.label}
      className={css.chart}
      style={{ "--height": `${props.height ?? 220}px` } as React.CSSProperties}
    >
      {!isReady && <Spinner />}
    </div>
  );
}

function options(
  UPlot: typeof uPlot,
  place: HTMLElement,
  kind: Props["kind"],
  size: number,
  latest: { current: Props & { onPoint: (at: number | null) => void } },
): uPlot.Options {
  const [text, grid] = [resolved(place, "var(--text-soft)"), resolved(place, "var(--line)")];
  const font = `12px ${getComputedStyle(place).fontFamily}`;
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
  const bars = UPlot.paths.bars?.({ size: [1 - GAP, 48] });
  return {
    width: place.clientWidth,
    height: place.clientHeight,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: kind === "bars" ? widened : undefined },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_, splits) => splits.map((one) => latest.current.formatTime(one)),
        incrs: kind === "bars" ? [1, 2, 7, 14, 30, 60, 90].map((days) => days * 86_400) : undefined,
        space: 70,
        size: 28,
      },
      {
        ...axis,
        size: 64,
        values: (_, splits) => splits.map((one) => latest.current.format(one)),
      },
    ],
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "UTC"),
    series: [
      {},
      // The whole pile is drawn first, and what stands lower over it.
      ...Array.from({ length: size }, (_, at) => {
        const colour = resolved(place, shade(kind === "bars" ? size - 1 - at : at));
        if (kind === "bars") return { fill: colour, stroke: colour, width: 0, paths: bars, points: { show: false } };
        return { stroke: colour, width: 2, points: { show: true, size: 4, fill: colour }, spanGaps: true };
      }),
    ],
    hooks: { setCursor: [(drawn) => latest.current.onPoint(drawn.cursor.idx ?? null)] },
  };
}

/** Room for the first and the last bar. */
function widened(_: uPlot, first: number, last: number): [number, number] {
  return [first - 43_200, last + 43_200];
}

function dataOf({ kind, lines, times }: Props): uPlot.AlignedData {
  if (kind === "line") return [[...times], ...lines.map((line) => [...line.values])];
  const piled: number[][] = [];
  for (const line of lines) {
    const below = piled.at(-1);
    piled.push(line.values.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
  }
  return [[...times], ...piled.reverse()];
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

/** A colour of ours as the canvas wants it: without variables. */
function resolved(place: HTMLElement, colour: string): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  place.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const DARK = "(prefers-color-scheme: dark)";

/** Changes when the colours do. */
function useScheme(): string {
  const theme = useTheme();
  const [isDark, setDark] = useState(() => matchMedia(DARK).matches);
  useEffect(() => {
    const query = matchMedia(DARK);
    const follow = () => setDark(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return theme === "system" ? String(isDark) : theme;
}
