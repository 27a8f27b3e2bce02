import { type Node, type Plan } from '@waybill/model';
import { fixtures, type TxnDraft } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import {
  NOTHING,
  addNode,
  allEnded,
  allocs,
  commitEval,
  completes,
  counters,
  eachOnItsOwnLog,
  evalOf,
  evals,
  held,
  jobOf,
  next,
  placing,
  planOf,
  plane,
  register,
  report,
  running,
  submits,
  time,
  until,
} from '../support/evaluation-scenario.js';

eachOnItsOwnLog();

describe('delivery', () => {
  it('F33, EB-100: eleven flips of a node with one system job: two evaluations complete, nine are canceled', async () => {
    const node = await addNode();
    await register({ ID: 'logs', Type: 'system', TaskGroups: [fixtures.aGroup({}, 'system')] });
    for (let i = 0; i < 10; i++) await commitEval({ JobID: 'logs', Type: 'system', NodeID: node.ID });
    plane.addWorkers(2);
    await allEnded();
    const ended = (status: string) => evals().filter((e) => e.Status === status).length;
    expect([ended('complete'), ended('canceled')]).toEqual([2, 9]);
    expect(counters()).toEqual(NOTHING);
  });

  it('F34: evaluations of the same job id in two namespaces are worked on side by side', async () => {
    await plane.write('EvalUpdate', {
      Evals: [fixtures.anEval({ Namespace: 'default' }), fixtures.anEval({ Namespace: 'other' })],
    });
    const both = [await held(), await held()];
    expect(both.map((d) => d.e.Namespace).toSorted()).toEqual(['default', 'other']);
    for (const delivery of both) await completes(delivery);
  });

  it.each([false, true])(
    'F35, EB-336: a delayed evaluation that is canceled when its time comes (delivered already: %s)',
    async (delivered) => {
      const delayed = await register({}, { WaitUntil: new Date(time.nowMs() + 1_000).toISOString() });
      await time.pass(delivered ? 1_000 : 999);
      const delivery = delivered ? await held() : undefined;
      await plane.write('EvalUpdate', {
        Evals: [{ ...delayed, Status: 'canceled', StatusDescription: 'reconnected' }],
      });
      await time.pass(1_000);
      if (delivery) await completes(delivery);
      else expect(await next()).toBeUndefined();
      expect(evalOf(delayed.ID)).toMatchObject({ Status: 'canceled', StatusDescription: 'reconnected' });
      expect(counters()).toEqual(NOTHING);
    },
  );

  it('F40: a transaction that reaches the broker twice, or is in the log twice, counts once', async () => {
    await register();
    await commitEval({ JobID: 'other', Status: 'blocked' });
    const before = counters();
    const seen = [...plane.state.history];
    for (const applied of seen) plane.broker.applied(applied);
    expect(counters()).toEqual(before);
    const { index: _, ...draft } = seen.at(-2)!.txn;
    expect((await plane.state.propose(draft as TxnDraft)).verdict.kind).toBe('noop');
    expect(counters()).toEqual(before);
    await completes(await held());
    expect(counters()).toEqual({ ...NOTHING, totalBlocked: 1 });
  });

  it('F45, EB-220: a system job on a thousand full nodes waits, and is placed on any one that gets room', async () => {
    const nodes: Node[] = [];
    for (let i = 0; i < 1_000; i++) nodes.push(await addNode({ NodeMaxAllocs: 1 }));
    const job = fixtures.aJob({ ID: 'filler', TaskGroups: [fixtures.aGroup({ Count: 1_000 })] });
    await register({ ...job });
    const delivery = await held();
    const NodeAllocation = Object.assign(
      {},
      ...nodes.map((node, i) => placing(node, jobOf('filler'), 1, i)),
    ) as Plan['NodeAllocation'];
    await submits(planOf(delivery, { NodeAllocation }));
    await completes(delivery);
    plane.addWorkers(1);
    await register({ ID: 'logs', Type: 'system', TaskGroups: [fixtures.aGroup({}, 'system')] });
    await allEnded();
    expect(evals().filter((e) => e.Status === 'blocked')).toHaveLength(1);
    const free = nodes[617]!;
    await report(
      allocs().find((a) => a.NodeID === free.ID)!,
      'complete',
    );
    await until('it runs there', () => running().some((a) => a.JobID === 'logs'));
    expect(
      running()
        .filter((a) => a.JobID === 'logs')
        .map((a) => a.NodeID),
    ).toEqual([free.ID]);
  }, 30_000);
});
