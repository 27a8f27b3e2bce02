import { CLAIM_MODE } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import type { LocalNodePlugin } from './local-plugins.js';
import { nodeAnswers } from './node-calls.js';

/** Returns a machine with the node plugin `disks`, on which these allocations have not ended. */
function machine(...running: string[]) {
  const unmounted: string[] = [];
  const plugin = {} as LocalNodePlugin; // the test reads nothing of it
  const answers = nodeAnswers({
    plugins: { nodePlugin: (id) => (id === 'disks' ? plugin : undefined), nodePluginReady: async () => plugin },
    mounter: { unmount: async (_, { allocId }) => void unmounted.push(allocId), expand: async () => 0n },
    usesVolumes: (allocId) => running.includes(allocId),
  });
  const detach = (over: { AllocationID?: string; PluginID?: string } = {}) => {
    const { AllocationID = 'a', PluginID = 'disks' } = over;
    const Claim = fixtures.aCSIClaim({ AllocationID, NodeID: 'm', Mode: CLAIM_MODE.write });
    return answers.detach({ PluginID, VolumeID: 'data', Namespace: 'default', ExternalID: 'disk-1', Claim });
  };
  return { detach, unmounted };
}

describe('servers take volumes from a machine', () => {
  it('VL-246: by plugin, volume and allocation, and say what they have left out', async () => {
    const { detach, unmounted } = machine();
    expect([await detach(), unmounted]).toEqual([null, ['a']]);
    await expect(detach({ AllocationID: '' })).rejects.toThrow('CSI.NodeDetachVolume: AllocID is required');
    await expect(detach({ PluginID: 'gone' })).rejects.toMatchObject({ code: 'retryable' });
  });

  it('VL-69, VL-246: not from an allocation that runs here, whatever they believe of it', async () => {
    const { detach, unmounted } = machine('a');
    await expect(detach()).rejects.toThrow('CSI.NodeDetachVolume: allocation "a" has not ended on this client');
    expect(unmounted).toEqual([]);
  });
});
