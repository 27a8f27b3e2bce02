import { expect, it } from 'vitest';
import { allocationOfJob } from './allocation-of-job.js';
import type { Call } from '../command-spec.js';

const stub = (ID: string, JobVersion: number, ClientStatus = 'running'): object => ({
  ID,
  JobVersion,
  ClientStatus,
  TaskGroup: 'a',
});

/** A call to a server that has the job `web` with these allocations, and dice that always show the same. */
function callWith(allocations: readonly object[], random: number): Call {
  const api = {
    connection: {},
    within: () => api,
    get: (path: string) => Promise.resolve({ value: path === '/v1/jobs' ? [{ ID: 'web' }] : allocations }),
  };
  const flags = { text: () => undefined };
  return { api, flags, random: () => random } as unknown as Call;
}

it.each([0, 0.5, 0.99])(
  'CL-344, CL-416: any that runs, or any that runs of the newest version (%d)',
  async (random) => {
    const allocations = [stub('old', 1), stub('older', 0), stub('new', 2), stub('gone', 3, 'complete')];
    const any = await allocationOfJob(callWith(allocations, random), 'web');
    expect(any.ID).toBe(['old', 'older', 'new'][Math.floor(random * 3)]);
    expect((await allocationOfJob(callWith(allocations, random), 'web', 'newest')).ID).toBe('new');
  },
);
