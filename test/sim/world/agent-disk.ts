import type { AllocDirectories, AllocRecord, AllocRecords } from '@waybill/agent';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { frozen } from './frozen.js';

const PATHS = {
  allocDir: '/a',
  logsDir: '/a/logs',
  taskDir: '/t',
  localDir: '/t/local',
  secretsDir: '/t/secrets',
  privateDir: '/t/private',
};

/** As the next agent reads it: from its text. */
const readRecord = (record: AllocRecord): AllocRecord => JSON.parse(JSON.stringify(record)) as AllocRecord;

/** What an agent keeps on the disk of its machine: outlives the agent and the machine's power. Writing takes no time. */
export class AgentDisk {
  private readonly built = new Set<string>();
  private readonly records = new Map<string, AllocRecord>();

  /** @param onInherited called when what an allocation has kept on its disk goes to the next one */
  constructor(private readonly onInherited: (allocId: string) => void) {}

  /** A dead agent writes nothing. */
  recordsFor(agent: SimulatedProcess): AllocRecords {
    return {
      save: async (record) => {
        if (agent.isAlive) this.records.set(record.alloc.ID, frozen(record));
      },
      remove: async (allocId) => {
        if (agent.isAlive) this.records.delete(allocId);
      },
      load: async () => [...this.records.values()].map(readRecord),
    };
  }

  readonly directories: AllocDirectories = {
    build: async (allocId) => {
      this.built.add(allocId);
      return PATHS;
    },
    exists: async (allocId) => this.built.has(allocId),
    list: async () => [...this.built],
    inherit: async (from) => this.onInherited(from),
    remove: async (allocId) => void this.built.delete(allocId),
  };
}
