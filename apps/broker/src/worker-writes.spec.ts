import { CORE_TYPE, type Evaluation, NotHolderError, Refusal, SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { HolderWriter } from '@waybill/roles';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { BatchedEvalUpdates } from './batched-eval-updates.js';
import { BlockedEvals } from './blocked/blocked-evals.js';
import { EvaluationTraces } from './evaluation-traces.js';
import { EvalBroker } from './queue/eval-broker.js';
import { NACK_TIMEOUT_MS } from './queue/unacked-deliveries.js';
import { WorkerWrites, type WritingTerm } from './worker-writes.js';

let time: SimulatedTime;
let state: LocalState;
let evals: EvalBroker;
let blocked: BlockedEvals;
let traces: EvaluationTraces;
let term: WritingTerm | undefined;
let raises: boolean;
/** Indexes that the read model was waited for. */
let waitedFor: number[];
let ids: number;
let writes: WorkerWrites;

beforeEach(() => {
  time = new SimulatedTime();
  state = new LocalState();
  ids = 0;
  const deps = { clock: time, timers: time, newId: () => `id-${++ids}`, random: () => 0 };
  const rows = { evaluation: (id: string) => state.tables.evals.get(id), highestEvalIndex: () => 0 };
  evals = new EvalBroker({ ...deps, rows });
  blocked = new BlockedEvals({ ...deps, enqueue: (batch) => evals.enqueueAll(batch), onDuplicate: () => {} });
  traces = new EvaluationTraces();
  write('Initialise', {});
  write('LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  const writer = new HolderWriter({ ...deps, state, region: 'global' }, { role: 'broker', epoch: 1 });
  raises = true;
  term = { writer, updates: new BatchedEvalUpdates(writer), raised: () => raises };
  waitedFor = [];
  const waitUntilReadable = async (index: number) => void waitedFor.push(index);
  writes = new WorkerWrites({ state, evals, blocked, traces, term: () => term, waitUntilReadable });
  evals.setEnabled(true);
  blocked.setEnabled(true);
});

function write<T extends TxnType>(type: T, payload: TxnPayloads[T]): void {
  const context = { timeNs: fixtures.timeNs, requestId: `test-${++ids}`, actor: serviceActor('test') };
  void state.propose(draftTxn(type, payload, context));
}
const row = ({ ID }: Evaluation) => state.tables.evals.get(ID);
const last = () => state.history.at(-1)!.txn;

/** An evaluation that a worker has, and the token of its delivery. */
async function delivered(over: Partial<Evaluation> = {}): Promise<{ evaluation: Evaluation; token: string }> {
  const evaluation = fixtures.anEval(over);
  if (evaluation.Type !== CORE_TYPE) write('EvalUpdate', { Evals: [evaluation] });
  evals.enqueue(evaluation);
  const { token } = (await evals.dequeue([evaluation.Type], 1))!;
  return { evaluation, token };
}

describe('EB-87: a request of a worker', () => {
  it.each([
    ['updates', (evaluation: Evaluation, token: string) => writes.update([evaluation], token)],
    [
      'creates',
      ({ ID }: Evaluation, token: string) => writes.create([fixtures.anEval({ PreviousEval: ID, JobID: 'b' })], token),
    ],
    ['reblocks', async (evaluation: Evaluation, token: string) => writes.reblock([evaluation], token)],
    [
      'reaps',
      ({ ID }: Evaluation, token: string) =>
        writes.reap({ EvalID: ID, Token: token, Reap: { Kind: 'nodes', NodeIDs: [] }, ScanIndex: 0 }),
    ],
  ])('that %s restarts the nack timer, and needs the token of the delivery', async (_, ask) => {
    const { evaluation, token } = await delivered();
    state.tables.evals.replace(evaluation.ID, { ...evaluation, Status: 'blocked' });
    time.advance(NACK_TIMEOUT_MS - 1);
    const before = state.appliedIndex;
    await expect((async () => ask(evaluation, 'other'))()).rejects.toThrow('evaluation token does not match');
    expect(state.appliedIndex).toBe(before);
    await ask(evaluation, token);
    time.advance(NACK_TIMEOUT_MS - 1);
    expect(evals.deliveries.tokenOf(evaluation.ID)).toBe(token);
    time.advance(1);
    expect(evals.deliveries.tokenOf(evaluation.ID)).toBeUndefined();
  });

  it.each([
    ['updated', (given: Evaluation[]) => writes.update(given, 'token')],
    ['created', (given: Evaluation[]) => writes.create(given, 'token')],
    ['reblocked', async (given: Evaluation[]) => writes.reblock(given, 'token')],
  ])('names exactly one evaluation to be %s', async (verb, ask) => {
    const error = `only a single eval can be ${verb}`;
    await expect(ask([])).rejects.toThrow(error);
    await expect(ask([fixtures.anEval(), fixtures.anEval()])).rejects.toThrow(error);
  });
});

describe('EB-214: an update', () => {
  it('writes the evaluation in its trace, with the steps of its delivery', async () => {
    const { evaluation, token } = await delivered();
    traces.remember(evaluation.ID, 'trace');
    const index = await writes.update([{ ...evaluation, Status: 'complete' }], token, ' scheduled1+2');
    expect([index, row(evaluation)?.Status]).toEqual([state.appliedIndex, 'complete']);
    expect(last().traceparent).toBe('trace');
    expect(last().stepTimes).toMatch(/ dequeued0:1 scheduled1\+2$/);
  });

  it('needs a term', async () => {
    const { evaluation, token } = await delivered();
    term = undefined;
    await expect(writes.update([evaluation], token)).rejects.toThrow('evaluation is not outstanding');
  });
});

describe('EB-215: a creation', () => {
  it('writes the evaluation in the trace of the delivered one, and in its namespace', async () => {
    const { evaluation, token } = await delivered();
    traces.remember(evaluation.ID, 'trace');
    const next = fixtures.anEval({ PreviousEval: evaluation.ID, JobID: 'other' });
    const index = await writes.create([next], token);
    expect([index, row(next)?.CreateIndex]).toEqual([state.appliedIndex, state.appliedIndex]);
    expect(last()).toMatchObject({ type: 'EvalUpdate', traceparent: 'trace', namespace: 'default' });
  });

  it('of an evaluation that exists is refused', async () => {
    const { evaluation, token } = await delivered();
    const known = fixtures.anEval({ PreviousEval: evaluation.ID });
    write('EvalUpdate', { Evals: [known] });
    await expect(writes.create([known], token)).rejects.toThrow('evaluation already exists');
  });

  it('EB-151: of housekeeping is enqueued and not written', async () => {
    const { evaluation, token } = await delivered({ Type: CORE_TYPE, JobID: 'eval-gc' });
    const before = state.appliedIndex;
    const next = fixtures.anEval({ Type: CORE_TYPE, JobID: 'job-gc', PreviousEval: evaluation.ID });
    expect(await writes.create([next], token)).toBe(before);
    expect([state.appliedIndex, evals.stats().totalReady]).toEqual([before, 1]);
  });
});

describe('EB-216: a reblock', () => {
  it('is for an evaluation that exists and is blocked, and writes nothing', async () => {
    const { evaluation, token } = await delivered();
    expect(() => writes.reblock([evaluation], token)).toThrow('evaluation not blocked');
    state.tables.evals.replace(evaluation.ID, undefined);
    expect(() => writes.reblock([evaluation], token)).toThrow('evaluation does not exist');
    state.tables.evals.replace(evaluation.ID, { ...evaluation, Status: 'blocked' });
    const before = state.appliedIndex;
    writes.reblock([evaluation], token);
    expect([blocked.isTracked(evaluation.ID), state.appliedIndex]).toEqual([true, before]);
  });
});

describe('EB-152: a deletion', () => {
  const reaping = async (Reap: Parameters<WorkerWrites['reap']>[0]['Reap']): Promise<number> => {
    const { evaluation, token } = await delivered({ Type: CORE_TYPE, JobID: `gc-${++ids}` });
    return writes.reap({ EvalID: evaluation.ID, Token: token, Reap, ScanIndex: state.appliedIndex });
  };

  it('is over when the read model no longer has the objects', async () => {
    const ended = fixtures.anEval({ Status: 'complete' });
    write('EvalUpdate', { Evals: [ended] });
    const index = await reaping({ Kind: 'evaluations', EvalIDs: [ended.ID], AllocIDs: [] });
    expect([row(ended), index, waitedFor]).toEqual([undefined, state.appliedIndex, [state.appliedIndex]]);
  });

  it('GC-7: of another term, or between two terms, writes nothing', async () => {
    raises = false;
    const before = state.appliedIndex;
    await expect(reaping({ Kind: 'nodes', NodeIDs: [] })).rejects.toThrow('housekeeping of another term');
    term = undefined;
    await expect(reaping({ Kind: 'nodes', NodeIDs: [] })).rejects.toThrow('housekeeping of another term');
    expect([state.appliedIndex, waitedFor]).toEqual([before, []]);
  });

  it('GC-68: of what is in use or gone is no error, and prevents no other deletion', async () => {
    const index = await reaping({
      Kind: 'volume-claims',
      Volumes: ['a', 'b'].map((ID) => ({ Namespace: 'default', ID })),
    });
    const verdicts = state.history.slice(-2).map(({ txn, verdict }) => [txn.type, verdict.kind]);
    expect(verdicts).toEqual(Array(2).fill(['CSIVolumeClaim', 'refused']));
    expect([index, waitedFor]).toEqual([0, [0]]);
  });

  it.each([
    ['the term is over', new NotHolderError('over')],
    ['the log is away', new Error('no answer')],
  ])('fails if %s', async (_, error) => {
    state.failure = error;
    const { evaluation, token } = await delivered({ Type: CORE_TYPE, JobID: 'eval-gc' });
    const reap = { EvalID: evaluation.ID, Token: token, Reap: { Kind: 'nodes', NodeIDs: [] }, ScanIndex: 0 } as const;
    await expect(writes.reap(reap)).rejects.toBe(error);
    expect(error instanceof Refusal).toBe(error instanceof NotHolderError);
  });
});
