import type { JobStatusCounts, JobWithSummary, ReadModel } from '@waybill/projection';
import { jobLabels, type Labels, METRICS_PREFIX, type Series } from '@waybill/telemetry';

/** Jobs with gauges of their own: a scrape must not grow with the number of jobs that ever were. */
export const MAX_JOBS_SHOWN = 1_000;

/** What dashboards show of jobs (OP-104): how many there are by status, and what their groups do. */
export class JobGauges {
  /** @param host labels that all of them have @param dispatched whether jobs that were dispatched have gauges of their own */
  constructor(
    private readonly model: Pick<ReadModel, 'jobStatusCounts' | 'jobs'>,
    private readonly host: Labels,
    private readonly dispatched: boolean,
  ) {}

  /** Two statements, whatever the number of jobs. */
  async readGauges(): Promise<Series[]> {
    const [counts, { rows }] = await Promise.all([
      this.model.jobStatusCounts(),
      this.model.jobs({ namespaces: '*', perPage: MAX_JOBS_SHOWN }),
    ]);
    const shown = this.dispatched ? rows : rows.filter(({ job }) => !job.Dispatched);
    return [...statusGauges(counts, this.host), ...shown.flatMap((row) => summaryGauges(row, this.host))];
  }
}

const statusGauges = (counts: JobStatusCounts, host: Labels): Series[] =>
  Object.entries(counts).map(([status, value]) => ({
    name: `${METRICS_PREFIX}nomad.job_status.${status}`,
    labels: host,
    value,
  }));

function summaryGauges({ job, summary }: JobWithSummary, host: Labels): Series[] {
  const labels = { ...jobLabels(job), ...host };
  return Object.entries(summary?.Summary ?? {}).flatMap(([task_group, counts]) =>
    Object.entries(counts).map(([status, value]) => ({
      name: `${METRICS_PREFIX}nomad.job_summary.${status.toLowerCase()}`,
      labels: { ...labels, task_group },
      value,
    })),
  );
}
