import { HolderWriter } from '@waybill/roles';
import { FakeTime, SimulatedTime } from '@waybill/model';
import { fixtures, type TxnDraft } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { BlockedEvals } from '../blocked/blocked-evals.js';
import { DELIVERY_LIMIT } from '../queue/unacked-deliveries.js';
import { EvalBroker } from '../queue/eval-broker.js';
import { CANCEL_SWEEP_MS, Reapers } from './reapers.js';

it('EB-171, EB-17: a duplicate that is canceled says nothing of what waits now', async () => {
  const time = new SimulatedTime();
  const machine = fixtures.aMachine();
  const { evaluation } = fixtures.aRegisteredJob(machine);
  fixtures.apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  const upsert = (over: Parameters<typeof fixtures.anEval>[0]) => {
    const given = fixtures.anEval(over);
    fixtures.apply(machine, 'EvalUpdate', { Evals: [given] });
    return machine.tables.evals.get(given.ID)!;
  };
  const older = upsert({ Status: 'blocked', QueuedAllocations: { web: 3 } });
  const newer = upsert({ Status: 'blocked' });
  fixtures.apply(machine, 'EvalUpdate', {
    Evals: [{ ...evaluation, Status: 'failed', QueuedAllocations: { web: 5 } }],
  });

  let ids = 0;
  const deps = { clock: time, timers: time, newId: () => `id-${++ids}`, random: () => 0 };
  const state = {
    propose: async (draft: TxnDraft) => {
      const { index, verdict } = machine.apply({ ...draft, index: machine.appliedIndex + 1 } as Parameters<
        typeof machine.apply
      >[0]);
      return { index, verdict };
    },
  };
  const blocked = new BlockedEvals({ ...deps, enqueue: () => {}, onDuplicate: () => reapers.wakeCanceler() });
  const rows = { evaluation: (id: string) => machine.tables.evals.get(id), highestEvalIndex: () => 0 };
  const reapers = new Reapers({
    ...deps,
    broker: new EvalBroker({ ...deps, rows }),
    blocked,
    tables: machine.tables,
    writer: new HolderWriter({ ...deps, state, region: 'global' }, { role: 'broker', epoch: 1 }),
    deliveryLimit: DELIVERY_LIMIT,
    logger: silentLogger,
  });
  blocked.setEnabled(true);
  blocked.block(newer);
  blocked.block(older);
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(machine.tables.evals.get(older.ID)?.Status).toBe('canceled');
  expect(machine.tables.evals.get(newer.ID)?.Status).toBe('blocked');
  expect(machine.tables.job_summary.get('default/web')?.Summary['web']?.Queued).toBe(5);
  reapers.stop();
});

it('EB-98: superseded evaluations whose cancellation cannot be written are put back, and written at the next sweep', async () => {
  const time = new FakeTime();
  const machine = fixtures.aMachine();
  fixtures.aRegisteredJob(machine);
  fixtures.apply(machine, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  let ids = 0;
  let isReachable = false;
  const deps = { clock: time, timers: time, newId: () => `id-${++ids}`, random: () => 0 };
  const state = {
    propose: async (draft: TxnDraft) => {
      if (!isReachable) throw new Error('no answer');
      const { index, verdict } = machine.apply({ ...draft, index: machine.appliedIndex + 1 } as Parameters<
        typeof machine.apply
      >[0]);
      return { index, verdict };
    },
  };
  const rows = { evaluation: (id: string) => machine.tables.evals.get(id), highestEvalIndex: () => 0 };
  const broker = new EvalBroker({ ...deps, rows });
  const blocked = new BlockedEvals({ ...deps, enqueue: () => {}, onDuplicate: () => {} });
  const reapers = new Reapers({
    ...deps,
    broker,
    blocked,
    tables: machine.tables,
    writer: new HolderWriter({ ...deps, state, region: 'global' }, { role: 'broker', epoch: 1 }),
    deliveryLimit: DELIVERY_LIMIT,
    logger: silentLogger,
  });
  broker.setEnabled(true);
  const enqueued = () => {
    const evaluation = fixtures.anEval();
    fixtures.apply(machine, 'EvalUpdate', { Evals: [evaluation] });
    broker.enqueue(machine.tables.evals.get(evaluation.ID)!);
    return evaluation;
  };
  enqueued();
  const delivery = await broker.dequeue(['service'], 1);
  const [older] = [enqueued(), enqueued()];
  broker.ack(delivery!.evaluation.ID, delivery!.token);
  expect(broker.superseded.size).toBe(1);
  reapers.start();
  await time.pass(CANCEL_SWEEP_MS);
  expect(broker.superseded.size).toBe(1);
  expect(machine.tables.evals.get(older!.ID)?.Status).toBe('pending');
  isReachable = true;
  await time.pass(CANCEL_SWEEP_MS);
  expect(broker.superseded.size).toBe(0);
  expect(machine.tables.evals.get(older!.ID)?.Status).toBe('canceled');
  reapers.stop();
});
