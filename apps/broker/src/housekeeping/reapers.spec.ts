import { HolderWriter } from '@waybill/roles';
import { type Evaluation, FakeTime, NS_PER_MS, nsFromMs } from '@waybill/model';
import { fixtures, type StateMachine, type TxnDraft } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { BlockedEvals } from '../blocked/blocked-evals.js';
import { DELIVERY_LIMIT, NACK_TIMEOUT_MS } from '../queue/unacked-deliveries.js';
import { EvalBroker } from '../queue/eval-broker.js';
import {
  CANCEL_BATCH,
  CANCEL_SWEEP_MS,
  FOLLOW_UP_JITTER_NS,
  FOLLOW_UP_WAIT_NS,
  PRUNE_MS,
  REAPER_RETRY_MS,
  Reapers,
  UNBLOCK_FAILED_MS,
} from './reapers.js';

let time: FakeTime;
let machine: StateMachine;
let broker: EvalBroker;
let blocked: BlockedEvals;
let reapers: Reapers;
let random: number;
/** The log answers no write. */
let isAway: boolean;
/** Evaluations of each transaction that was written. */
let written: Evaluation[][];
let woken: string[];
let warnings: string[];
/** Happens while a write fails. */
let meanwhile: () => void;

beforeEach(() => {
  time = new FakeTime();
  machine = fixtures.aMachine();
  fixtures.aRegisteredJob(machine);
  fixtures.apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  [random, isAway, written, woken, warnings, meanwhile] = [0, false, [], [], [], () => {}];
  let ids = 0;
  const deps = { clock: time, timers: time, newId: () => `id-${++ids}`, random: () => random };
  const state = {
    propose: async (draft: TxnDraft) => {
      if (isAway) {
        meanwhile();
        throw new Error('no answer');
      }
      const txn = { ...draft, index: machine.appliedIndex + 1 } as Parameters<typeof machine.apply>[0];
      if (txn.type === 'EvalUpdate') written.push(txn.payload.Evals);
      const { index, verdict } = machine.apply(txn);
      return { index, verdict };
    },
  };
  blocked = new BlockedEvals({
    ...deps,
    enqueue: (batch) => woken.push(...batch.map((one) => one.evaluation.ID)),
    onDuplicate: () => reapers.wakeCanceler(),
  });
  const rows = { evaluation: (id: string) => machine.tables.evals.get(id), highestEvalIndex: () => 0 };
  broker = new EvalBroker({ ...deps, rows }, { deliveryLimit: 1 });
  reapers = new Reapers({
    ...deps,
    broker,
    blocked,
    tables: machine.tables,
    writer: new HolderWriter({ ...deps, state, region: 'global' }, { role: 'broker', epoch: 1 }),
    deliveryLimit: DELIVERY_LIMIT,
    logger: { ...silentLogger, warn: (message: string) => void warnings.push(message) },
  });
  broker.setEnabled(true);
  blocked.setEnabled(true);
});

function stored(over: Partial<Evaluation> = {}): Evaluation {
  const evaluation = fixtures.anEval(over);
  fixtures.apply(machine, 'EvalUpdate', { Evals: [evaluation] });
  return row(evaluation);
}
const row = ({ ID }: Evaluation): Evaluation => machine.tables.evals.get(ID)!;
function enqueued(over: Partial<Evaluation> = {}): Evaluation {
  const evaluation = stored(over);
  broker.enqueue(evaluation);
  return evaluation;
}
/** Has so many evaluations superseded by the ack of another one of their job. */
async function supersede(count: number): Promise<Evaluation[]> {
  enqueued();
  const delivery = await broker.dequeue(['service'], 1);
  const superseded = Array.from({ length: count }, () => enqueued());
  enqueued({ ID: '00000000' });
  broker.ack(delivery!.evaluation.ID, delivery!.token);
  expect(broker.superseded.size).toBe(count);
  return superseded;
}
/** A worker gives the evaluation back for the last time. */
async function exhaust(evaluation: Evaluation): Promise<void> {
  broker.enqueue(evaluation);
  const { token } = (await broker.dequeue([evaluation.Type], 1))!;
  broker.nack(evaluation.ID, token);
  await time.pass(0);
}

describe('superseded and duplicate evaluations', () => {
  it('EB-171, EB-17: a duplicate that is canceled says nothing of what waits now', async () => {
    const older = stored({ Status: 'blocked', QueuedAllocations: { web: 3 } });
    const newer = stored({ Status: 'blocked' });
    const failed = stored({ Status: 'failed', QueuedAllocations: { web: 5 } });
    blocked.block(newer);
    blocked.block(older);
    await time.pass(0);
    expect(row(older)).toMatchObject({
      Status: 'canceled',
      StatusDescription: 'existing blocked evaluation exists for job "web"',
      QueuedAllocations: {},
    });
    expect([row(newer).Status, row(failed).Status]).toEqual(['blocked', 'failed']);
    expect(machine.tables.job_summary.get('default/web')?.Summary['web']?.Queued).toBe(5);
    expect(blocked.duplicateCount).toBe(0);
  });

  it('EB-95, EB-96: are canceled at once when they appear, a batch after the other until there are no more', async () => {
    const superseded = await supersede(CANCEL_BATCH + 1);
    reapers.wakeCanceler();
    await time.pass(0);
    expect(written.map((batch) => batch.length)).toEqual([CANCEL_BATCH, 1]);
    expect([broker.superseded.size, broker.stats().totalCancelable]).toEqual([0, 0]);
    expect(row(superseded[0]!)).toMatchObject({
      Status: 'canceled',
      StatusDescription: 'canceled after more recent eval was processed',
    });
    broker.enqueue(superseded[0]!);
    expect(broker.stats().totalPending).toBe(1);
  });

  it('EB-95, EB-171: duplicates are canceled batch after batch as well, to the last one', async () => {
    const duplicates = Array.from({ length: CANCEL_BATCH + 1 }, () => stored({ Status: 'blocked' }));
    blocked.returnDuplicates(duplicates);
    reapers.wakeCanceler();
    await time.pass(0);
    expect(written.map((batch) => batch.length)).toEqual([CANCEL_BATCH, 1]);
  });

  it('EB-96: that appear while a batch is written are canceled after it', async () => {
    await supersede(1);
    reapers.wakeCanceler();
    reapers.wakeCanceler();
    const { ID } = stored({ Status: 'blocked', JobID: 'other' });
    blocked.block(row({ ID } as Evaluation));
    blocked.block(stored({ Status: 'blocked', JobID: 'other' }));
    await time.pass(0);
    expect(written.map((batch) => batch.map(({ JobID }) => JobID))).toEqual([['web'], ['other']]);
  });

  it('EB-98: that cannot be written are put back, and written at the next sweep', async () => {
    const [older] = await supersede(1);
    isAway = true;
    reapers.start();
    await time.pass(CANCEL_SWEEP_MS);
    expect([broker.superseded.size, row(older!).Status]).toEqual([1, 'pending']);
    isAway = false;
    await time.pass(CANCEL_SWEEP_MS - 1);
    expect(written).toEqual([]);
    await time.pass(1);
    expect([broker.superseded.size, row(older!).Status]).toEqual([0, 'canceled']);
    reapers.stop();
  });

  it('EB-171: duplicates that cannot be written are kept until the next sweep', async () => {
    isAway = true;
    reapers.start();
    const [older] = [stored({ Status: 'blocked' }), stored({ Status: 'blocked' })].map((one) => {
      blocked.block(one);
      return one;
    });
    await time.pass(0);
    expect(blocked.duplicateCount).toBe(1);
    isAway = false;
    await time.pass(CANCEL_SWEEP_MS);
    expect([blocked.duplicateCount, row(older!).Status]).toEqual([0, 'canceled']);
    reapers.stop();
  });

  it('EB-95: that have ended or were deleted meanwhile are not written again', async () => {
    const [ended, gone, other] = await supersede(3);
    machine.tables.evals.replace(ended!.ID, { ...ended!, Status: 'complete' });
    machine.tables.evals.replace(gone!.ID, undefined);
    reapers.wakeCanceler();
    await time.pass(0);
    expect(written.map((batch) => batch.map(({ ID }) => ID))).toEqual([[other!.ID]]);
    expect(broker.superseded.size).toBe(0);
  });

  it('EB-95: nothing is written if all of them have ended', async () => {
    const [ended] = await supersede(1);
    machine.tables.evals.replace(ended!.ID, { ...ended!, Status: 'complete' });
    reapers.wakeCanceler();
    await time.pass(0);
    expect([written, broker.superseded.size]).toEqual([[], 0]);
  });

  it('EB-16: are modified now, or just after a creation that seems to come later', async () => {
    const [past, future] = await supersede(2);
    const later = nsFromMs(time.nowMs() + 5_000);
    machine.tables.evals.replace(past!.ID, { ...past!, CreateTime: 1 });
    machine.tables.evals.replace(future!.ID, { ...future!, CreateTime: later });
    reapers.wakeCanceler();
    await time.pass(0);
    expect([row(past!).ModifyTime, row(future!).ModifyTime]).toEqual([nsFromMs(time.nowMs()), later + NS_PER_MS]);
  });
});

describe('evaluations at their delivery limit', () => {
  it('EB-101, EB-102, EB-103: fail, and another evaluation of the job follows after a while', async () => {
    reapers.start();
    random = 0.5;
    const evaluation = stored({ JobModifyIndex: 7 });
    await exhaust(evaluation);
    const [[failed, followUp] = []] = written;
    expect(failed).toMatchObject({
      ID: evaluation.ID,
      Status: 'failed',
      StatusDescription: `evaluation reached delivery limit (${DELIVERY_LIMIT})`,
      NextEval: followUp?.ID,
    });
    expect(followUp).toMatchObject({
      Status: 'pending',
      TriggeredBy: 'failed-follow-up',
      PreviousEval: evaluation.ID,
      JobID: 'web',
      JobModifyIndex: 7,
      Wait: FOLLOW_UP_WAIT_NS + FOLLOW_UP_JITTER_NS / 2,
      CreateTime: nsFromMs(time.nowMs()),
    });
    expect([FOLLOW_UP_WAIT_NS, FOLLOW_UP_JITTER_NS]).toEqual([60e9, 300e9]);
    expect(broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0 });
    reapers.stop();
  });

  it('EB-102: of a job that is gone nothing follows', async () => {
    reapers.start();
    await exhaust(stored({ JobID: 'gone' }));
    expect(written).toMatchObject([[{ Status: 'failed', NextEval: '' }]]);
    reapers.stop();
  });

  it('EB-105: housekeeping and what has ended are taken out without a word', async () => {
    reapers.start();
    await exhaust(fixtures.anEval({ Type: '_core', JobID: 'eval-gc' }));
    const ended = stored();
    machine.tables.evals.replace(ended.ID, { ...ended, Status: 'complete' });
    await exhaust(ended);
    expect(written).toEqual([]);
    expect(broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0 });
    reapers.stop();
  });

  it('EB-101: that cannot be written are tried again after a pause', async () => {
    reapers.start();
    isAway = true;
    const evaluation = stored();
    await exhaust(evaluation);
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalUnacked: 0 });
    isAway = false;
    await time.pass(REAPER_RETRY_MS - 1);
    expect(written).toEqual([]);
    await time.pass(1);
    expect(row(evaluation).Status).toBe('failed');
    reapers.stop();
  });

  it('EB-106: are failed also after a pause of the broker', async () => {
    reapers.start();
    broker.setEnabled(false);
    await time.pass(0);
    broker.setEnabled(true);
    const evaluation = stored();
    await exhaust(evaluation);
    expect(row(evaluation).Status).toBe('failed');
    reapers.stop();
  });
});

describe('the clock of the reapers', () => {
  it('EB-186: unblocks every minute what ran out of plan attempts', async () => {
    reapers.start();
    for (const round of [1, 2]) {
      blocked.block(stored({ Status: 'blocked', TriggeredBy: 'max-plan-attempts' }));
      await time.pass(UNBLOCK_FAILED_MS - 1);
      expect(woken).toHaveLength(round - 1);
      await time.pass(1);
      expect(woken).toHaveLength(round);
    }
    reapers.stop();
  });

  it('EB-191: forgets every five minutes what was unblocked long ago', async () => {
    reapers.start();
    blocked.unblockClass('v1:1', 1_000_000);
    await time.pass(4 * PRUNE_MS);
    blocked.block(stored({ Status: 'blocked', TriggeredBy: 'queued-allocs' }));
    expect([PRUNE_MS, woken]).toEqual([300_000, []]);
    reapers.stop();
  });

  it('a failure that could not be written before the term was over is neither reported nor tried again', async () => {
    reapers.start();
    isAway = true;
    meanwhile = () => reapers.stop();
    await exhaust(stored());
    await time.pass(NACK_TIMEOUT_MS);
    expect(time.pending).toBe(0);
    expect(warnings).toEqual(['evaluation reached delivery limit']);
  });

  it('stands still when the term is over', async () => {
    reapers.start();
    reapers.stop();
    expect(time.pending).toBe(0);
    await supersede(1);
    reapers.wakeCanceler();
    await time.pass(CANCEL_SWEEP_MS);
    expect([written, broker.superseded.size]).toEqual([[], 1]);
  });
});
