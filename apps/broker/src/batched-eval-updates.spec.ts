import type { Author } from '@waybill/writing';
import { type Evaluation, Refusal, NotHolderError } from '@waybill/model';
import { fixtures, type TxnPayloads } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { BatchedEvalUpdates, MAX_BATCHED_UPDATES } from './batched-eval-updates.js';

interface Written {
  readonly evals: readonly string[];
  readonly namespace: string;
  readonly traceparent: string | undefined;
}

/** A log whose answers the test gives. */
class SlowLog {
  readonly written: Written[] = [];
  private readonly answers: ((error?: Error) => void)[] = [];

  readonly stepTimes: (string | undefined)[] = [];

  write(type: string, payload: unknown, namespace = '', by: Partial<Author> = {}) {
    this.stepTimes.push(by.stepTimes);
    const { Evals } = payload as TxnPayloads['EvalUpdate'];
    this.written.push({ evals: Evals.map(({ ID }) => ID), namespace, traceparent: by.traceparent });
    const index = this.written.length;
    return new Promise<number>((resolve, reject) => {
      this.answers.push((error) => (error ? reject(error) : resolve(index)));
    });
  }

  /** Answers the `nth` write, counted from 0. */
  async answer(nth: number, error?: Error): Promise<void> {
    this.answers[nth]?.(error);
    await settled();
  }

  get sizes(): number[] {
    return this.written.map(({ evals }) => evals.length);
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ended = (ID: string, Namespace = 'default'): Evaluation =>
  fixtures.anEval({ ID, JobID: ID, Namespace, Status: 'complete' });

let log: SlowLog;
let updates: BatchedEvalUpdates;
/** What became of each, in order. */
let outcomes: string[];

const write = (evaluation: Evaluation, traceparent?: string): void => {
  void updates.write(evaluation, traceparent).then(
    (index) => outcomes.push(`${evaluation.ID} at ${index}`),
    (error: unknown) => outcomes.push(`${evaluation.ID}: ${String(error)}`),
  );
};

beforeEach(() => {
  log = new SlowLog();
  updates = new BatchedEvalUpdates(log);
  outcomes = [];
});

describe('updates written together', () => {
  it('writes what comes alone at once, and alone', async () => {
    write(ended('a'));
    await settled();
    expect(log.written).toEqual([{ evals: ['a'], namespace: 'default', traceparent: undefined }]);
    await log.answer(0);
    write(ended('b'));
    await settled();
    await log.answer(1);
    expect(outcomes).toEqual(['a at 1', 'b at 2']);
  });

  it('makes one transaction of what comes in one turn, and of what comes while one is on its way', async () => {
    for (const id of ['a', 'b']) write(ended(id));
    await settled();
    for (const id of ['c', 'd', 'e']) write(ended(id));
    await settled();
    expect(log.sizes).toEqual([2]);
    await log.answer(0);
    await log.answer(1);
    expect(log.sizes).toEqual([2, 3]);
    expect(outcomes).toEqual(['a at 1', 'b at 1', 'c at 2', 'd at 2', 'e at 2']);
  });

  it('puts only those of one namespace and one trace together, and none waits for another kind', async () => {
    write(ended('a'), 'trace-1');
    write(ended('b'), 'trace-2');
    write(ended('c', 'other'), 'trace-1');
    write(ended('d'), 'trace-1');
    await settled();
    expect(log.written).toEqual([
      { evals: ['a', 'd'], namespace: 'default', traceparent: 'trace-1' },
      { evals: ['b'], namespace: 'default', traceparent: 'trace-2' },
      { evals: ['c'], namespace: 'other', traceparent: 'trace-1' },
    ]);
  });

  it('CL-1065: what is told of each goes with the one transaction', async () => {
    for (const id of ['a', 'b', 'c']) void updates.write(ended(id), undefined, id === 'b' ? '' : `${id}@1 dequeued0:1`);
    await settled();
    expect(log.stepTimes).toEqual(['a@1 dequeued0:1; c@1 dequeued0:1']);
  });

  it('puts no more together than the limit', async () => {
    for (let i = 0; i <= MAX_BATCHED_UPDATES; i++) write(ended(`e-${i}`));
    await settled();
    await log.answer(0);
    expect(log.sizes).toEqual([MAX_BATCHED_UPDATES, 1]);
  });

  it('EB-265: what is refused for one is written for the others, and only that one fails', async () => {
    for (const id of ['a', 'bad', 'c']) write(ended(id));
    await settled();
    await log.answer(0, new Refusal('conflict', 'unknown status'));
    expect(log.sizes).toEqual([3, 1, 1, 1]);
    await log.answer(1);
    await log.answer(2, new Refusal('conflict', 'unknown status'));
    await log.answer(3);
    expect(outcomes).toEqual(['a at 2', 'bad: Refusal: unknown status', 'c at 4']);
  });

  it('fails for all when the term is over: nothing of it would count', async () => {
    for (const id of ['a', 'b']) write(ended(id));
    await settled();
    await log.answer(0, new NotHolderError('stale epoch'));
    expect(log.sizes).toEqual([2]);
    expect(outcomes).toHaveLength(2);
    write(ended('c'));
    await settled();
    expect(log.sizes).toEqual([2, 1]);
  });
});
