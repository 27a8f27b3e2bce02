import type { GivenJob } from '../jobs/job-shape.js';

/** The names from which defaults of tasks and services are built. */
export interface GroupScope {
  readonly job: GivenJob;
  readonly jobId: string;
  readonly jobName: string;
  readonly namespace: string;
  readonly group: string;
}
