import type { JobListStub } from '@waybill/model';
import { table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

/** Lists jobs, sorted by ID (CL-311). */
export function jobTable(jobs: readonly JobListStub[], options: { readonly withNamespace: boolean }): string {
  const namespaced = <T>(cell: T): T[] => (options.withNamespace ? [cell] : []);
  const header = ['ID', ...namespaced('Namespace'), 'Type', 'Priority', 'Status', 'Submit Date'];
  const rows = jobs
    .toSorted((a, b) => (a.ID < b.ID ? -1 : a.ID > b.ID ? 1 : 0))
    .map((job) => [
      job.ID,
      ...namespaced(job.Namespace ?? ''),
      `${job.Type}${job.Periodic ? '/periodic' : ''}${job.ParameterizedJob ? '/parameterized' : ''}`,
      String(job.Priority),
      `${job.Status}${job.Stop ? ' (stopped)' : ''}`,
      absoluteTime(job.SubmitTime),
    ]);
  return table([header, ...rows]);
}
