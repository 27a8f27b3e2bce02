import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Draining, MINUTE, SECOND } from './draining.fixture.js';

interface Row {
  readonly maxParallel: number;
  /** Of ten. */
  readonly left: number;
  readonly elsewhere?: number;
  readonly complete?: number;
  readonly type?: 'batch';
}

describe('what has migrated', () => {
  it.each<Row>([
    { maxParallel: 1, left: 10 },
    { maxParallel: 1, left: 1, elsewhere: 9 },
    { maxParallel: 1, left: 0, elsewhere: 9, complete: 1 },
    { maxParallel: 1, left: 0, complete: 10 },
    { maxParallel: 1, left: 5, complete: 5 },
    { maxParallel: 2, left: 8, elsewhere: 1, complete: 1 },
    { maxParallel: 5, left: 3, elsewhere: 5, complete: 2 },
    { maxParallel: 1, left: 0, elsewhere: 9, complete: 1, type: 'batch' },
    { maxParallel: 1, left: 0, complete: 10, type: 'batch' },
  ])('DR-44 DR-45: $complete of ten ended on the draining node while it drained ($#)', async (row) => {
    const d = new Draining();
    const [draining, other] = [await d.node(), await d.node()];
    await d.lead();
    const migrated = () => d.drainer.stats()['drainMigrations'];
    const job = await d.job(10, row.maxParallel, row.type && { Type: row.type });
    if (row.left > 0) await d.place(job, draining, row.left);
    if (row.elsewhere) await d.place(job, other, row.elsewhere);
    const ending = row.complete ? await d.place(job, draining, row.complete) : [];
    await d.drain(draining);
    for (const alloc of ending) await d.report(alloc, 'complete');
    await d.time.pass(2 * SECOND);
    expect(migrated()).toBe(row.complete ?? 0);
    expect(d.drainer.stats()['drainingJobs']).toBe(row.left > 0 && row.type === undefined ? 1 : 0);
    for (const alloc of ending) await d.report(alloc, 'complete');
    await d.time.pass(2 * SECOND);
    expect(migrated()).toBe(row.complete ?? 0);
  });

  it('DR-44: what had ended before the drain began is not counted, nor what ends elsewhere', async () => {
    const d = new Draining();
    const [draining, other] = [await d.node(), await d.node()];
    await d.lead();
    const job = await d.job(3);
    const [early] = await d.place(job, draining, 2);
    const [elsewhere] = await d.place(job, other, 1);
    await d.report(early!, 'complete');
    await d.drain(draining);
    await d.report(elsewhere!, 'complete');
    await d.time.pass(2 * SECOND);
    expect(d.drainer.stats()['drainMigrations']).toBe(0);
  });
});

describe('a node that runs a storage plugin', () => {
  const csiPlugin = { ID: 'ebs', Type: 'node', MountDir: '/csi', HealthTimeout: 30e9, StagePublishBaseDir: '' };
  const pluginJob = (d: Draining, Type: string) => {
    const Tasks = [fixtures.aTask({ Name: 'helper' }), fixtures.aTask({ CSIPluginConfig: csiPlugin })];
    const TaskGroups = [fixtures.aGroup({ Tasks }, Type), fixtures.aGroup({ Name: 'other' }, Type)];
    return d.job(1, 1, { Type, TaskGroups });
  };

  it.each(['service', 'system'])(
    'DR-94 DR-31: a plugin that is a %s job runs until all others have ended, so that their volumes can be unmounted',
    async (Type) => {
      const d = new Draining();
      const draining = await d.node();
      await d.lead();
      const [plugin, work] = [await pluginJob(d, Type), await d.job(1)];
      await d.place(plugin, draining);
      const [user] = await d.place(work, draining);
      await d.drain(draining);
      await d.time.pass(10 * MINUTE);
      expect([d.marked(work).length, d.marked(plugin).length]).toEqual([1, 0]);
      await d.report(user!, 'complete');
      await d.time.pass(2 * SECOND);
      expect(d.marked(plugin)).toHaveLength(1);
    },
  );

  it('DR-31 DR-34: a plugin that is a system job stays where system jobs are ignored, one that is a service does not', async () => {
    const d = new Draining();
    const draining = await d.node();
    await d.lead();
    const [system, service] = [await pluginJob(d, 'system'), await pluginJob(d, 'service')];
    for (const plugin of [system, service]) await d.place(plugin, draining);
    await d.drain(draining, 60 * MINUTE * 1e6, true);
    await d.time.pass(2 * SECOND);
    expect([d.marked(system).length, d.marked(service).length]).toEqual([0, 1]);
  });
});
