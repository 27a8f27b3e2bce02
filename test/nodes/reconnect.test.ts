import { newUuid } from '@waybill/service';
import { NS_PER_SECOND, type Allocation, type DisconnectStrategy, type Job } from '@waybill/model';
import { purgeNode } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FleetCluster } from '../support/fleet-cluster.js';
import { eventually } from '../support/wait.js';

const { aGroup, aJob, aTask } = fixtures;

const AT_ONCE = {
  Attempts: 0,
  Interval: 0,
  Delay: 0,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: true,
} as const;
const AWAY: DisconnectStrategy = {
  LostAfter: 300 * NS_PER_SECOND,
  StopOnClientAfter: null,
  Replace: true,
  Reconcile: 'best_score',
};

let cluster: FleetCluster;
beforeAll(async () => {
  cluster = await FleetCluster.start(3);
});
afterAll(() => cluster?.stop());

let job: Job;

/** A job of one mock task, its one allocation running on some machine. */
async function running(disconnect: Partial<DisconnectStrategy> | null, Type = 'service'): Promise<Allocation> {
  const group = aGroup(
    {
      Disconnect: disconnect && { ...AWAY, ...disconnect },
      Update: null,
      Tasks: [aTask({ KillTimeout: NS_PER_SECOND })],
      ...(Type === 'service' && { ReschedulePolicy: AT_ONCE }),
    },
    Type,
  );
  job = await cluster.register(aJob({ ID: newUuid(), Type, TaskGroups: [group] }));
  return eventually('it runs', () => live().find((alloc) => alloc.ClientStatus === 'running'));
}

const live = () => cluster.allocsOf(job.ID).filter((alloc) => alloc.DesiredStatus === 'run');

/** The machine falls silent until the servers have noticed. */
async function vanishes(alloc: Allocation, as: 'disconnected' | 'down' = 'disconnected') {
  const machine = cluster.machineOf(alloc);
  machine.link.isCut = true;
  await eventually(`its node is ${as}`, () => cluster.node(machine)?.Status === as);
  return machine;
}

const replacementOf = (alloc: Allocation) =>
  eventually('its replacement runs', () =>
    live().find((other) => other.PreviousAllocation === alloc.ID && other.ClientStatus === 'running'),
  );

/** It is heard again; what may run is decided, and only that runs, on the machines themselves too. */
async function returns(machine: Awaited<ReturnType<typeof vanishes>>, survivors: string[]): Promise<void> {
  machine.link.isCut = false;
  await eventually('its node is ready', () => cluster.node(machine)?.Status === 'ready');
  await eventually(
    'only the survivors run',
    () => {
      const ids = cluster
        .allocsOf(job.ID)
        .filter((alloc) => alloc.ClientStatus === 'running' && alloc.DesiredStatus === 'run')
        .map((alloc) => alloc.ID);
      expect(ids.toSorted()).toEqual(survivors.toSorted());
      return cluster.running === survivors.length;
    },
    30_000,
  );
  expect(evaluations().filter((e) => e.Status === 'failed')).toEqual([]);
}

const evaluations = () => [...cluster.state.tables.evals.by('job', `default/${job.ID}`)];

const purgeJob = () =>
  cluster.write('JobDeregister', {
    JobID: job.ID,
    Purge: true,
    NoShutdownDelay: false,
    SubmitTime: 0,
    Eval: fixtures.anEval({ ID: newUuid(), JobID: job.ID, Type: job.Type, TriggeredBy: 'job-deregister' }),
    TrackedVersions: 6,
  });

/** What the scheduler has written down about its comings and goings. */
const noted = (alloc: Allocation, states: string[]) =>
  eventually(`noted are ${states.join()}`, () => {
    expect(cluster.alloc(alloc.ID).AllocStates.map((entry) => entry.Value)).toEqual(states);
    return true;
  });

/** Nothing of the job before runs any more. */
beforeEach(async () => {
  if (!job) return;
  await purgeJob();
  await eventually('nothing runs', () => cluster.running === 0);
});

describe('machines that vanish and return', () => {
  it('SC-179, SC-184, SC-190, SC-192: keep_original: the work is taken back, and its replacement ends', async () => {
    const original = await running({ Reconcile: 'keep_original' });
    const machine = await vanishes(original);
    const replacement = await replacementOf(original);
    expect(replacement.NodeID).not.toBe(original.NodeID);
    expect(cluster.alloc(original.ID)).toMatchObject({ ClientStatus: 'unknown', DesiredStatus: 'run' });
    await returns(machine, [original.ID]);
    expect(cluster.alloc(replacement.ID)).toMatchObject({ DesiredStatus: 'stop' });
    await noted(original, ['unknown', 'running']);
  });

  it('SC-179: keep_replacement: what took over goes on, and the machine ends what it still ran', async () => {
    const original = await running({ Reconcile: 'keep_replacement' });
    const machine = await vanishes(original);
    const replacement = await replacementOf(original);
    await returns(machine, [replacement.ID]);
    expect(cluster.alloc(original.ID)).toMatchObject({ DesiredStatus: 'stop' });
  });

  it('SC-188: longest_running: it was there first', async () => {
    const original = await running({ Reconcile: 'longest_running' });
    const machine = await vanishes(original);
    await replacementOf(original);
    await returns(machine, [original.ID]);
  });

  it('SC-182: best_score: one of both, whichever it is', async () => {
    const original = await running({ Reconcile: 'best_score' });
    const machine = await vanishes(original);
    const replacement = await replacementOf(original);
    machine.link.isCut = false;
    await eventually('one of them is stopped', () => live().length === 1);
    await returns(machine, [live()[0]!.ID]);
    expect([original.ID, replacement.ID]).toContain(live()[0]!.ID);
  });

  it('SC-170, SC-193, ND-62: without replace nobody takes over, and it goes on where it was', async () => {
    const original = await running({ Replace: false });
    const machine = await vanishes(original);
    await eventually('it is unknown', () => cluster.alloc(original.ID).ClientStatus === 'unknown');
    await returns(machine, [original.ID]);
    expect(cluster.allocsOf(job.ID)).toHaveLength(1);
    await eventually('nothing of it is left to decide', () =>
      evaluations().every((e) => e.Status === 'complete' || e.Status === 'canceled' || e.WaitUntil !== null),
    );
  });

  it('SC-191, SC-198, SC-199, ND-202: away for too long it is lost for good; back, the machine ends it', async () => {
    const original = await running({ LostAfter: 4 * NS_PER_SECOND });
    const machine = await vanishes(original);
    const replacement = await replacementOf(original);
    await eventually('it is lost', () => cluster.alloc(original.ID).ClientStatus === 'lost');
    expect(live().map((alloc) => alloc.ID)).toEqual([replacement.ID]);
    await returns(machine, [replacement.ID]);
  });

  it('SC-198: without a disconnect block it is lost at once, and replaced', async () => {
    const original = await running(null);
    const machine = await vanishes(original, 'down');
    const replacement = await replacementOf(original);
    expect(cluster.alloc(original.ID).ClientStatus).toBe('lost');
    await returns(machine, [replacement.ID]);
  });

  it('SC-318: it vanishes a second time after it came back', async () => {
    const original = await running({ Reconcile: 'keep_original' });
    for (let round = 0; round < 2; round++) {
      const machine = await vanishes(original);
      await replacementOf(original);
      await returns(machine, [original.ID]);
      await noted(original, Array.from({ length: round + 1 }, () => ['unknown', 'running']).flat());
    }
  });

  it('SC-320: its replacement fails meanwhile and has one of its own: one of the three is left', async () => {
    const original = await running({ Reconcile: 'keep_original' });
    const machine = await vanishes(original);
    const first = await replacementOf(original);
    const second = await vanishes(first);
    await replacementOf(first);
    second.link.isCut = false;
    await returns(machine, [original.ID]);
  });

  it('SC-274, SC-185: a system job has its machine back, and nobody took its place', async () => {
    await running({ Reconcile: 'keep_original' }, 'system');
    await eventually('it runs everywhere', () => live().filter((a) => a.ClientStatus === 'running').length === 3);
    const all = live();
    const machine = await vanishes(all[0]!);
    await eventually('it is unknown', () => cluster.alloc(all[0]!.ID).ClientStatus === 'unknown');
    await returns(
      machine,
      all.map((alloc) => alloc.ID),
    );
    expect(cluster.allocsOf(job.ID)).toHaveLength(3);
  });

  it('ND-214: its job is stopped and purged while it is away: back, it is told to end it', async () => {
    const original = await running({ Replace: false });
    const machine = await vanishes(original);
    await eventually('it is unknown', () => cluster.alloc(original.ID).ClientStatus === 'unknown');
    await purgeJob();
    expect(cluster.running).toBe(1);
    await returns(machine, []);
    expect(cluster.allocsOf(job.ID)).toEqual([]);
  });

  it('ND-209: its node is purged while it is there: it comes back as a new one, and one copy is left', async () => {
    const original = await running(null);
    const machine = cluster.machineOf(original);
    const { CreateIndex } = cluster.node(machine)!;
    const For = { Actor: { Kind: 'anonymous', ID: '', Name: '' }, Reason: '', RequestID: newUuid() } as const;
    await cluster.rpc.ask(purgeNode, { NodeID: original.NodeID, For });
    const replacement = await replacementOf(original);
    await eventually('it registers again', () => (cluster.node(machine)?.CreateIndex ?? 0) > CreateIndex);
    expect(cluster.alloc(original.ID)).toMatchObject({ DesiredStatus: 'stop' });
    await returns(machine, [replacement.ID]);
  });

  it('EB-29, SC-318: every service is restarted while it is away: it ends as if they had not been', async () => {
    const original = await running({ Reconcile: 'keep_original' });
    const machine = await vanishes(original);
    await replacementOf(original);
    for (const name of ['nodes', 'broker', 'scheduler', 'deployments']) await cluster.restart(name);
    await returns(machine, [original.ID]);
    await noted(original, ['unknown', 'running']);
  });
});
