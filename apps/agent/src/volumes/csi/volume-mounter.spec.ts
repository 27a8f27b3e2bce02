import { CsiError, type NodeClient } from '@waybill/csi';
import { fixtures } from '@waybill/state';
import { Turns } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LocalEvent } from '../../machine/node/local-node.js';
import type { LocalNodePlugin } from './local-plugins.js';
import type { MountPlaces } from './mount-places.store.js';
import { mountOptions, VolumeMounter, type VolumeMount } from './volume-mounter.js';
import { VolumeUses } from './volume-uses.js';

const USAGE = { ReadOnly: false, AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };
const never = new AbortController().signal;
const failed = (method: string, details = 'no'): CsiError => new CsiError(method, 13, details);

let calls: string[];
let events: LocalEvent[];
let mounted: Set<string>;
let uses: VolumeUses;
/** Is called before a call takes effect. */
let before: (method: string) => Promise<void> | void;
/** The method that is answered without an effect. */
let forgotten = '';
let places: MountPlaces;
let mounter: VolumeMounter;

beforeEach(() => {
  calls = [];
  events = [];
  mounted = new Set();
  uses = new VolumeUses();
  before = () => {};
  places = {
    isMounted: async (place) => mounted.has(place),
    exists: async (place) => mounted.has(place),
    make: async (directory) => void calls.push(`make ${directory}`),
    remove: async () => {},
    removeSocket: async () => {},
    removeEmpty: async () => {},
  };
  mounter = new VolumeMounter({ places, uses, turns: new Turns(), emit: (event) => events.push(event) });
});

/** Returns a plugin that sees `/host` as `/own`. */
function plugin(stages = true): LocalNodePlugin {
  const asked = async (method: string, target: string, up: boolean): Promise<void> => {
    calls.push(`${method} ${target}`);
    await before(method);
    const here = target.replace('/own', '/host');
    if (up) mounted.add(here);
    else if (method !== forgotten) mounted.delete(here);
  };
  const node: Pick<NodeClient, keyof NodeClient> = {
    capabilities: async () => new Set(),
    info: async () => ({ nodeId: 'n', maxVolumes: 0n, topology: null }),
    stage: ({ stagingPath }) => asked('stage', stagingPath, true),
    publish: ({ targetPath, stagingPath }) => asked(`publish${stagingPath && ' staged'}`, targetPath, true),
    unpublish: (_, targetPath) => asked('unpublish', targetPath, false),
    unstage: (_, stagingPath) => asked('unstage', stagingPath, false),
    expand: async () => (calls.push('expand'), 9n),
  };
  const machine = { ...fixtures.aNodePlugin().NodeInfo!, RequiresNodeStageVolume: stages };
  return { pluginId: 'disks', node, machine, mountRoot: '/host', pluginRoot: '/own' };
}

const volume = (allocId: string, over: Partial<VolumeMount> = {}): VolumeMount => ({
  allocId,
  namespace: 'default',
  volumeId: 'db',
  externalId: 'disk-db',
  usage: USAGE,
  options: { FSType: '', MountFlags: null },
  secrets: {},
  context: {},
  publishContext: {},
  ...over,
});
const MODE = 'rw-file-system-single-node-writer';
const STAGED = `/own/staging/default/db/${MODE}`;
const target = (allocId: string) => `/own/per-alloc/${allocId}/db/${MODE}`;
const asked = () => calls.filter((call) => !call.startsWith('make'));

describe('mounting a volume', () => {
  it('VL-237, CW-19: the plugin is told its own paths, the directories are made on the machine', async () => {
    const info = await mounter.mount(plugin(), volume('a'), never);
    expect(info).toEqual({ Source: `/host/per-alloc/a/db/${MODE}`, IsDevice: false });
    expect(calls).toEqual([
      `make /host/staging/default/db/${MODE}`,
      `stage ${STAGED}`,
      'make /host/per-alloc/a/db',
      `publish staged ${target('a')}`,
    ]);
  });

  it('VL-238: not staged where the plugin does not, nothing done twice where it is done', async () => {
    await mounter.mount(plugin(false), volume('a'), never);
    expect(asked()).toEqual([`publish ${target('a')}`]);
    mounted.add(`/host/staging/default/db/${MODE}`);
    calls = [];
    await mounter.mount(plugin(), volume('a'), never);
    expect(asked()).toEqual([]);
  });

  it('CW-21: grown only by a plugin that can', async () => {
    const grown = (SupportsExpand: boolean) => {
      const one = plugin();
      return mounter.expand({ ...one, machine: { ...one.machine, SupportsExpand } }, volume('a'), {
        requiredBytes: 9n,
        limitBytes: 0n,
      });
    };
    expect([await grown(false), asked()]).toEqual([0n, []]);
    expect([await grown(true), asked()]).toEqual([9n, ['expand']]);
  });

  it('VL-239: options of the job win over those of the volume, flags as a whole', () => {
    const of = { FSType: 'ext4', MountFlags: ['noatime'] };
    expect(mountOptions(of, null)).toEqual(of);
    expect(mountOptions(of, { FSType: '', MountFlags: [] })).toEqual({ FSType: 'ext4', MountFlags: [] });
    expect(mountOptions(of, { FSType: 'xfs', MountFlags: null })).toEqual({ FSType: 'xfs', MountFlags: ['noatime'] });
  });

  it('VL-241: unstaged only after the last user, also if one is mounting meanwhile', async () => {
    const p = plugin();
    await mounter.mount(p, volume('a'), never);
    // b comes between a's unpublish and the following unstage (section 5, 14)
    before = (method) => {
      if (method === 'unpublish') void mounter.mount(p, volume('b'), never);
    };
    await mounter.unmount(p, volume('a'), never);
    before = () => {};
    await mounter.unmount(p, volume('b'), never);
    const staging = asked().filter((call) => call.includes('stage ') && !call.startsWith('publish'));
    expect(staging).toEqual([`stage ${STAGED}`, `unstage ${STAGED}`]);
    await mounter.mount(p, volume('a'), never);
    await mounter.mount(p, volume('b'), never);
    calls = [];
    await mounter.unmount(p, volume('a'), never);
    expect(asked()).toEqual([`unpublish ${target('a')}`]);
    await mounter.unmount(p, volume('b'), never);
    expect(asked().slice(1)).toEqual([`unpublish ${target('b')}`, `unstage ${STAGED}`]);
  });

  it('VL-241: one whose mount fails uses nothing', async () => {
    const p = plugin();
    before = () => Promise.reject(failed('stage'));
    await expect(mounter.mount(p, volume('a'), never)).rejects.toThrow('no');
    before = () => {};
    await mounter.mount(p, volume('b'), never);
    await mounter.unmount(p, volume('b'), never);
    expect(asked().at(-1)).toBe(`unstage ${STAGED}`);
  });

  it('VL-243, CW-16: one operation at a time for a volume, volumes do not wait for each other', async () => {
    const p = plugin();
    let release = (): void => {};
    before = () => new Promise<void>((resolve) => (release = resolve));
    const first = mounter.mount(p, volume('a'), never);
    const second = mounter.mount(p, volume('b'), never);
    await expect.poll(() => asked()).toEqual([`stage ${STAGED}`]);
    before = () => {};
    await mounter.mount(p, volume('a', { volumeId: 'other' }), never);
    expect(asked()).toHaveLength(3);
    release();
    await Promise.all([first, second]);
    expect(asked().at(-1)).toBe(`publish staged ${target('b')}`);
  });

  it('VL-244: an unpublish that fails counts if the target is gone, or could be removed', async () => {
    const p = plugin();
    before = (method) => {
      if (method === 'unpublish') throw failed(method, 'no mount point');
    };
    await mounter.unmount(p, volume('a'), never);
    before = (method) => {
      if (method === 'unpublish') throw failed(method, 'something else');
    };
    await mounter.unmount(p, volume('a'), never); // there is no mount, so nothing prevents it
    mounted.add(`/host/per-alloc/a/db/${MODE}`);
    places.remove = () => Promise.reject(new Error('EBUSY: still mounted'));
    await expect(mounter.unmount(p, volume('a'), never)).rejects.toThrow(/something else.*EBUSY: still mounted/);
  });

  it('VL-310: what is still mounted is not unmounted, whatever its plugin says; asked again it may be', async () => {
    const p = plugin();
    await mounter.mount(p, volume('a'), never);
    const staged = `/host/staging/default/db/${MODE}`;
    const published = `/host/per-alloc/a/db/${MODE}`;
    for (const [method, place] of [
      ['unpublish', published],
      ['unstage', staged],
    ] as const) {
      forgotten = method;
      await expect(mounter.unmount(p, volume('a'), never)).rejects.toThrow(`it is still mounted at ${place}`);
    }
    expect(events.at(-1)?.Details).toMatchObject({ success: 'false' });
    forgotten = '';
    await mounter.unmount(p, volume('a'), never);
    expect([...mounted]).toEqual([]);
  });

  it('VL-311: another disk under the name of one that is still mounted is not mistaken for it, and waits', async () => {
    const p = plugin();
    await mounter.mount(p, volume('old', { externalId: 'disk-before' }), never);
    calls = [];
    await expect(mounter.mount(p, volume('new'), never)).rejects.toThrow(
      'volume "db" is still another disk here: allocation "old" has "disk-before" mounted as it',
    );
    expect(asked()).toEqual([]);
    await mounter.unmount(p, volume('old', { externalId: 'disk-before' }), never);
    await mounter.mount(p, volume('new'), never);
    expect(asked().at(-1)).toBe(`publish staged ${target('new')}`);
  });

  it('VL-245: every mount and unmount is an event, also one that fails', async () => {
    const p = plugin();
    await mounter.mount(p, volume('a'), never);
    await mounter.unmount(p, volume('a'), never);
    before = () => Promise.reject(failed('stage', 'full'));
    await mounter.mount(p, volume('a'), never).catch(() => undefined);
    const storage = { Subsystem: 'Storage' };
    expect(events).toEqual([
      { ...storage, Message: 'Mount volume', Details: { volume_id: 'db', success: 'true' } },
      { ...storage, Message: 'Unmount volume', Details: { volume_id: 'db', success: 'true' } },
      {
        ...storage,
        Message: 'Mount volume',
        Details: { volume_id: 'db', success: 'false', error: 'rpc error: code = Internal desc = full' },
      },
    ]);
  });

  it('VL-307: a name that leads elsewhere stops it before anything is made or asked', async () => {
    await expect(mounter.mount(plugin(), volume('a', { volumeId: '../x' }), never)).rejects.toThrow('cannot be part');
    expect(calls).toEqual([]);
  });
});
