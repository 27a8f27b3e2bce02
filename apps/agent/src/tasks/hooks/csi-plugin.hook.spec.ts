import type { CSIPluginConfig, Task } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { MountSupport } from '../../drivers/driver.js';
import { CsiPluginHook } from './csi-plugin.hook.js';

const CONFIG: CSIPluginConfig = {
  ID: 'disks',
  Type: 'node',
  MountDir: '/csi',
  StagePublishBaseDir: '/local/csi',
  HealthTimeout: 1,
};
const alloc = fixtures.anAlloc({});

async function given(support: MountSupport, over: Partial<Task> = {}, socketPath = '/a/plugins/1/csi.sock') {
  const made: string[] = [];
  const hook = new CsiPluginHook({
    placesOf: () => ({ socketPath, mountRoot: '/a/node/disks' }),
    mountSupport: () => support,
    directories: { make: async (directory) => void made.push(directory) },
  });
  const task = fixtures.aTask({ CSIPluginConfig: CONFIG, ...over });
  return { added: await hook.prestart({ alloc, task }), made };
}

describe('what a task that is a storage plugin gets', () => {
  it('CW-1, VL-204, VL-205: with a view of its own, three mounts and the socket inside', async () => {
    const { added, made } = await given('bind');
    expect(made).toEqual(['/a/plugins/1', '/a/node/disks']);
    expect(added).toEqual({
      env: { CSI_ENDPOINT: 'unix:///csi/csi.sock' },
      mounts: [
        { source: '/a/plugins/1', destination: '/csi', readOnly: false, propagation: 'bidirectional' },
        { source: '/a/node/disks', destination: '/local/csi', readOnly: false, propagation: 'bidirectional' },
        { source: '/dev', destination: '/dev', readOnly: false, propagation: '' },
      ],
    });
  });

  it('VL-205: one that sees the machine gets the socket as it is there', async () => {
    const { added } = await given('link');
    expect(added).toEqual({ env: { CSI_ENDPOINT: 'unix:///a/plugins/1/csi.sock' }, mounts: [] });
  });

  it('VL-205: an endpoint that the job sets stays', async () => {
    const { added } = await given('link', { Env: { CSI_ENDPOINT: 'unix:///mine' } });
    expect(added).toEqual({ mounts: [] });
  });

  it('any other task gets nothing', async () => {
    expect(await given('bind', { CSIPluginConfig: null })).toEqual({ added: undefined, made: [] });
  });

  it('CW-3: a path that no socket can have is refused before anything is made', async () => {
    await expect(given('link', {}, `/${'x'.repeat(110)}/csi.sock`)).rejects.toThrow('use a shorter agent directory');
  });
});
