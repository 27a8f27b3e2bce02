import type { GivenJob } from '../jobs/job-shape.js';

/** The names that defaults of tasks and services are made of. */
export interface GroupScope {
  readonly job: GivenJob;
  readonly jobId: string;
  readonly jobName: string;
  readonly namespace: string;
  readonly group: string;
}
