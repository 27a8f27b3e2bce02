import { aRequest } from '../http/request.fixture.js';
import { EVERYBODY_CALLS, RpcError, type QueuedOfJob, type Rpc } from '@waybill/rpc';
import { beforeEach, describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import { MAX_RECONCILED_JOBS, ReconcileSummaries } from './reconcile-summaries.js';

let pages: QueuedOfJob[][];
let asked: unknown[];
let written: number[];

/** Answers page after page; `Next` is the number of the next one. */
const rpc: Rpc = {
  ask: async (_call, request) => {
    asked.push(request);
    const page = Number((request as { After: string }).After);
    const Queued = pages[page];
    if (!Queued) throw new RpcError('unavailable', 'no scheduler');
    return { Queued, Next: page + 1 < pages.length ? String(page + 1) : '' } as never;
  },
};
const requester = Requester.of(aRequest());
const reconcile = (): Promise<void> =>
  new ReconcileSummaries(
    rpc,
    {
      write: async ({ payload }) => {
        written.push((payload as { Queued: unknown[] }).Queued.length);
        return { index: written.length, isNoop: false, result: undefined };
      },
    },
    () => 42,
  ).reconcile(requester, EVERYBODY_CALLS);
const jobs = (count: number): QueuedOfJob[] =>
  Array.from({ length: count }, (_, n) => ({ Namespace: 'default', JobID: `job-${n}`, Groups: { web: 1 } }));

beforeEach(() => {
  asked = [];
  written = [];
});

describe('reconciling summaries', () => {
  it('GC-109: page after page, then one transaction, on what clients may have read', async () => {
    pages = [jobs(1), jobs(0), jobs(2)];
    await reconcile();
    expect(asked).toEqual(['', '1', '2'].map((After) => ({ After, MinIndex: 42 })));
    expect(written).toEqual([3]);
  });

  it('ST-83: also when nothing is queued otherwise, since the counters may be wrong', async () => {
    pages = [[]];
    await reconcile();
    expect(written).toEqual([0]);
  });

  it('much of it in several transactions', async () => {
    pages = [jobs(MAX_RECONCILED_JOBS), jobs(1)];
    await reconcile();
    expect(written).toEqual([MAX_RECONCILED_JOBS, 1]);
  });

  it('without a scheduler nothing is written', async () => {
    pages = [];
    await expect(reconcile()).rejects.toThrow('no scheduler');
    expect(written).toEqual([]);
  });
});
