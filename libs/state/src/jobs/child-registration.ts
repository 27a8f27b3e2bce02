import type { Evaluation, Job } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { DEFAULT_TRACKED_VERSIONS } from './job-versions.js';

/**
 * Registers a job that was made of a stored one: a dispatch (API-175) or a launch of a periodic job. It is refused if a
 * job of its ID exists, which makes the ID the guard against a second child of the same launch.
 * @param evaluation null: the child waits for launches of its own
 */
export const childRegistration = (child: Job, evaluation: Evaluation | null): TxnPayloads['JobRegister'] => ({
  Job: child,
  Submission: null,
  EnforceIndex: true,
  JobModifyIndex: 0,
  PreserveCounts: false,
  PreserveResources: false,
  Eval: evaluation,
  SubmissionFrom: null,
  TrackedVersions: DEFAULT_TRACKED_VERSIONS,
});
