import { useQueries } from '@tanstack/react-query';
import type { TraceStep } from '../api/contract.js';
import { traceQuery } from '../api/queries.js';
import { Failure } from './failure.js';
import { Card, Empty, Section, Waiting } from './page.js';
import { type Column, Rows } from './rows.js';
import { durationInWords, type WaterfallRow, waterfallOf } from './waterfall-steps.js';
import styles from './waterfall.module.css';

interface WaterfallProps {
  readonly title: string;
  /** The evaluations whose steps are shown. */
  readonly evaluations: readonly string[];
  /** Chooses among the steps. */
  readonly choose?: (steps: readonly TraceStep[]) => readonly TraceStep[];
}

/** Where the time went, from the submission to a healthy allocation: a bar for each step, below each other. */
export function Waterfall({ title, evaluations, choose = (steps) => steps }: WaterfallProps) {
  const traces = useQueries({ queries: evaluations.map((id) => traceQuery(id)) });
  const steps = choose(traces.flatMap(({ data }) => data?.Steps ?? []));
  const failed = traces.find(({ isError }) => isError);
  const isComplete = traces.every(({ data }) => data?.Complete !== false);
  const { rows, totalMs } = waterfallOf(steps);
  return (
    <Section title={title} note={rows.length > 0 && `${durationInWords(totalMs)} in all`}>
      {failed && <Failure error={failed.error} />}
      {rows.length > 0 && <Rows label={title} columns={COLUMNS} rows={rows} keyOf={({ key }) => key} />}
      {rows.length === 0 && !failed && (traces.some(({ isPending }) => isPending) ? <Waiting /> : <NoSteps />)}
      {rows.length > 0 && (
        <p className={styles['note']}>
          ~ marks times by the clock of a machine.
          {!isComplete && ' The beginning is no longer kept: steps are missing.'}
        </p>
      )}
    </Section>
  );
}

const COLUMNS: readonly Column<WaterfallRow>[] = [
  { title: 'Step', px: 112, share: 1, cell: ({ step }) => step.Name },
  { title: 'About', extra: true, px: 110, share: 1, cell: ({ about }) => <span title={about}>{about || '—'}</span> },
  { title: 'By', extra: true, px: 76, cell: ({ step }) => step.Service },
  {
    title: 'From',
    px: 76,
    align: 'right',
    cell: ({ step, offsetMs }) => `${step.ClockSkewed ? '~' : ''}+${durationInWords(Math.round(offsetMs))}`,
  },
  {
    title: 'Took',
    px: 70,
    align: 'right',
    cell: ({ tookMs }) => (tookMs === undefined ? '' : durationInWords(tookMs)),
  },
  { title: 'Time', px: 110, share: 4, cell: (row) => <Bar row={row} /> },
];

const Bar = ({ row: { from, length, step } }: { readonly row: WaterfallRow }) => (
  <span className={styles['axis']} aria-hidden="true">
    <span
      className={`${styles['bar']} ${step.Service === 'agent' ? styles['machine'] : ''}`}
      style={{ left: `${from * 100}%`, width: `${length * 100}%` }}
    />
  </span>
);

const NoSteps = () => (
  <Card>
    <Empty title="No steps are known" />
  </Card>
);
