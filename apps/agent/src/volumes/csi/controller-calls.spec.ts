import { CsiError, RETRYABLE } from '@waybill/csi';
import { describe, expect, it } from 'vitest';
import { FakePlugin } from '../../fixtures/fake-plugin.js';
import { checkConfirmed } from './confirmed-uses.js';
import { withCsiErrors, controllerAnswers } from './controller-calls.js';
import { NoSuchPluginError } from './local-plugins.js';

const CAPABILITY = { AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };
const detach = (PluginID: string, VolumeID: string) => ({ PluginID, VolumeID, ClientCSINodeID: 'n', Secrets: null });

function setup() {
  const did: string[] = [];
  const ends = new Map<string, () => void>();
  const slow = (what: string): Promise<void> => {
    did.push(what);
    return new Promise((resolve) => ends.set(what, resolve));
  };
  const plugin = new FakePlugin();
  plugin.controllerCalls = {
    detach: ({ volumeId }) => slow(`detach ${volumeId}`),
    deleteVolume: (volumeId) => slow(`delete ${volumeId}`),
    listVolumes: async () => {
      did.push('list');
      return { entries: [], nextToken: '' };
    },
    validate: async () => ({ confirmed: undefined, message: '' }),
  };
  const { controller } = plugin.connect();
  const calls = controllerAnswers({
    plugins: {
      controller: (pluginId: string) => {
        if (pluginId === 'gone') throw new NoSuchPluginError('controller', pluginId);
        return controller;
      },
    } as Parameters<typeof controllerAnswers>[0]['plugins'],
  });
  const end = (what: string): void => ends.get(what)?.();
  return { calls, did, end };
}

describe('calls to controller plugins', () => {
  it('VL-129, VL-130: one changing call at a time for a plugin; others, and other plugins, do not wait', async () => {
    const { calls, did, end } = setup();
    const first = calls.detach(detach('disks', 'a'));
    const second = calls.delete({ PluginID: 'disks', ExternalVolumeID: 'b', Secrets: null });
    const other = calls.detach(detach('tapes', 'c'));
    await calls.list({ PluginID: 'disks', MaxEntries: 0, StartingToken: '' });
    expect(did).toEqual(['detach a', 'detach c', 'list']);
    end('detach a');
    await first;
    await expect.poll(() => did.at(-1)).toBe('delete b');
    end('delete b');
    end('detach c');
    expect(await Promise.all([second, other])).toEqual([null, null]);
  });

  it('VL-133, VL-252: says which call it was; a plugin that is not here may be elsewhere', async () => {
    const { calls } = setup();
    const error = await calls.detach(detach('gone', 'a')).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'retryable',
      message: expect.stringContaining(
        'CSI.ControllerDetachVolume: CSI client error (retryable): plugin csi-controller "gone" is not registered',
      ) as string,
    });
  });

  it.each([
    [true, 'retryable'],
    [false, 'internal'],
  ])('VL-226, VL-252: the error of a plugin that is retryable: %o has the code %s', async (isRetryable, code) => {
    const refused = new CsiError('ControllerPublishVolume', 9, 'busy', isRetryable ? RETRYABLE : '');
    await expect(withCsiErrors('Any', () => Promise.reject(refused))).rejects.toMatchObject({ code });
  });

  it('VL-20, CW-24: no confirmation at all counts as one', async () => {
    const { calls } = setup();
    const none = { Parameters: null, VolumeContext: null, Secrets: null };
    expect(
      await calls.validate({ PluginID: 'disks', VolumeID: 'a', VolumeCapabilities: [CAPABILITY], ...none }),
    ).toBeNull();
  });
});

describe('what a plugin confirms', () => {
  const use = (over = {}) => ({
    attachmentMode: 'file-system',
    accessMode: 'single-node-writer',
    fsType: 'ext4',
    mountFlags: ['ro'],
    ...over,
  });
  it.each([
    ['the same', use(), use(), true],
    ['an unknown access mode', use(), use({ accessMode: 'UNKNOWN' }), true],
    ['more flags', use(), use({ mountFlags: ['noatime', 'ro'] }), true],
    ['another access mode', use(), use({ accessMode: 'multi-node-multi-writer' }), false],
    ['another file system', use(), use({ fsType: 'xfs' }), false],
    ['fewer flags', use(), use({ mountFlags: [] }), false],
    ['a block device', use(), use({ attachmentMode: 'block-device' }), false],
    ['a mount for a block device', use({ attachmentMode: 'block-device' }), use(), false],
  ])('VL-20: %s', (_, asked, confirmed, isEnough) => {
    const check = (): void => checkConfirmed([asked], [use({ fsType: 'other' }), confirmed]);
    if (isEnough) expect(check).not.toThrow();
    else expect(check).toThrow(/^volume capability validation failed: (?!.*ro)/);
  });
});
