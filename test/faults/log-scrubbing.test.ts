import { readFileSync } from 'node:fs';
import path from 'node:path';
import { connect, StreamRetention } from '@waybill/journal';
import { describe, expect, it } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { LogBlocks } from '../support/log-blocks.js';
import { SyncedCopy } from '../support/power-cut.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, WaybillProcesses } from '../support/waybill-processes.js';

/** What a busy machine takes to read a small log twice. */
const NOTICED_MS = 120_000;
const TEST_MS = 300_000;
const PROJECTOR = 'projector';
/** They end when a new history begins, and start anew on it. */
const APART = ['api', PROJECTOR] as const;

/** Services whose projector reads the whole log again and again. */
class ScrubbedCluster {
  private constructor(readonly waybill: WaybillProcesses) {}

  /** @param betweenPasses NATS keeps what was read in memory for ten seconds: a pass that comes sooner sees no disk */
  static async start(betweenPasses: string): Promise<ScrubbedCluster> {
    const env = { WAYBILL_LOG_SCRUB_RATE: '200', WAYBILL_LOG_SCRUB_INTERVAL: betweenPasses };
    return new ScrubbedCluster(await WaybillProcesses.startTogether(env, CONTROL_PLANE, APART));
  }

  get natsDir(): string {
    return path.join(this.waybill.dir, 'stack', 'nats');
  }

  /** Of the projector. */
  get log(): string {
    return readFileSync(path.join(this.waybill.dir, `${PROJECTOR}.log`), 'utf8');
  }

  private async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.waybill.opsUrl(PROJECTOR)}/metrics`)).text();
    const line = text.split('\n').find((one) => one.startsWith(name));
    return Number(line?.split(' ').at(-1));
  }

  unreadable(): Promise<number> {
    return this.metric('waybill_log_damaged{kind="unreadable"');
  }

  changed(): Promise<number> {
    return this.metric('waybill_log_damaged{kind="changed"');
  }

  /** One pass may be under way; the other begins later and reads all. */
  private async twoPasses(): Promise<void> {
    const passes = async (): Promise<number | undefined> =>
      (await this.metric('waybill_log_scrub_passes')) || undefined;
    const before = await eventually('a pass is known', passes, NOTICED_MS);
    await eventually('two more end', async () => ((await passes()) ?? 0) >= before + 2, NOTICED_MS);
  }

  /** As a supervisor would. */
  async runAnew(): Promise<boolean> {
    const { waybill } = this;
    for (const name of APART)
      if (typeof waybill.running.get(name)?.child.exitCode === 'number') await waybill.startService(name);
    const answers = await Promise.all(APART.map((name) => fetch(`${waybill.opsUrl(name)}/readyz`)));
    return answers.every(({ ok }) => ok);
  }

  async expectNoDamage(): Promise<void> {
    await this.twoPasses();
    expect([await this.unreadable(), await this.changed()]).toEqual([0, 0]);
  }
}

/** Most of both is waiting for passes: they run at once, each with a cluster of its own. */
const itOnCluster = it.extend('start', async ({ onTestFinished }) => async (betweenPasses: string) => {
  const cluster = await ScrubbedCluster.start(betweenPasses);
  onTestFinished(() => cluster.waybill.stop());
  return cluster;
});

describe.concurrent('a byte in a file of the log that nobody but the scrubber reads', () => {
  itOnCluster(
    'is noticed while the services run, by NATS or by its hash, and is over when the damaged part is trimmed',
    async ({ start }) => {
      const cluster = await start('12s');
      const { waybill } = cluster;
      // NATS keeps the last file in memory as long as it is in use: what is damaged lies in one before.
      const Meta = { of: 'x'.repeat(900_000) };
      for (let i = 0; i < 12; i++) await waybill.api.register({ ...shellJob(`large-${i}`, 'true'), Meta });
      const blocks = new LogBlocks(cluster.natsDir);
      expect(blocks.count).toBeGreaterThan(1);
      const { JobModifyIndex: index } = await waybill.api.get<{ JobModifyIndex: number }>('/v1/job/large-1');
      blocks.flip(index);
      await eventually('it is counted', async () => (await cluster.unreadable()) === 1, NOTICED_MS);
      expect(cluster.log).toMatch(
        new RegExp(`NATS cannot read transactions of the log.*indexes=${index} .*WaybillLogDamaged`),
      );
      expect((await waybill.api.raw('/v1/job/large-1')).status).toBe(200);

      await waybill.kill(PROJECTOR);
      await waybill.startService(PROJECTOR);
      await eventually('the next holder says so too', async () => (await cluster.unreadable()) === 1);

      blocks.flip(index);
      await eventually('it can be read again', async () => (await cluster.unreadable()) === 0, NOTICED_MS);
      expect(await cluster.changed()).toBe(0);
      const link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
      await blocks.flipWithChecksum(index, link, path.join(waybill.dir, 'twin'));
      await eventually('the block that differs is counted', async () => (await cluster.changed()) === 1, NOTICED_MS);
      expect(await cluster.unreadable()).toBe(0);
      expect(cluster.log).toMatch(/transactions of the log are not what they were.*indexes=1-\d+ /);

      await new StreamRetention(link).trimLog(index + 1);
      await link.close();
      await eventually('what was trimmed is not damaged', async () => (await cluster.changed()) === 0, NOTICED_MS);
      expect(await cluster.unreadable()).toBe(0);
    },
    TEST_MS,
  );
});

describe.concurrent('what looks like damage and is none', () => {
  itOnCluster(
    'a log that was restored, that lost its end and was adopted, that was trimmed',
    async ({ start }) => {
      const cluster = await start('500ms');
      const { waybill } = cluster;
      for (let i = 0; i < 5; i++) await waybill.api.register(shellJob(`kept-${i}`, 'true'));
      await cluster.expectNoDamage();

      const archive = await (await waybill.api.raw('/v1/operator/snapshot')).arrayBuffer();
      const restored = await waybill.api.raw('/v1/operator/snapshot', { method: 'PUT', body: archive });
      expect(restored.status).toBe(200);
      await cluster.expectNoDamage();

      const synced = await SyncedCopy.take(waybill.stack.nats, cluster.natsDir);
      for (let i = 0; i < 5; i++) await waybill.api.register(shellJob(`lost-${i}`, 'true'));
      await cluster.expectNoDamage(); // what is lost had its hash
      await synced.cutPower();
      const isDiverged = async (): Promise<boolean> =>
        (await waybill.api.raw('/v1/job/kept-0')).headers.get('x-waybill-log-diverged') === 'true';
      await eventually('it is noticed', isDiverged, NOTICED_MS);
      const deciding = waybill.api.raw('/v1/operator/log/adopt', { method: 'PUT' });
      await eventually('all run on the new history', () => cluster.runAnew(), NOTICED_MS);
      expect((await deciding).status).toBe(200);
      const { JobModifyIndex } = await eventually('writes are taken', () =>
        waybill.api.register(shellJob('after', 'true')).catch(() => undefined),
      );
      await cluster.expectNoDamage();

      const link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
      await new StreamRetention(link).trimLog(JobModifyIndex - 3);
      await link.close();
      await cluster.expectNoDamage();
      expect(cluster.log).not.toContain('WaybillLogDamaged');
    },
    TEST_MS,
  );
});
