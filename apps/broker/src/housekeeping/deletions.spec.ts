import { MAX_REAPED_IDS, MAX_REAPED_JOBS, MAX_REAPED_VOLUMES, type Reap } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { deletionsOf } from './deletions.js';

const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `id-${n}`);
const jobs = (count: number) => ids(count).map((ID) => ({ Namespace: 'default', ID }));

describe('what a core evaluation found', () => {
  it.each<[Reap, string, object]>([
    [
      { Kind: 'evaluations', EvalIDs: ['e'], AllocIDs: ['a'] },
      'EvalDelete',
      { EvalIDs: ['e'], AllocIDs: ['a'], UserInitiated: false },
    ],
    [{ Kind: 'jobs', Jobs: jobs(1) }, 'JobBatchDeregister', { Jobs: jobs(1) }],
    [{ Kind: 'deployments', DeploymentIDs: ['d'] }, 'DeploymentDelete', { DeploymentIDs: ['d'] }],
    [{ Kind: 'nodes', NodeIDs: ['n'] }, 'NodeBatchDeregister', { NodeIDs: ['n'] }],
  ])('GC-96 GC-130: $Kind: one transaction that lists what goes, and the index of the look', (reap, type, payload) => {
    expect(deletionsOf(reap, 42)).toEqual([{ type, payload: { ...payload, ScanIndex: 42 }, namespace: '' }]);
  });

  it('GC-63 GC-68 GC-126: volumes and plugins are a transaction each; to a volume it is a claim that is no use', () => {
    expect(deletionsOf({ Kind: 'plugins', PluginIDs: ['a', 'b'] }, 42)).toEqual([
      { type: 'CSIPluginDelete', payload: { ID: 'a' }, namespace: '' },
      { type: 'CSIPluginDelete', payload: { ID: 'b' }, namespace: '' },
    ]);
    const [claim] = deletionsOf({ Kind: 'volume-claims', Volumes: [{ Namespace: 'team', ID: 'disk' }] }, 42);
    expect(claim).toMatchObject({
      type: 'CSIVolumeClaim',
      namespace: 'team',
      payload: { VolumeID: 'disk', Claim: { AllocationID: '', Mode: 2, State: 4 } },
    });
  });

  it('GC-74, GC-76: tokens go in one transaction, with the time by which they must have expired', () => {
    const ExpiredBy = '2026-01-01T00:00:00.000Z';
    expect(deletionsOf({ Kind: 'tokens', AccessorIDs: ['a', 'b'], ExpiredBy }, 42)).toEqual([
      { type: 'ACLTokenDelete', payload: { AccessorIDs: ['a', 'b'], ExpiredBy }, namespace: '' },
    ]);
    expect(deletionsOf({ Kind: 'one-time-tokens', ExpiredByNs: 7 }, 42)).toEqual([
      { type: 'OneTimeTokenExpire', payload: { Timestamp: 7 }, namespace: '' },
    ]);
  });

  it('GC-85: root keys go one by one, and never those in use', () => {
    const one = (KeyID: string) => ({ type: 'RootKeyDelete', payload: { KeyID, Force: false }, namespace: '' });
    expect(deletionsOf({ Kind: 'root-keys', KeyIDs: ['a', 'b'] }, 42)).toEqual([one('a'), one('b')]);
  });

  it.each<[Reap, string]>([
    [{ Kind: 'root-keys', KeyIDs: ids(65) }, '64 root keys'],
    [{ Kind: 'evaluations', EvalIDs: ids(1), AllocIDs: ids(MAX_REAPED_IDS) }, '7281 evaluations and allocations'],
    [{ Kind: 'jobs', Jobs: jobs(MAX_REAPED_JOBS + 1) }, '2048 jobs'],
    [{ Kind: 'deployments', DeploymentIDs: ids(MAX_REAPED_IDS + 1) }, '7281 deployments'],
    [{ Kind: 'nodes', NodeIDs: ids(MAX_REAPED_IDS + 1) }, '7281 nodes'],
    [{ Kind: 'tokens', AccessorIDs: ids(4_097), ExpiredBy: '' }, '4096 tokens'],
    [{ Kind: 'plugins', PluginIDs: ids(MAX_REAPED_VOLUMES + 1) }, '256 plugins'],
    [{ Kind: 'volume-claims', Volumes: jobs(MAX_REAPED_VOLUMES + 1) }, '256 volumes'],
  ])('GC-92: no more than one transaction may hold: %#', (reap, what) => {
    expect(() => deletionsOf(reap, 42)).toThrow(`a request removes at most ${what}`);
  });
});
