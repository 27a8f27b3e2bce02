import { status } from '@grpc/grpc-js';
import { type CallOptions, CsiError, type CsiPlugin } from '@waybill/csi';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { MountTable } from './mount-table.js';
import type { StorageProvider } from './storage-provider.js';

/** What a plugin does for one machine. */
export interface PluginMachine {
  readonly name: string;
  /** Dies with the power: a call that was under way is never answered. */
  readonly power: SimulatedProcess;
  /** Who hears the answer. */
  readonly agent: SimulatedProcess;
  readonly mounts: MountTable;
}

/** Both sides of the provider's plugin on one machine, as one start of its agent talks to it: it attaches and stages. */
export function storagePlugin(provider: StorageProvider, machine: PluginMachine): CsiPlugin {
  const { power, agent, mounts, name } = machine;
  const failure = (method: string, code: status, details: string) => new CsiError(method, code, details);
  const call = <T>(method: string, effect: () => T, options: CallOptions = {}): Promise<T> =>
    new Promise((resolve, reject) => {
      const { signal } = options;
      const abandon = (): void => reject(failure(method, status.CANCELLED, 'nobody waits for it'));
      const end = (take: () => void): void => {
        signal?.removeEventListener('abort', abandon);
        agent.execute(take);
      };
      signal?.addEventListener('abort', abandon, { once: true });
      power.after(provider.callMs(), () => {
        const fails = (): boolean => {
          if (!provider.fails()) return false;
          end(() => reject(failure(method, status.UNAVAILABLE, 'the provider does not answer')));
          return true;
        };
        if (fails()) return;
        let value: T;
        try {
          value = effect();
        } catch (error) {
          return end(() => reject(error instanceof Error ? error : new Error(String(error))));
        }
        if (!fails()) end(() => resolve(value));
      });
    });
  const absent = (method: string) => (): Promise<never> =>
    Promise.reject(failure(method, status.UNIMPLEMENTED, 'the simulated plugin cannot do this'));
  const expectAttached = (method: string, volumeId: string): void => {
    if (!provider.isAttached(volumeId, name)) throw failure(method, status.FAILED_PRECONDITION, 'it is not attached');
  };
  return {
    identity: {
      probe: async () => true,
      info: async () => ({ name: 'disks.example', version: '1.0' }),
      capabilities: async () => new Set(['CONTROLLER_SERVICE'] as const),
    },
    controller: {
      capabilities: async () => new Set(['PUBLISH_UNPUBLISH_VOLUME'] as const),
      attach: ({ volumeId, nodeId }, options) =>
        call('ControllerPublishVolume', () => (provider.attach(volumeId, nodeId), {}), options),
      detach: ({ volumeId, nodeId }, options) =>
        call('ControllerUnpublishVolume', () => provider.detach(volumeId, nodeId), options),
      validate: ({ uses }, options) =>
        call('ValidateVolumeCapabilities', () => ({ confirmed: { uses, context: {} }, message: '' }), options),
      createVolume: absent('CreateVolume'),
      deleteVolume: absent('DeleteVolume'),
      listVolumes: absent('ListVolumes'),
      expand: absent('ControllerExpandVolume'),
      createSnapshot: absent('CreateSnapshot'),
      deleteSnapshot: absent('DeleteSnapshot'),
      listSnapshots: absent('ListSnapshots'),
    },
    node: {
      capabilities: async () => new Set(['STAGE_UNSTAGE_VOLUME'] as const),
      info: async () => ({ nodeId: name, maxVolumes: 0n, topology: null }),
      stage: ({ volumeId, stagingPath }, options) =>
        call(
          'NodeStageVolume',
          () => {
            expectAttached('NodeStageVolume', volumeId);
            mounts.mount(stagingPath, volumeId);
          },
          options,
        ),
      publish: ({ volumeId, targetPath }, options) =>
        call(
          'NodePublishVolume',
          () => {
            expectAttached('NodePublishVolume', volumeId);
            mounts.mount(targetPath, volumeId);
          },
          options,
        ),
      unpublish: (_volumeId, targetPath, options) =>
        call('NodeUnpublishVolume', () => mounts.unmount(targetPath), options),
      unstage: (_volumeId, stagingPath, options) =>
        call('NodeUnstageVolume', () => mounts.unmount(stagingPath), options),
      expand: absent('NodeExpandVolume'),
    },
    close: () => {},
  };
}
