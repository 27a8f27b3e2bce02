import { WAYBILL_VERSION } from '@waybill/model';
import type { Metrics } from '@waybill/telemetry';

export interface Gauged {
  /** The copy of the state once its loading has started. Undefined if there is none. */
  readonly copy: (() => { readonly appliedIndex: number; readonly defects: number } | undefined) | undefined;
  /** Returns why the service is not ready, as in `/readyz`. Empty if it is. */
  readonly notReady: () => readonly string[];
  /** Whether the log has diverged. Undefined if the service does not read the log. */
  readonly isDiverged?: (() => boolean) | undefined;
  /** Number of statements that met damaged files of PostgreSQL. Undefined without a database. */
  readonly damagedStatements?: (() => number) | undefined;
}

/** Registers the gauges of every service: its version, whether it is ready, and the index of its copy of the state. */
export function stateGauges(metrics: Metrics, gauged: Gauged): void {
  const { copy, notReady, isDiverged, damagedStatements } = gauged;
  metrics.gauge('build_info', 'always 1, with the version that runs', {
    labels: ['version'],
    collectInto: (gauge) => gauge.set({ version: WAYBILL_VERSION }, 1),
  });
  metrics.gauge('ready', 'what /readyz says: 1 ready, 0 not', { collect: () => (notReady().length === 0 ? 1 : 0) });
  if (isDiverged)
    metrics.gauge('log_diverged', 'whether the log is another one than was read: 1 until an operator decides', {
      collect: () => (isDiverged() ? 1 : 0),
    });
  if (damagedStatements)
    metrics.counted('database_damaged', 'statements that met damaged files of PostgreSQL', damagedStatements);
  if (!copy) return;
  metrics.gauge('state_applied_index', 'index that the copy of the state in this process has reached', {
    collect: () => copy()?.appliedIndex ?? 0,
  });
  metrics.gauge(
    'state_defects',
    'transactions since the start that a defect kept from being applied: all refuse them',
    {
      collect: () => copy()?.defects ?? 0,
    },
  );
}
