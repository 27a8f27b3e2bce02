import type { JobListStub, JobSummary } from '../../api/contract.js';

/** What the list of jobs shows, as its address has it. */
export interface JobFilter {
  readonly search?: string;
  readonly status?: string;
  readonly type?: string;
  /** Absent: all that the reader may see. */
  readonly namespace?: string;
}

export const JOB_STATES = ['running', 'partly placed', 'not placed', 'pending', 'dead', 'stopped'] as const;
export const JOB_TYPES = ['service', 'batch', 'system', 'sysbatch', 'periodic', 'parameterized'] as const;

/** @param search of an address, whose members may be anything */
export function readJobFilter(search: Readonly<Record<string, unknown>>): JobFilter {
  const text = (name: string): string | undefined => {
    const value = search[name];
    return typeof value === 'string' && value !== '' && value !== '*' ? value : undefined;
  };
  const filter = { search: text('search'), status: text('status'), type: text('type'), namespace: text('namespace') };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** A job's state as a reader means it: the API calls a job running that waits for room, and dead one that was stopped. */
export function stateOfJob(job: Pick<JobListStub, 'Stop' | 'Status'>, summary?: Pick<JobSummary, 'Summary'>): string {
  if (job.Status === 'dead') return job.Stop ? 'stopped' : 'dead';
  const groups = Object.values(summary?.Summary ?? {});
  if (!groups.some(({ Queued }) => Queued > 0)) return job.Status;
  return groups.some(({ Running, Starting }) => Running + Starting > 0) ? 'partly placed' : 'not placed';
}

/** What kind of job it is: launched by a clock, on demand, or by itself. */
export const kindOfJob = ({ Type, Periodic, ParameterizedJob }: JobListStub): string =>
  Periodic ? 'periodic' : ParameterizedJob ? 'parameterized' : Type;

/** The jobs that the filter lets through, those that changed last first. Children stand on their parent's page. */
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
