import type { JobListStub, JobSummary } from '../../api/contract.js';

/** JobFilter says what the list of jobs shows, as its address says. */
export interface JobFilter {
  readonly search?: string;
  readonly status?: string;
  readonly type?: string;
  /** The namespace. If it is absent, the list shows all that the reader may see. */
  readonly namespace?: string;
}

export const JOB_STATES = ['running', 'partly placed', 'not placed', 'pending', 'dead', 'stopped'] as const;
export const JOB_TYPES = ['service', 'batch', 'system', 'sysbatch', 'periodic', 'parameterized'] as const;

/** @param search the query of an address, whose members may be anything */
export function readJobFilter(search: Readonly<Record<string, unknown>>): JobFilter {
  const text = (name: string): string | undefined => {
    const value = search[name];
    return typeof value === 'string' && value !== '' && value !== '*' ? value : undefined;
  };
  const filter = { search: text('search'), status: text('status'), type: text('type'), namespace: text('namespace') };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/**
 * Returns a job's state as a reader understands it: the API calls a job that waits for room running, and a stopped one
 * dead.
 */
export function stateOfJob(job: Pick<JobListStub, 'Stop' | 'Status'>, summary?: Pick<JobSummary, 'Summary'>): string {
  if (job.Status === 'dead') return job.Stop ? 'stopped' : 'dead';
  const groups = Object.values(summary?.Summary ?? {});
  if (!groups.some(({ Queued }) => Queued > 0)) return job.Status;
  return groups.some(({ Running, Starting }) => Running + Starting > 0) ? 'partly placed' : 'not placed';
}

/** Returns the kind of a job: launched by a clock, on demand, or by itself. */
export const kindOfJob = ({ Type, Periodic, ParameterizedJob }: JobListStub): string =>
  Periodic ? 'periodic' : ParameterizedJob ? 'parameterized' : Type;

/** Returns the jobs that pass the filter, the last changed first. Children are on their parent's page. */
export function filteredJobs(jobs: readonly JobListStub[], filter: JobFilter): readonly JobListStub[] {
  const { search = '', status, type } = filter;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return jobs
    .filter((job) => job.ParentID === '')
    .filter((job) => status === undefined || stateOfJob(job, job.JobSummary) === status)
    .filter((job) => type === undefined || job.Type === type || kindOfJob(job) === type)
    .filter((job) => words.every((word) => `${job.ID} ${job.Name}`.toLowerCase().includes(word)))
    .toSorted((a, b) => b.SubmitTime - a.SubmitTime || (a.ID < b.ID ? -1 : 1));
}
