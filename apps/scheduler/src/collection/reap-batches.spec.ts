import { MAX_REAPED_IDS, MAX_REAPED_JOBS, type Reap } from '@waybill/rpc';
import { beforeEach, describe, expect, it } from 'vitest';
import { BATCH_LIMITS, ReapBatches } from './reap-batches.js';

let sent: Reap[];
let batches: ReapBatches;

beforeEach(() => {
  sent = [];
  batches = new ReapBatches(async (reap) => void sent.push(reap), { ids: 2, jobs: 2, volumes: 2 });
});

const evaluations = (AllocIDs: string[], EvalIDs: string[] = []): Reap => ({ Kind: 'evaluations', EvalIDs, AllocIDs });
const job = (ID: string) => ({ Namespace: 'default', ID });

describe('batches', () => {
  it('GC-92 DP-1403: have limits that keep a transaction small', () => {
    expect([MAX_REAPED_IDS, MAX_REAPED_JOBS]).toEqual([7281, 2048]);
    expect(MAX_REAPED_IDS * 36).toBeLessThanOrEqual(256 * 1024);
    expect(BATCH_LIMITS.ids).toBeLessThanOrEqual(MAX_REAPED_IDS);
    expect(BATCH_LIMITS.jobs).toBe(MAX_REAPED_JOBS);
  });

  it('GC-93 GC-97 EB-153: allocations fill a batch first, evaluations take what is left', async () => {
    await batches.addEvaluations(['a', 'b', 'c'], ['1', '2', '3']);
    await batches.flush();
    expect(sent).toEqual([evaluations(['1', '2']), evaluations(['3'], ['a']), evaluations([], ['b', 'c'])]);
  });

  it('GC-94 DP-1403: three deployments, jobs or nodes are two requests', async () => {
    for (const id of ['1', '2', '3']) {
      await batches.addDeployment(id);
      await batches.addNode(id);
      await batches.addJob(job(id), [], []);
    }
    await batches.flush();
    expect(sent.toSorted((a, b) => (a.Kind < b.Kind ? -1 : 1))).toEqual([
      { Kind: 'deployments', DeploymentIDs: ['1', '2'] },
      { Kind: 'deployments', DeploymentIDs: ['3'] },
      { Kind: 'jobs', Jobs: [job('1'), job('2')] },
      { Kind: 'jobs', Jobs: [job('3')] },
      { Kind: 'nodes', NodeIDs: ['1', '2'] },
      { Kind: 'nodes', NodeIDs: ['3'] },
    ]);
  });

  it('GC-94: three plugins, or volumes with stale claims, are two requests', async () => {
    const volume = (ID: string) => ({ Namespace: 'default', ID });
    for (const id of ['1', '2', '3']) {
      await batches.addPlugin(id);
      await batches.addVolume(volume(id));
    }
    const full: Reap[] = [
      { Kind: 'plugins', PluginIDs: ['1', '2'] },
      { Kind: 'volume-claims', Volumes: [volume('1'), volume('2')] },
    ];
    expect(sent).toEqual(full);
    await batches.flush();
    expect(sent.slice(2).toSorted((a, b) => (a.Kind < b.Kind ? -1 : 1))).toEqual([
      { Kind: 'plugins', PluginIDs: ['3'] },
      { Kind: 'volume-claims', Volumes: [volume('3')] },
    ]);
  });

  it('GC-95: nothing to delete, no request', async () => {
    await batches.addEvaluations([], []);
    await batches.flush();
    expect(sent).toEqual([]);
  });

  it('GC-96: the first that fails ends it, and those before it are done', async () => {
    const failing = new ReapBatches(
      async (reap) => {
        if (sent.push(reap) === 2) throw new Error('no holder');
      },
      { ids: 2, jobs: 2, volumes: 2 },
    );
    await expect(failing.addEvaluations([], ['1', '2', '3', '4', '5', '6'])).rejects.toThrow('no holder');
    expect(sent).toEqual([evaluations(['1', '2']), evaluations(['3', '4'])]);
  });

  it('GC-135, ST-168: sent as soon as a batch is full, and no job before the last of its own', async () => {
    await batches.addEvaluations(['a'], ['1']);
    expect(sent).toEqual([evaluations(['1'], ['a'])]);
    await batches.addJob(job('web'), ['b'], []);
    await batches.addEvaluations([], ['2']);
    await batches.addJob(job('api'), [], ['3']);
    expect(sent.slice(1)).toEqual([
      evaluations(['2'], ['b']),
      evaluations(['3']),
      { Kind: 'jobs', Jobs: [job('web'), job('api')] },
    ]);
  });

  it('GC-38 GC-135: a job that fits into a batch is not cut by one', async () => {
    await batches.addJob(job('web'), [], ['1']);
    await batches.addJob(job('api'), ['a'], ['2']);
    await batches.addJob(job('large'), ['b'], ['3', '4', '5']);
    await batches.flush();
    expect(sent).toEqual([
      evaluations(['1']),
      evaluations(['2'], ['a']),
      { Kind: 'jobs', Jobs: [job('web'), job('api')] },
      evaluations(['3', '4']),
      evaluations(['5'], ['b']),
      { Kind: 'jobs', Jobs: [job('large')] },
    ]);
  });
});
