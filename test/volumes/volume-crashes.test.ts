import type { Allocation } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canMount } from '../support/csi-plugin/disks.mjs';
import { processesOf } from '../support/launcher.js';
import { VolumesCluster } from '../support/volumes-cluster.js';
import { eventually } from '../support/wait.js';

/** Longer than all that may wait for somebody who has died, shorter than a call to a plugin may take (VL-249, VL-131). */
const WITHOUT_TIMEOUT_MS = 150_000;

type Victim = 'plugin' | 'agent' | 'volumes';

/** Most of the time goes with waiting for what was killed: two clusters at once. */
const VICTIMS: readonly (readonly Victim[])[] = [['plugin', 'volumes'], ['agent']];

describe.concurrent.each(VICTIMS.map((victims) => ({ victims })))(
  'killed in the middle of a step: $victims',
  ({ victims }) => {
    let cluster: VolumesCluster;

    beforeAll(async () => {
      if (canMount) cluster = await VolumesCluster.start();
    }, 300_000);
    afterAll(async () => {
      if (canMount) await cluster.stop();
    }, 60_000);

    /** Ends it without notice, on the machine that is asked; what does not come back by itself is started again. */
    async function kill(victim: Victim, nodeId: string): Promise<void> {
      const name = cluster.state.tables.nodes.get(nodeId)?.Name ?? '';
      if (victim === 'plugin') {
        const isPlugin = (line: string): boolean => line.includes('csi-plugin/main.mjs') && line.includes(nodeId);
        const plugin = processesOf(cluster.waybill.dir).find(({ commandLine }) => isPlugin(commandLine));
        if (!plugin) throw new Error(`no plugin runs on ${name}`);
        process.kill(plugin.pid, 'SIGKILL');
      } else if (victim === 'agent') {
        await cluster.waybill.kill(`agent-${name}`);
        await cluster.startAgent(name);
      } else {
        await cluster.waybill.kill('volumes');
        await cluster.waybill.startService('volumes');
      }
    }

    /** Kills while the plugin takes its time for a step about a disk. */
    async function killIn(method: string, disk: string, victim: Victim, begin: () => Promise<unknown>): Promise<void> {
      const before = cluster.callsTo(method, disk).length;
      cluster.faults.set({ [method]: { slowMs: 1_500 } });
      await begin();
      const asked = await eventually(`${method} is asked`, () => cluster.callsTo(method, disk)[before], 60_000);
      await kill(victim, asked.node);
      cluster.faults.set({});
    }

    const isFree = (id: string): boolean => {
      const { WriteClaims = {}, PastClaims = {} } = cluster.volume(id) ?? {};
      return Object.keys({ ...WriteClaims, ...PastClaims }).length === 0;
    };

    it.sequential.each(
      victims.flatMap((victim) =>
        [
          ['ControllerPublishVolume', 'ControllerUnpublishVolume'],
          ['NodeStageVolume', 'NodeUnstageVolume'],
          ['NodePublishVolume', 'NodeUnpublishVolume'],
        ].map(([up = '', down = '']) => ({ victim, up, down })),
      ),
    )(
      'VL-101, VL-105, VL-123, VL-301: $victim killed in $up and in $down: the job runs, and nothing is left of it',
      async ({ victim, up, down }) => {
        if (!canMount) return;
        const id = `${victim}-${up}`;
        const disk = await cluster.create(id);
        await killIn(up, disk, victim, () => cluster.run(id, id));
        let runs: Allocation = await cluster.running(id, '', WITHOUT_TIMEOUT_MS);
        await eventually('it writes', () => cluster.written(disk).length > 0);
        runs = await cluster.running(id); // a plugin that died may have cost it its first allocation
        expect(Object.keys(cluster.volume(id)?.WriteClaims ?? {})).toEqual([runs.ID]);
        await cluster.pluginsHealthy(2);
        await killIn(down, disk, victim, () => cluster.api.stop(id));
        await eventually('its claim is freed', () => isFree(id), WITHOUT_TIMEOUT_MS);
        expect(cluster.written(disk).at(-1)).toBe(runs.ID);
        await eventually('its disk is attached nowhere', () =>
          cluster.disks.provided.attached.every((one) => one.disk !== disk),
        );
        for (const name of ['a', 'b'])
          await eventually(
            'nothing is mounted',
            () => cluster.mounts(name).every((at) => !at.includes(`/${id}/`)),
            60_000,
          );
        await cluster.pluginsHealthy(2);
      },
      2 * WITHOUT_TIMEOUT_MS,
    );
  },
);
