import {
  type HostVolumePlugin,
  type HostVolumeRecord,
  type HostVolumeRecords,
  HostVolumeRefusal,
} from '@waybill/agent';
import type { HostVolumeOnNode } from '@waybill/rpc';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { frozen } from './frozen.js';
import type { StorageProvider } from './storage-provider.js';

/** Id of the plugin that makes directories on machines. */
export const DIRECTORY_PLUGIN = 'mkdir';

/** The directories for host volumes on one machine's disk, and what its agent has written down of them. */
export class VolumeDirectories {
  /** Ids of the volumes they were made for. */
  readonly made = new Set<string>();
  private written: readonly HostVolumeRecord[] = [];
  /** Of agents on this machine. */
  private starts = 0;

  /** A dead agent writes nothing. */
  recordsFor(agent: SimulatedProcess): HostVolumeRecords {
    return {
      load: async () => this.written,
      save: async (all) => {
        if (agent.isAlive) this.written = frozen(all);
      },
    };
  }

  /**
   * For an agent that starts. Slow and failing like the provider's plugins; one that failed has done nothing. What was
   * begun goes on without the agent, until the next one starts, which ends it.
   */
  pluginFor(agent: SimulatedProcess, machine: SimulatedProcess, provider: StorageProvider): HostVolumePlugin {
    const start = ++this.starts;
    const call = <T>(effect: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        machine.after(provider.callMs(), () => {
          if (start !== this.starts) return;
          if (provider.fails()) return agent.execute(() => reject(new HostVolumeRefusal('the disk is full')));
          const value = effect();
          agent.execute(() => resolve(value));
        });
      });
    return {
      version: '1.0',
      create: ({ ID }: HostVolumeOnNode) =>
        call(() => {
          this.made.add(ID);
          return { HostPath: `/volumes/${ID}`, CapacityBytes: 0 };
        }),
      delete: ({ ID }) => call(() => void this.made.delete(ID)),
    };
  }
}
