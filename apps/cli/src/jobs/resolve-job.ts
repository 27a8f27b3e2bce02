import type { JobListStub } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import { AnswerFailure } from '../server/api-failure.js';
import { causeOf, CommandFailure, isInterrupt } from '../failure.js';
import { jobTable } from './job-table.js';

/** Number of matches that are read. */
const MAX_MATCHES = 20;

/** A job that was found by its ID or a prefix of it. Later calls use both members (CL-154). */
export interface ResolvedJob {
  readonly id: string;
  /** Undefined if the caller may not list jobs. Then the given namespace counts. */
  readonly namespace: string | undefined;
  readonly exact: boolean;
}

/** A kind of jobs to which a lookup is limited. */
export interface JobKind {
  /** Word for messages, such as `parameterized `. */
  readonly word: string;
  readonly filter: string;
  /** Equals the filter, for servers that cannot evaluate it (API-71). */
  readonly is: (job: JobListStub) => boolean;
}

/** Only parameterised jobs match, without the jobs dispatched from them (CL-340). */
export const PARAMETERIZED: JobKind = {
  word: 'parameterized ',
  filter: 'ParentID == "" and ParameterizedJob is not nil',
  is: (job) => job.ParentID === '' && job.ParameterizedJob,
};

/** Only periodic jobs match (CL-342). */
export const PERIODIC: JobKind = {
  word: 'periodic ',
  filter: 'Periodic is not nil',
  is: (job) => job.Periodic,
};

/** Finds a job by its ID or a prefix of it (CL-151 to CL-153, CL-158). @throws CommandFailure */
export async function resolveJob(api: ApiClient, given: string, kind?: JobKind): Promise<ResolvedJob> {
  const wanted = given.trim();
  const jobs = await list(api, wanted, kind);
  if (!jobs) return { id: wanted, namespace: undefined, exact: true };
  if (jobs.length === 0) throw new CommandFailure(`No ${kind?.word ?? ''}job(s) with prefix or ID "${wanted}" found`);
  // A list over all namespaces is ordered by namespace first, so the exact match may be at any place (JR-202).
  const [exact, another] = jobs.filter((job) => job.ID === wanted);
  const found = another ? undefined : (exact ?? (jobs.length === 1 ? jobs[0] : undefined));
  if (!found) {
    const withNamespace = api.connection.namespace === '*';
    const more = jobs.length >= MAX_MATCHES ? '\n(results may be truncated)' : '';
    const matches = jobTable(jobs, { withNamespace });
    throw new CommandFailure(`Prefix "${wanted}" matched multiple jobs\n\n${matches}${more}`);
  }
  return { id: found.ID, namespace: found.Namespace, exact: found.ID === wanted };
}

/** Returns undefined if the token may not list jobs. */
async function list(api: ApiClient, prefix: string, kind: JobKind | undefined): Promise<JobListStub[] | undefined> {
  const read = async (filter: string | undefined): Promise<JobListStub[]> =>
    (await api.get<JobListStub[] | null>('/v1/jobs', { prefix, per_page: MAX_MATCHES, filter })).value ?? [];
  try {
    return await read(kind?.filter);
  } catch (error) {
    if (isInterrupt(error)) throw error;
    if (kind && error instanceof AnswerFailure && error.body.includes('failed to create result paginator'))
      return (await read(undefined)).filter(kind.is);
    if (error instanceof AnswerFailure && error.body.includes('Permission denied')) return undefined;
    throw new CommandFailure(`Error querying job prefix "${prefix}": ${causeOf(error)}`);
  }
}

/** Returns the path of a job. Its ID is escaped, because it may contain slashes and other characters. */
export const jobPath = (id: string, sub = ''): string => `/v1/job/${encodeURIComponent(id)}${sub}`;
