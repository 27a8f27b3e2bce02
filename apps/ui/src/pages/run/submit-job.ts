import { callApi } from '../../api/client.js';
import type { JobInput, JobPlanResponse } from '../../api/contract.js';
import type { JobText } from './job-text.js';

/** PlannedJob is a decoded job file, with what its registration would do. */
export interface PlannedJob {
  readonly text: JobText;
  readonly job: JobInput;
  readonly plan: JobPlanResponse;
}

/** @throws ApiFailure if the file is wrong (with the line), or the job may not be registered */
export async function planJob(text: JobText): Promise<PlannedJob> {
  const job = await callApi('POST /v1/jobs/parse', {
    body: { JobHCL: text.source, Variables: text.variables, Canonicalize: true },
  });
  const plan = await callApi('POST /v1/job/{jobID}/plan', {
    path: { jobID: job.ID ?? '' },
    query: { namespace: job.Namespace ?? undefined },
    body: { Job: job, Diff: true },
  });
  return { text, job, plan };
}

/** Registers the planned job. The server refuses it if somebody else has changed the job since. @throws ApiFailure */
export function runJob({ text, job, plan }: PlannedJob) {
  return callApi('POST /v1/jobs', {
    query: { namespace: job.Namespace ?? undefined },
    body: {
      Job: job,
      Submission: { Source: text.source, Format: 'hcl2', Variables: text.variables },
      EnforceIndex: true,
      JobModifyIndex: plan.JobModifyIndex,
    },
  });
}
