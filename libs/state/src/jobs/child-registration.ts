import type { Evaluation, Job } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { DEFAULT_TRACKED_VERSIONS } from './job-versions.js';

/**
 * Registers a job that a stored job creates: a dispatch (API-175) or a launch of a periodic job. It is refused if a job
 * of its ID exists, so that the ID prevents a second child of the same launch.
 * @param evaluation null: the child is periodic or parameterized itself
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
