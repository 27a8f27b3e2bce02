import type { FleetMember } from '@waybill/agent';
import { type Allocation, isTerminalAllocation, NS_PER_SECOND } from '@waybill/model';
import { MAX_ALLOC_QUERY_WAIT_MS } from '@waybill/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProcessesWithMachines } from '../support/processes-with-machines.js';
import { eventually } from '../support/wait.js';

const S = NS_PER_SECOND;
const COUNT = 6;
const MAX_PARALLEL = 2;
/** A machine that falls silent is missed after its TTL and the grace: up to half a minute. */
const MISSED_WITHIN_MS = 60_000;
const DONE_WITHIN_MS = 90_000;
/** A peer misses the killed one after some seconds; the time limit of a read is half a minute. */
const LEARNED_WITHIN_MS = MAX_ALLOC_QUERY_WAIT_MS / 2;
const MACHINES = 4;

let cluster: ProcessesWithMachines;
beforeAll(async () => {
  cluster = await ProcessesWithMachines.start();
});
afterAll(() => cluster?.stop());

const jobOf = (ID: string, group: object, version = 1) => ({
  ID,
  Datacenters: ['*'],
  TaskGroups: [
    {
      Name: 'web',
      Count: COUNT,
      Update: { MaxParallel: 1, HealthCheck: 'task_states', MinHealthyTime: S, HealthyDeadline: 60 * S },
      Migrate: { MaxParallel: MAX_PARALLEL, HealthCheck: 'task_states', MinHealthyTime: S, HealthyDeadline: 60 * S },
      ...group,
      Tasks: [
        {
          Name: 'task',
          Driver: 'mock_driver',
          Config: { run_for: '10h' },
          Env: { VERSION: String(version) },
          Resources: { CPU: 100, MemoryMB: 32 },
        },
      ],
    },
  ],
});

const registered = async (id: string, group: object = {}, version = 1) => {
  await cluster.waybill.api.register(jobOf(id, group, version));
};
const deploymentOf = (id: string) =>
  [...cluster.state.tables.deployment.all()]
    .filter((d) => d.JobID === id)
    .toSorted((a, b) => b.CreateIndex - a.CreateIndex)[0];
const drain = (nodeId: string) =>
  cluster.put(`/v1/node/${nodeId}/drain`, { DrainSpec: { Deadline: 3_600 * S, IgnoreSystemJobs: false } });
const nodeOf = (id: string) => cluster.state.tables.nodes.get(id)!;
const rolledOut = (id: string, version: number) =>
  eventually(
    `version ${version} of ${id} is rolled out`,
    () => deploymentOf(id)?.JobVersion === version && deploymentOf(id)?.Status === 'successful',
    DONE_WITHIN_MS,
  );
const drained = (nodeId: string) =>
  eventually(
    'the drain has ended',
    () => nodeOf(nodeId).DrainStrategy === null && nodeOf(nodeId).LastDrain?.Status === 'complete',
    DONE_WITHIN_MS,
  );

/**
 * Follows the node, then its allocations, by blocking queries, as a monitor does: what `Drain` said one after the other,
 * until there is no strategy any more and all that was there has ended.
 */
async function watchedDrain(nodeId: string): Promise<boolean[]> {
  const drains: boolean[] = [];
  const follow = async <T>(path: string, isOver: (answer: T) => boolean): Promise<void> => {
    let index = '0';
    for (let answer: T | undefined; answer === undefined || !isOver(answer);) {
      const response = await cluster.waybill.api.raw(`${path}?index=${index}&wait=60s`);
      answer = (await response.json()) as T;
      index = response.headers.get('x-nomad-index') ?? '0';
    }
  };
  await follow<{ Drain: boolean; DrainStrategy: object | null }>(`/v1/node/${nodeId}`, ({ Drain, DrainStrategy }) => {
    expect(Drain).toBe(DrainStrategy !== null);
    if (drains.at(-1) !== Drain) drains.push(Drain);
    return !Drain;
  });
  await follow<Allocation[]>(`/v1/node/${nodeId}/allocations`, (allocs) => allocs.every(isTerminalAllocation));
  return drains;
}

/** The node with the most of the job's allocations. */
function busiestNodeOf(id: string): string {
  const counts = new Map<string, number>();
  for (const { NodeID } of cluster.running(id)) counts.set(NodeID, (counts.get(NodeID) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]![0];
}

/** Fewest healthy allocations that the job had after any transaction from now on, not counting what is to move. */
function fewestHealthy(id: string): () => number {
  let fewest = COUNT;
  const off = cluster.state.onApplied(({ changes }) => {
    if (!changes.some((change) => change.table === 'allocs')) return;
    const healthy = cluster
      .allocsOf(id)
      .filter((a) => !isTerminalAllocation(a) && a.DesiredTransition.Migrate !== true && a.DeploymentStatus?.Healthy);
    fewest = Math.min(fewest, healthy.length);
  });
  return () => {
    off();
    return fewest;
  };
}

describe('nodes that are drained, their service a process of its own', () => {
  beforeAll(async () => {
    await cluster.addMachines(MACHINES, { cpuMhz: 600 });
  });

  it('a machine whose read waited at a process that is killed learns of new work in seconds, not after its time limit', async () => {
    await cluster.waybill.startService('nodes', 'another-nodes');
    const { api } = cluster.waybill;
    const job = (ID: string) => ({
      ID,
      Type: 'system',
      Datacenters: ['*'],
      TaskGroups: [{ Name: 'web', Tasks: [{ Name: 'task', Driver: 'mock_driver', Config: { run_for: '10h' } }] }],
    });
    const runsEverywhere = (id: string) =>
      eventually(`${id} runs on every machine`, () => cluster.running(id).length === MACHINES, LEARNED_WITHIN_MS);
    await api.register(job('before')); // afterwards each machine waits at one process or the other
    await runsEverywhere('before');
    await cluster.waybill.kill('nodes');
    await api.register(job('after'));
    await runsEverywhere('after');
    for (const id of ['before', 'after']) await api.raw(`/v1/job/${id}?purge=true`, { method: 'DELETE' });
    await cluster.waybill.startService('nodes');
    await cluster.waybill.kill('another-nodes', 'SIGTERM');
  }, 240_000);

  it('DR-84, DR-86, DR-18: in the middle of a rolling update; both come to their end, and whoever watches sees it', async () => {
    await registered('rolling');
    await rolledOut('rolling', 0);
    await registered('rolling', {}, 2);
    await eventually(
      'the update has begun',
      () => deploymentOf('rolling')?.JobVersion === 1 && cluster.running('rolling').some((a) => a.Job?.Version === 1),
    );
    const nodeId = busiestNodeOf('rolling');
    await drain(nodeId);
    expect(deploymentOf('rolling')?.Status).toBe('running');
    const watched = watchedDrain(nodeId);
    await drained(nodeId);
    expect(await watched).toEqual([true, false]);
    await rolledOut('rolling', 1);
    await eventually(
      'all run the new version',
      () => cluster.running('rolling').filter((a) => a.Job?.Version === 1).length === COUNT,
    );
    expect(cluster.running('rolling').filter((a) => a.NodeID === nodeId || a.Job?.Version !== 1)).toEqual([]);
    await cluster.put(`/v1/node/${nodeId}/eligibility`, { Eligibility: 'eligible' });
  }, 240_000);

  it('DR-92, DR-102, ND-206: the holder is killed in the middle of a drain; the next one goes on, max_parallel holds, no node is lost', async () => {
    await registered('killed');
    await rolledOut('killed', 0);
    const nodeId = busiestNodeOf('killed');
    const fewest = fewestHealthy('killed');
    await drain(nodeId);
    await eventually('the drain is under way', () =>
      cluster.allocsOf('killed').some((a) => a.DesiredTransition.Migrate === true),
    );
    await cluster.waybill.kill('nodes');
    await cluster.waybill.startService('nodes');
    await drained(nodeId);
    await eventually(
      'all run elsewhere',
      () => cluster.running('killed').filter((a) => a.NodeID !== nodeId).length === COUNT,
      DONE_WITHIN_MS,
    );
    expect(fewest()).toBeGreaterThanOrEqual(COUNT - MAX_PARALLEL);
    expect([...cluster.state.tables.nodes.all()].filter((node) => node.Status !== 'ready')).toEqual([]);
  }, 240_000);
});

const STRATEGIES = ['best_score', 'keep_original', 'keep_replacement', 'longest_running'] as const;
const CUT = 20;
const OTHERS = 80;
/** Of each job. */
const AWAY = 5;

describe('machines that are cut off and let back', () => {
  let cut: readonly FleetMember[];
  const away = (reconcile: string, lostAfterS: number) => ({
    Count: AWAY,
    Constraints: [{ LTarget: '${node.pool}', RTarget: 'default', Operand: '=' }],
    Update: { MaxParallel: AWAY, HealthCheck: 'task_states', MinHealthyTime: 0, HealthyDeadline: 60 * S },
    Disconnect: { LostAfter: lostAfterS * S, Replace: true, Reconcile: reconcile },
    ReschedulePolicy: { Delay: 5 * S, DelayFunction: 'constant', Unlimited: true },
  });
  const within = (reconcile: string) => `within-${reconcile.replaceAll('_', '-')}`;
  const past = (reconcile: string) => `past-${reconcile.replaceAll('_', '-')}`;
  const isCut = (nodeId: string) => cut.some(({ node }) => node.ID === nodeId);

  it('ND-82, ND-84, SC-190, SC-199: 20 of 100, within and past the disconnect window, with each way to reconcile', async () => {
    for (const node of cluster.state.tables.nodes.all())
      if (node.SchedulingEligibility === 'eligible')
        await cluster.put(`/v1/node/${node.ID}/eligibility`, { Eligibility: 'ineligible' });
    cut = await cluster.addMachines(CUT, { cpuMhz: 200 }); // room for two allocations on each
    const jobs = STRATEGIES.flatMap((reconcile) => [within(reconcile), past(reconcile)]);
    for (const reconcile of STRATEGIES) {
      await registered(within(reconcile), away(reconcile, 600));
      await registered(past(reconcile), away(reconcile, 10));
    }
    for (const id of jobs) await eventually(`${id} runs`, () => cluster.running(id).length === AWAY, DONE_WITHIN_MS);
    expect(new Set(jobs.flatMap((id) => cluster.running(id).map((a) => a.NodeID))).size).toBe(CUT);
    const originals = new Set(jobs.flatMap((id) => cluster.running(id).map((a) => a.ID)));
    await cluster.addMachines(OTHERS);

    for (const { link } of cut) link.isCut = true;
    const replacements = (id: string) => cluster.running(id).filter((a) => !originals.has(a.ID));
    for (const id of jobs)
      await eventually(`${id} is replaced`, () => replacements(id).length === AWAY, MISSED_WITHIN_MS);
    const statuses = (id: string) =>
      cluster
        .allocsOf(id)
        .filter((a) => originals.has(a.ID))
        .map((a) => a.ClientStatus);
    for (const reconcile of STRATEGIES) {
      await eventually(
        'those past their window are lost',
        () => statuses(past(reconcile)).every((s) => s === 'lost'),
        MISSED_WITHIN_MS,
      );
      expect(new Set(statuses(within(reconcile)))).toEqual(new Set(['unknown']));
    }

    for (const { link } of cut) link.isCut = false;
    await eventually(
      'all machines are back',
      () => cut.every(({ node }) => nodeOf(node.ID).Status === 'ready'),
      MISSED_WITHIN_MS,
    );
    for (const id of jobs) {
      await eventually(`${id} is whole`, () => cluster.running(id).length === AWAY, DONE_WITHIN_MS);
      expect(cluster.allocsOf(id)).toHaveLength(2 * AWAY); // no placement but one replacement of each
      expect(new Set(cluster.running(id).map((a) => a.Name)).size).toBe(AWAY);
    }
    await eventually('the tasks that run are those that are wanted', () => {
      const wanted = [...cluster.state.tables.allocs.all()].filter((a) => !isTerminalAllocation(a));
      return cluster.tasksRunning === wanted.length;
    });
    const kept = (id: string) => cluster.running(id).filter((a) => originals.has(a.ID)).length;
    expect(STRATEGIES.map((reconcile) => kept(past(reconcile)))).toEqual([0, 0, 0, 0]);
    expect(kept(within('keep_original'))).toBe(AWAY);
    expect(kept(within('longest_running'))).toBe(AWAY);
    expect(kept(within('keep_replacement'))).toBe(0);
    expect(cluster.running(within('keep_original')).every((a) => isCut(a.NodeID))).toBe(true);
  }, 300_000);
});
