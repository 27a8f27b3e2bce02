import { CLAIM_STATE, type CSIVolumeClaimRequest, FakeTime, type VolumeRequest } from '@waybill/model';
import { RpcError, RpcUnavailableError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { AllocationVolumes, type AllocationVolumesRecord } from './allocation-volumes.js';
import type { LocalNodePlugin } from './local-plugins.js';
import { useKey } from './volume-mounter.js';
import { VolumeUses } from './volume-uses.js';

const alloc = fixtures.anAlloc({ Name: 'job.group[2]' });
const PERSISTED: AllocationVolumesRecord = {
  data: {
    VolumeID: 'data',
    VolumeNamespace: alloc.Namespace,
    VolumeExternalID: 'disk',
    PluginID: 'disks',
    ExternalNodeID: 'n1',
    MountInfo: { Source: '/published', IsDevice: false },
  },
};

function setup(
  given: {
    requests?: Record<string, VolumeRequest>;
    restored?: AllocationVolumesRecord;
    isMounted?: boolean;
    claims?: (Error | undefined)[];
    unmounts?: (Error | undefined)[];
    unpublishes?: (Error | undefined)[];
    pluginReady?: Error;
  } = {},
) {
  const time = new FakeTime();
  const uses = new VolumeUses();
  const did: string[] = [];
  const claimed: CSIVolumeClaimRequest[] = [];
  const given_back: CSIVolumeClaimRequest[] = [];
  const next = (outcomes: (Error | undefined)[] | undefined): void => {
    const outcome = outcomes?.shift();
    if (outcome) throw outcome;
  };
  const machine = { ...fixtures.aNodePlugin().NodeInfo!, ID: 'n1' };
  const plugin = { machine } as LocalNodePlugin;
  let saved: AllocationVolumesRecord = {};
  const volumes = new AllocationVolumes(
    alloc,
    given.requests ?? { data: fixtures.aVolumeRequest() },
    {
      region: 'global',
      claims: {
        claim: async (request) => {
          did.push('claim');
          claimed.push(request);
          next(given.claims);
          const Volume = fixtures.aCSIVolume({ ID: request.VolumeID, PluginID: 'disks', ExternalID: 'disk' });
          return { PublishContext: { at: 'x' }, Volume };
        },
        unpublish: async (request) => {
          did.push('unpublish');
          given_back.push(request);
          next(given.unpublishes);
        },
      },
      uses,
      isMounted: async () => {
        did.push('check');
        return given.isMounted ?? false;
      },
      pluginReady: async () => {
        if (given.pluginReady) throw given.pluginReady;
        return plugin;
      },
      plugin: () => plugin,
      mount: async () => {
        did.push('mount');
        return { Source: '/published', IsDevice: false };
      },
      unmount: async () => {
        did.push('unmount');
        next(given.unmounts);
      },
      clock: time,
      timers: time,
      logger: silentLogger,
    },
    async () => void (saved = JSON.parse(JSON.stringify(volumes.record())) as AllocationVolumesRecord),
  );
  volumes.restore(given.restored ?? {});
  const counts = () => ({
    claim: did.filter((one) => one === 'claim').length,
    mount: did.filter((one) => one === 'mount').length,
    unmount: did.filter((one) => one === 'unmount').length,
    unpublish: did.filter((one) => one === 'unpublish').length,
    check: did.filter((one) => one === 'check').length,
  });
  return { time, did, claimed, given_back, volumes, counts, uses, saved: () => saved };
}

const MAX_CLAIMS = new RpcError('full', 'alloc "x" failed to claim volume "data": volume max claims reached');
const UNSCHEDULABLE = new RpcError('conflict', 'volume is currently unschedulable');

describe('the volumes of an allocation', () => {
  it('VL-220: without a driver that can mount nothing is claimed', async () => {
    const { volumes, counts } = setup();
    await expect(volumes.prepare(false)).rejects.toThrow(/^no task supports CSI$/);
    expect(counts()).toMatchObject({ claim: 0 });
  });

  it('VL-233, VL-224: plain: claim 1, mount 1, unmount 1, unpublish 1; kept on disk between', async () => {
    const { volumes, counts, saved, given_back, time } = setup();
    await volumes.prepare(true);
    expect(saved()).toEqual(PERSISTED);
    expect(volumes.mountOf('data')).toEqual({ Source: '/published', IsDevice: false });
    await volumes.release();
    await time.pass(24 * 3_600_000);
    expect(counts()).toEqual({ claim: 1, mount: 1, unmount: 1, unpublish: 1, check: 0 });
    expect(given_back).toMatchObject([{ State: CLAIM_STATE.nodeDetached, ExternalNodeID: 'n1' }]);
    expect(saved()).toEqual({});
  });

  it('VL-223: the claim says what the job wants of which volume', async () => {
    const request = fixtures.aVolumeRequest({ PerAlloc: true, ReadOnly: true, AccessMode: 'multi-node-reader-only' });
    const { volumes, claimed } = setup({ requests: { data: request } });
    await volumes.prepare(true);
    expect(claimed).toMatchObject([
      {
        VolumeID: 'data[2]',
        AllocationID: alloc.ID,
        NodeID: alloc.NodeID,
        Namespace: alloc.Namespace,
        Claim: 0,
        AccessMode: 'multi-node-reader-only',
        AttachmentMode: 'file-system',
        State: CLAIM_STATE.taken,
      },
    ]);
  });

  it('VL-233, VL-226, VL-232: a fatal claim error: claim 1, mount 0, unmount 1, unpublish 1', async () => {
    const { volumes, counts, time, given_back } = setup({
      claims: [UNSCHEDULABLE],
      unmounts: [new Error('no plugin')],
    });
    await expect(volumes.prepare(true)).rejects.toThrow(
      /^claiming volumes: could not claim volume data: volume is currently unschedulable$/,
    );
    await volumes.release();
    await time.pass(24 * 3_600_000);
    expect(counts()).toEqual({ claim: 1, mount: 0, unmount: 1, unpublish: 1, check: 0 });
    expect(given_back).toMatchObject([{ State: CLAIM_STATE.nodeDetached }]);
  });

  it.each([
    MAX_CLAIMS,
    new RpcError('retryable', 'controller publish: CSI client error (retryable): rpc error'),
    new RpcError('unavailable', 'No cluster leader'),
    new RpcUnavailableError('volumes.claim', 'no responder'),
  ])('VL-226, VL-233: tried again after $message', async (error) => {
    const { volumes, counts, time } = setup({ claims: [error] });
    const prepared = volumes.prepare(true);
    await time.pass(2_000);
    await prepared;
    expect(counts()).toMatchObject({ claim: 2, mount: 1 });
  });

  it.each([
    UNSCHEDULABLE,
    new RpcError('internal', 'controller publish: plugin missing: disks'),
    new RpcError('conflict', 'somebody wrote volume max claims reached, No cluster leader'),
    new Error('CSI client error (retryable): no servers'),
  ])('VL-226: the code decides, not the text: $message is fatal', async (error) => {
    const { volumes, counts } = setup({ claims: [error] });
    await expect(volumes.prepare(true)).rejects.toThrow(error.message);
    expect(counts()).toMatchObject({ claim: 1, mount: 0 });
  });

  it('VL-226: tells what it waits for', async () => {
    const { volumes, time } = setup({ claims: [MAX_CLAIMS] });
    const waits: string[] = [];
    const prepared = volumes.prepare(true, (what) => waits.push(what));
    await time.pass(2_000);
    await prepared;
    const id = fixtures.aVolumeRequest().Source;
    expect(waits).toEqual([
      `volume ${id}`,
      `volume ${id}: ${MAX_CLAIMS.message}`,
      'storage plugin disks',
      `storage plugin disks to mount volume ${id}`,
    ]);
  });

  it('VL-227: waits 2 s, 4 s, … a minute, for a day', async () => {
    const { volumes, time, claimed } = setup({ claims: Array.from({ length: 2_000 }, () => MAX_CLAIMS) });
    const startMs = time.nowMs();
    const ended = volumes.prepare(true).catch((error: Error) => error.message);
    await time.pass(240_000);
    const at = claimed.map(({ Timestamp }) => (Timestamp / 1e6 - startMs) / 1_000);
    expect(at.slice(0, 8)).toEqual([0, 2, 6, 14, 30, 62, 122, 182]);
    await time.pass(24 * 3_600_000);
    expect(await ended).toContain('volume max claims reached');
    expect(claimed.length).toBeLessThan(1_450);
  });

  it('VL-222, VL-233: already mounted: check 1, claim 0, mount 0, unmount 1, unpublish 1', async () => {
    const { volumes, counts } = setup({ restored: PERSISTED, isMounted: true });
    await volumes.prepare(true);
    await volumes.release();
    expect(counts()).toEqual({ check: 1, claim: 0, mount: 0, unmount: 1, unpublish: 1 });
  });

  it('VL-222, VL-233: persisted but not mounted any more: check 1, claim 1, mount 1', async () => {
    const { volumes, counts } = setup({ restored: PERSISTED, isMounted: false });
    await volumes.prepare(true);
    expect(counts()).toMatchObject({ check: 1, claim: 1, mount: 1 });
  });

  it('VL-221, VL-222: a plugin that does not come up while restoring says so', async () => {
    const pluginReady = new Error("csi-node plugin 'disks' did not become ready: late");
    const { volumes } = setup({ restored: PERSISTED, pluginReady });
    await expect(volumes.prepare(true)).rejects.toThrow(
      "restoring mounts: csi-node plugin 'disks' did not become ready: late",
    );
    await expect(setup({ pluginReady }).volumes.prepare(true)).rejects.toThrow(/^mounting volumes: csi-node plugin/);
  });

  it('VL-232: first unmount fails: 2 unmounts, 2 unpublishes, the first says that it is not done', async () => {
    const { volumes, counts, time, given_back } = setup({ unmounts: [new Error('busy')] });
    await volumes.prepare(true);
    await volumes.release();
    await time.pass(0);
    expect(counts()).toMatchObject({ unmount: 2, unpublish: 2 });
    expect(given_back.map(({ State }) => State)).toEqual([CLAIM_STATE.unpublishing, CLAIM_STATE.nodeDetached]);
  });

  it('VL-232: unmounting goes on until it succeeds, and is handed on when the allocation is dropped', async () => {
    const unmounts = Array.from({ length: 10_000 }, () => new Error('no plugin'));
    const { volumes, counts, time, saved } = setup({ unmounts });
    await volumes.prepare(true);
    expect(volumes.remainingMounts()).toHaveLength(1);
    await volumes.release();
    await time.pass(3 * 24 * 3_600_000);
    const before = counts().unmount;
    await time.pass(60_000);
    expect(counts().unmount).toBeGreaterThan(before);
    volumes.close();
    await time.pass(0);
    const usage = { ReadOnly: false, AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };
    const volume = { allocId: alloc.ID, namespace: alloc.Namespace, volumeId: 'data', externalId: 'disk', usage };
    expect(volumes.remainingMounts()).toMatchObject([
      { pluginId: 'disks', volume, claim: { VolumeID: 'data', State: CLAIM_STATE.nodeDetached } },
    ]);
    expect(saved()).toEqual(PERSISTED);
  });

  it('VL-232: nothing is handed on of what is unmounted or was never claimed', async () => {
    const { volumes } = setup();
    expect(volumes.remainingMounts()).toEqual([]);
    await volumes.prepare(true);
    await volumes.release();
    expect(volumes.remainingMounts()).toEqual([]);
  });

  it('VL-229, VL-230: one volume that fails holds up no other, and giving back is not tried twice', async () => {
    const requests = { a: fixtures.aVolumeRequest({ Source: 'a' }), b: fixtures.aVolumeRequest({ Source: 'b' }) };
    const given = {
      requests,
      unmounts: [new Error('busy'), undefined],
      unpublishes: [new Error('no'), new Error('no')],
    };
    const { volumes, given_back, saved, time } = setup(given);
    await volumes.prepare(true);
    await volumes.release();
    await time.pass(3_600_000);
    const of = (id: string) => given_back.filter(({ VolumeID }) => VolumeID === id).map(({ State }) => State);
    expect(of('a')).toEqual([CLAIM_STATE.unpublishing, CLAIM_STATE.nodeDetached]);
    expect(of('b')).toEqual([CLAIM_STATE.nodeDetached]);
    expect(saved()).toEqual({});
  });

  it('VL-231: released while it waits for a claim it waits no longer; closed it tries nothing any more', async () => {
    const { volumes, counts, time } = setup({ claims: Array.from({ length: 99 }, () => MAX_CLAIMS) });
    const ended = volumes.prepare(true).catch((error: Error) => error.message);
    await time.pass(10_000);
    const before = counts().claim;
    await volumes.release();
    await time.pass(600_000);
    expect([await ended, counts().claim]).toEqual([expect.stringContaining('volume max claims reached'), before]);
    const stuck = setup({ unmounts: Array.from({ length: 99 }, () => new Error('busy')) });
    await stuck.volumes.prepare(true);
    await stuck.volumes.release();
    await stuck.time.pass(10_000);
    const tried = stuck.counts().unmount;
    stuck.volumes.close();
    await stuck.time.pass(3_600_000);
    expect(stuck.counts().unmount).toBe(tried);
  });

  it('VL-69, VL-246: nobody takes them away before its tasks have ended', async () => {
    const { volumes } = setup();
    await volumes.prepare(true);
    expect(volumes.areInUse).toBe(true);
    await volumes.release();
    expect(volumes.areInUse).toBe(false);
  });

  it('VL-242: a restarted agent counts as used what may be mounted: also what it was killed in the middle of mounting', () => {
    const claimed = { ...PERSISTED['data']!, MountInfo: { Source: '', IsDevice: false } };
    const { uses } = setup({ restored: { data: claimed } });
    const use = { namespace: alloc.Namespace, volumeId: 'data', usage: fixtures.aVolumeRequest() };
    expect(uses.isUsed(useKey(use))).toBe(true);
  });

  it('AG-82: what an earlier agent has released is not released again', async () => {
    const { volumes, counts } = setup({ restored: {} });
    await volumes.release();
    expect(counts()).toMatchObject({ unmount: 0, unpublish: 0 });
  });
});
