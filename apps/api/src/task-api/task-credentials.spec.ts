import { TokenRefusedError } from '@waybill/keyring';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { EVERYBODY } from '../access/caller.js';
import { type CallerSource, RefusedCredential } from '../access/callers.js';
import type { WorkloadSource } from '../access/workload-callers.js';
import { taskCredentials } from './task-credentials.js';

const job = fixtures.aJob();
const alloc = fixtures.anAlloc({
  Job: job,
  JobID: job.ID,
  TaskGroup: job.TaskGroups[0]!.Name,
  ClientStatus: 'running',
});
const TOKEN = 'the secret of a token';
const IDENTITY = 'an.identity.of';

/** While access control is on: tokens and identities. `broken`: PostgreSQL cannot be asked. */
const callers: CallerSource = {
  of: async (credential) => {
    if (credential === 'broken') throw new Error('no database');
    if (credential !== TOKEN && credential !== IDENTITY) throw new RefusedCredential('unknown');
    return EVERYBODY;
  },
  onChangeOf: () => () => {},
};
const workloads = (ended = false): WorkloadSource => ({
  verifyJwt: async (token) => {
    if (token === 'broken') throw new Error('no keys');
    if (token !== IDENTITY) throw new TokenRefusedError('no key of this cluster signed it');
    const [group] = job.TaskGroups;
    return {
      aud: 'nomadproject.io',
      sub: 'global:default:web:group:task:default',
      nomad_allocation_id: alloc.ID,
      nomad_namespace: alloc.Namespace,
      nomad_job_id: job.ID,
      nomad_task: group!.Tasks[0]!.Name,
    };
  },
  allocation: async () => ({ ...alloc, ClientStatus: ended ? 'complete' : 'running' }),
  policiesOfWorkload: async () => [],
});

describe('credentials in requests of tasks', () => {
  it('AU-213: with access control on, those that the API takes', async () => {
    const accepts = taskCredentials(true, callers, workloads());
    expect(await Promise.all([TOKEN, IDENTITY, 'other'].map(accepts))).toEqual([true, true, false]);
  });

  it('AU-213: with access control off, identities of running allocations only', async () => {
    const accepts = taskCredentials(false, callers, workloads());
    expect(await Promise.all([TOKEN, IDENTITY, 'other'].map(accepts))).toEqual([false, true, false]);
    expect(await taskCredentials(false, callers, workloads(true))(IDENTITY)).toBe(false);
  });

  it.each([true, false])('a credential that cannot be looked at is never taken (on: %s)', async (isOn) => {
    await expect(taskCredentials(isOn, callers, workloads())('broken')).rejects.toThrow(/no database|no keys/);
  });
});
