import { HolderWriter } from '@waybill/lease';
import { SimulatedTime } from '@waybill/model';
import { fixtures, type TxnDraft } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { BlockedEvals } from '../blocked/blocked-evals.js';
import { DELIVERY_LIMIT } from '../queue/delivery.js';
import { EvalBroker } from '../queue/eval-broker.js';
import { Reapers } from './reapers.js';

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
