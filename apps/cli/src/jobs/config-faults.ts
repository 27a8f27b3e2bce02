import type { ConfigFaultOfTask } from '@waybill/jobspec';
import type { ApiClient } from '../server/api-client.js';
import { AnswerFailure } from '../server/api-failure.js';
import type { JobFile } from './job-file.js';

/** Validation is the answer of `/v1/validate/job`. */
export interface Validation {
  readonly DriverConfigValidated: boolean;
  readonly Error: string;
  readonly Warnings: string;
  /** Absent if there are none, and from servers that do not look at them. */
  readonly ConfigFaults?: readonly ConfigFaultOfTask[];
}

const BAD_REQUEST = 400;

/**
 * Returns the faults of `config` blocks with their lines, if these are why the server refused a job in HCL (PG-42), as
 * text that follows the refusal. It asks the server to validate the job, because the text of a refusal has no places.
 * Returns an empty text in all other cases.
 */
export async function placesOf(api: ApiClient, file: JobFile, refusal: unknown): Promise<string> {
  if (!(refusal instanceof AnswerFailure) || refusal.status !== BAD_REQUEST) return '';
  const validation = await api.put<Validation>('/v1/validate/job', { Job: file.job }).catch(() => undefined);
  return validation ? placedFaults(file, validation.value) : '';
}

/** Returns the faults of `config` blocks with their lines; an empty text if there are none or the file is no HCL. */
export async function placedFaults({ name, submission }: JobFile, { ConfigFaults = [] }: Validation): Promise<string> {
  if (ConfigFaults.length === 0 || submission.Format !== 'hcl2') return '';
  const { placedConfigFaults } = await import('@waybill/jobspec');
  return `\n${placedConfigFaults({ name, text: submission.Source }, ConfigFaults).illustrated}`;
}
