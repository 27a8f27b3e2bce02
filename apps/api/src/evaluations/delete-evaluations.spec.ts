import { aRequest } from '../http/request.fixture.js';
import { writtenDrafts } from '../written-drafts.fixture.js';
import type { Evaluation, Job } from '@waybill/model';
import type { EvaluationListOptions } from '@waybill/projection';
import { fixtures, type Proposed, type TxnDraft, type TxnPayloads } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import { DeleteEvaluations, readDeleteRequest } from './delete-evaluations.js';

const { anAlloc, anEval, aJob } = fixtures;
const requester = (): Requester => Requester.of(aRequest());
const NOT_PAUSED = 'eval broker is enabled; eval broker must be paused to delete evals';

/** A deletion over rows in memory; what would be written is kept. */
function deletion(
  rows: Evaluation[],
  over: { paused?: boolean; enabled?: boolean; job?: Job; verdicts?: Proposed['verdict'][] } = {},
) {
  const { paused = true, enabled = false, verdicts = [] } = over;
  const written: TxnPayloads['EvalDelete'][] = [];
  const propose = async (draft: TxnDraft): Promise<Proposed> => {
    written.push(draft.payload as TxnPayloads['EvalDelete']);
    const verdict = verdicts.shift() ?? { kind: 'accepted', result: { Count: rows.length, NextToken: '' } };
    return { index: 100 + written.length, verdict };
  };
  const read = {
    schedulerConfiguration: async () => ({ row: { PauseEvalBroker: paused } }),
    evaluation: async (id: string) => ({ row: rows.find((row) => row.ID === id) }),
    evaluations: async ({ keep = () => true }: EvaluationListOptions) => ({
      index: 1,
      rows: rows.filter(keep).slice(0, 1),
      nextToken: '',
    }),
    evalAllocations: async (id: string) => ({ rows: [anAlloc({ EvalID: id, ClientStatus: 'running' })] }),
    job: async () => ({ row: over.job }),
  };
  const gone = new AbortController();
  const deleter = new DeleteEvaluations(read, writtenDrafts({ propose }).writer, { enabledAt: async () => enabled });
  const run = (body: unknown) => deleter.delete(readDeleteRequest(body), '*', requester, gone.signal);
  return { run, written, gone };
}

describe('deleting evaluations', () => {
  it('API-191: exactly one of ids and filter, and no more ids than fit', () => {
    expect(() => readDeleteRequest({ EvalIDs: ['a'], Filter: 'x' })).toThrow(
      'evals cannot be deleted by both ID and filter',
    );
    for (const body of [{}, { EvalIDs: [] }, { EvalIDs: null, Filter: '' }])
      expect(() => readDeleteRequest(body)).toThrow('evals must be deleted by either ID or filter');
    const EvalIDs = Array.from({ length: 7_282 }, (_, i) => String(i));
    expect(() => readDeleteRequest({ EvalIDs })).toThrow('request includes 7282 evaluation IDs, must be 7281 or fewer');
    expect(readDeleteRequest({ evalids: ['ABC'] })).toEqual({ kind: 'ids', ids: ['abc'] });
    for (const body of [{ EvalIDs: 'a' }, { EvalIDs: [7] }, { Filter: 7 }, []])
      expect(() => readDeleteRequest(body)).toThrow('json:');
  });

  it('EB-303: neither when the flag says no, nor when the broker is still on', async () => {
    const row = anEval();
    for (const over of [{ paused: false }, { enabled: true }]) {
      const { run, written } = deletion([row], over);
      await expect(run({ EvalIDs: [row.ID] })).rejects.toMatchObject({ code: 'conflict', message: NOT_PAUSED });
      await expect(run({ Filter: 'Status is not empty' })).rejects.toThrow(NOT_PAUSED);
      expect(written).toEqual([]);
    }
  });

  it('EB-304: an unknown or unsafe id refuses the whole list', async () => {
    const rows = [anEval(), anEval()];
    const { run, written } = deletion(rows, { job: aJob({ Status: 'running' }) });
    await expect(run({ EvalIDs: [rows[0]!.ID, 'x'] })).rejects.toThrow(/eval not found|is not safe/);
    await expect(run({ EvalIDs: [rows[1]!.ID] })).rejects.toThrow(`eval ${rows[1]!.ID} is not safe to delete`);
    expect(written).toEqual([]);
    const safe = deletion(rows);
    await expect(safe.run({ EvalIDs: [rows[0]!.ID, 'x'] })).rejects.toThrow('eval not found');
    expect(await safe.run({ EvalIDs: rows.map((row) => row.ID) })).toEqual({ Count: 2, Index: 101 });
    expect(safe.written).toMatchObject([{ EvalIDs: rows.map((row) => row.ID), UserInitiated: true }]);
  });

  it('EB-305: by filter page after page; the count is the sum, the index the last', async () => {
    const row = { ...anEval(), CreateIndex: 7 };
    const page = (Count: number, NextToken: string) => ({ kind: 'accepted' as const, result: { Count, NextToken } });
    const { run, written } = deletion([row], { verdicts: [page(728, '8.b'), page(0, '9.c'), page(3, '')] });
    expect(await run({ Filter: 'Status == pending' })).toEqual({ Count: 731, Index: 103 });
    expect(written.map(({ NextToken, PerPage }) => [NextToken, PerPage])).toEqual([
      [`7.${row.ID}`, 728],
      ['8.b', 728],
      ['9.c', 728],
    ]);
  });

  it('API-641, EB-305: nothing matches, nothing is written; unpaused half-way, it ends with the refusal', async () => {
    const none = deletion([anEval()]);
    expect(await none.run({ Filter: 'Status == complete' })).toEqual({ Count: 0, Index: 0 });
    expect(none.written).toEqual([]);
    const { run } = deletion([anEval()], {
      verdicts: [
        { kind: 'accepted', result: { Count: 728, NextToken: '8.b' } },
        { kind: 'refused', code: 'conflict', error: NOT_PAUSED },
      ],
    });
    await expect(run({ Filter: 'Status == pending' })).rejects.toMatchObject({ code: 'conflict', message: NOT_PAUSED });
  });
});
