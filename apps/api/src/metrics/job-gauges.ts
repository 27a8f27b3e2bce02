import type { JobStatusCounts, JobWithSummary, ReadModel } from '@waybill/projection';
import { jobLabels, type Labels, METRICS_PREFIX, type Series } from '@waybill/telemetry';

/**
 * The largest number of jobs with their own gauges. A scrape must not grow with the number of all jobs that ever
 * existed.
 */
export const MAX_JOBS_SHOWN = 1_000;

/**
 * JobGauges has what dashboards show of jobs (OP-104): the number of jobs by status, and the allocations of their
 * groups.
 */
export class JobGauges {
  /** @param host the labels of all gauges @param dispatched whether dispatched jobs have gauges of their own */
  constructor(
    private readonly model: Pick<ReadModel, 'jobStatusCounts' | 'jobs'>,
    private readonly host: Labels,
    private readonly dispatched: boolean,
  ) {}

  /** Reads the gauges with two statements, whatever the number of jobs. */
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
