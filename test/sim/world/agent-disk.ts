import type { AllocDirectories, AllocRecord, AllocRecords } from '@waybill/agent';
import type { SimulatedProcess } from '../kernel/simulated-process.js';

const PATHS = {
  allocDir: '/a',
  logsDir: '/a/logs',
  taskDir: '/t',
  localDir: '/t/local',
  secretsDir: '/t/secrets',
  privateDir: '/t/private',
};

/** What an agent keeps on the disk of its machine: outlives the agent and the machine's power. Writing takes no time. */
export class AgentDisk {
  private readonly records = new Map<string, string>();

  /** A dead agent writes nothing. */
  recordsFor(agent: SimulatedProcess): AllocRecords {
    return {
      save: async (record) => {
        if (agent.isAlive) this.records.set(record.alloc.ID, JSON.stringify(record));
      },
      remove: async (allocId) => {
        if (agent.isAlive) this.records.delete(allocId);
      },
      load: async () => [...this.records.values()].map((record) => JSON.parse(record) as AllocRecord),
    };
  }

  readonly directories: AllocDirectories = {
    build: async () => PATHS,
    exists: async () => true,
    inherit: async () => {},
    remove: async () => {},
  };
}
