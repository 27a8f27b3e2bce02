import type { JobStatusCounts, JobWithSummary, ReadModel } from '@waybill/projection';
import { PREFIX } from './contract-names.js';
import type { Labels } from '@waybill/telemetry';
import type { Series } from './series.js';

/** Jobs with gauges of their own: a scrape must not grow with the number of jobs that ever were. */
export const MAX_JOBS_SHOWN = 1_000;

/** `<parent>/dispatch-<unix>-<hex>` and `<parent>/periodic-<unix>`. */
const CHILD = /^.*\/(dispatch|periodic)-(.+)$/;

/** What dashboards show of jobs (OP-104): how many there are by status, and what their groups do. */
export class JobGauges {
  constructor(private readonly model: ReadModel) {}

  /** Two statements, whatever the number of jobs. */
  async read(host: string): Promise<Series[]> {
    const [counts, { rows }] = await Promise.all([
      this.model.jobStatusCounts(),
      this.model.jobs({ namespaces: '*', perPage: MAX_JOBS_SHOWN }),
    ]);
    return [...statusGauges(counts, host), ...rows.flatMap((row) => summaryGauges(row, host))];
  }
}

const statusGauges = (counts: JobStatusCounts, host: string): Series[] =>
  Object.entries(counts).map(([status, value]) => ({
    name: `${PREFIX}nomad.job_status.${status}`,
    labels: { host },
    value,
  }));

function summaryGauges({ job, summary }: JobWithSummary, host: string): Series[] {
  const [, kind, id] = CHILD.exec(job.ID) ?? [];
  const child: Labels = job.ParentID !== '' && kind && id ? { parent_id: job.ParentID, [`${kind}_id`]: id } : {};
  return Object.entries(summary?.Summary ?? {}).flatMap(([task_group, counts]) =>
    Object.entries(counts).map(([status, value]) => ({
      name: `${PREFIX}nomad.job_summary.${status.toLowerCase()}`,
      labels: { job: job.ID, task_group, namespace: job.Namespace, ...child, host },
      value,
    })),
  );
}
