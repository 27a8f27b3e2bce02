import { useEffect, useRef } from 'react';
import uPlot, { type AlignedData, type Options } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import styles from './figure.module.css';
import { newest, NO_SAMPLES, type Samples } from './samples.js';

/** The theme's colours for lines, as in figure.module.css. Further lines begin again with the first one. */
const COLOURS = ['--accent', '--good', '--warn', '--bad', '--quiet'] as const;
const HEIGHT_PX = 160;
/** The shortest time that a picture covers, in seconds. */
const SHORTEST_S = 120;
/** Least distance of two times on the axis, px. */
const BETWEEN_TIMES_PX = 90;

/** Bytes are marked at powers of two, from 1 B to 1 PiB. */
export const STEPS_OF_BYTES: readonly number[] = Array.from({ length: 51 }, (_, power) => 2 ** power);

export interface Line {
  readonly name: string;
  /** The name of its values among the samples. */
  readonly value: string;
  /** The most that may be used; undefined if there is no such limit. */
  readonly most?: number | undefined;
}

interface FigureProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly samples: Samples;
  /** Returns a value in words: `12 MiB`. */
  readonly inWords: (value: number) => string;
  /** The distances that the marks of the axis may have; by default round decimal numbers. */
  readonly steps?: readonly number[];
}

/** Lines over the last minutes, with the newest value of each and its limit in words for readers without the picture. */
export function Figure({ title, lines, samples, inWords, steps }: FigureProps) {
  return (
    <figure className={styles['figure']}>
      <figcaption className={styles['caption']}>
        <h3>{title}</h3>
        <ul className={styles['legend']}>
          {lines.map((line, at) => (
            <li key={line.name} className={styles[`line${at % COLOURS.length}`]}>
              {line.name} <strong>{valueInWords(newest(samples, line.value), inWords)}</strong>
              {line.most !== undefined && ` of ${inWords(line.most)}`}
            </li>
          ))}
        </ul>
      </figcaption>
      <Plot lines={lines} samples={samples} inWords={inWords} {...(steps && { steps })} />
    </figure>
  );
}

const valueInWords = (value: number | undefined, inWords: (value: number) => string): string =>
  value === undefined ? '—' : inWords(value);

/** The picture. It is drawn anew with each sample, so it follows a change of the theme with the next one. */
function Plot({ lines, samples, inWords, steps }: Omit<FigureProps, 'title'>) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const names = JSON.stringify(lines);
  useEffect(() => {
    const { current } = place;
    if (!current) return undefined;
    const drawn = JSON.parse(names) as readonly Line[];
    const made = new uPlot(
      optionsOf({ lines: drawn, inWords, steps }, current.clientWidth),
      dataOf(drawn, NO_SAMPLES),
      current,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height: HEIGHT_PX }));
    resized.observe(current);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [names, inWords, steps]);
  useEffect(() => plot.current?.setData(dataOf(lines, samples)), [lines, samples, names, inWords, steps]);
  return <div ref={place} className={styles['plot']} aria-hidden="true" />;
}

const dataOf = (lines: readonly Line[], { times, values }: Samples): AlignedData => [
  [...times],
  ...lines.map(({ value }) => [...(values[value] ?? [])]),
];

/** Colours are read when a picture is drawn, because the theme may change. */
const colour = (name: string) => (): string => getComputedStyle(document.documentElement).getPropertyValue(name);

const clockTime = (seconds: number): string => new Date(seconds * 1_000).toLocaleTimeString('en-GB');

function timesShown(times: ArrayLike<number>): [number, number] {
  const last = times[times.length - 1] ?? SHORTEST_S;
  return [Math.min(times[0] ?? 0, last - SHORTEST_S), last];
}

type Drawn = Pick<FigureProps, 'lines' | 'inWords'> & { readonly steps: readonly number[] | undefined };

function optionsOf({ lines, inWords, steps }: Drawn, width: number): Options {
  const most = Math.max(0, ...lines.map((line) => line.most ?? 0));
  const axis = { stroke: colour('--text-soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      // Computed from the data: for a single moment the plot would propose the whole day after it.
      x: { range: ({ data: [times] }) => timesShown(times) },
      y: { range: (_, __, highest) => [0, Math.max(most, highest ?? 0, 1) * 1.05] },
    },
    series: [
      {},
      ...lines.map(({ name }, at) => ({
        label: name,
        stroke: colour(COLOURS[at % COLOURS.length] ?? COLOURS[0]),
        width: 1.5,
        points: { show: false },
      })),
    ],
    axes: [
      { ...axis, space: BETWEEN_TIMES_PX, values: (_, ticks) => ticks.map(clockTime) },
      { ...axis, size: 72, values: (_, ticks) => ticks.map(inWords), ...(steps && { incrs: [...steps] }) },
    ],
  };
}
